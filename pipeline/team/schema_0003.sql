-- Work for many hands: a queue in `reverie_queue`, whose tables are procrastinate's, and what came of it.
--
-- A queue is one folder of transcripts of one login in one team. Its name tells nothing to others, and is
-- short, since PostgreSQL announces each job on a channel of that name.

CREATE FUNCTION backlog_queue(which uuid, project text) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = reverie_team, pg_temp
    AS $$ SELECT 'b/' || left(md5(which::text || session_user), 12) || '/' || left(md5(project), 12) $$;

CREATE FUNCTION my_queues() RETURNS SETOF text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = reverie_team, pg_temp
    AS $$ SELECT left(backlog_queue(team, ''), 14) FROM my_teams() AS team $$;

-- One transcript that was read, by whichever machine of its login.
CREATE TABLE reading (
    team uuid NOT NULL REFERENCES team,
    login name NOT NULL,
    key text NOT NULL CHECK (length(key) BETWEEN 1 AND 1000),
    project text NOT NULL CHECK (length(project) <= 500),
    machine text NOT NULL,
    outcome text NOT NULL CHECK (length(outcome) <= 500),
    times integer NOT NULL DEFAULT 1,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, login, key)
);

-- A provider that does not answer a login's machines: none of them asks before `until`.
CREATE TABLE outage (
    team uuid NOT NULL REFERENCES team,
    login name NOT NULL,
    provider text NOT NULL CHECK (length(provider) BETWEEN 1 AND 100),
    reason text NOT NULL CHECK (length(reason) <= 1000),
    until timestamptz NOT NULL,
    PRIMARY KEY (team, login, provider)
);

-- The last dream over a team's memories: by whom, and up to which revision they were looked at.
CREATE TABLE dream (
    team uuid PRIMARY KEY REFERENCES team,
    login name NOT NULL,
    machine text NOT NULL,
    latest bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

ALTER TABLE dream ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON dream FOR SELECT USING (team IN (SELECT my_teams()));
ALTER TABLE reading ENABLE ROW LEVEL SECURITY;
ALTER TABLE outage ENABLE ROW LEVEL SECURITY;
-- A transcript's name tells what somebody works at: nobody but its own login reads it.
CREATE POLICY own ON reading FOR SELECT USING (team IN (SELECT my_teams()) AND login = session_user);
CREATE POLICY own ON outage FOR SELECT USING (team IN (SELECT my_teams()) AND login = session_user);

ALTER TABLE reverie_queue.procrastinate_jobs ENABLE ROW LEVEL SECURITY;
ALTER TABLE reverie_queue.procrastinate_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE reverie_queue.procrastinate_periodic_defers ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON reverie_queue.procrastinate_jobs
    USING (left(queue_name, 14) IN (SELECT my_queues()))
    WITH CHECK (left(queue_name, 14) IN (SELECT my_queues()));
CREATE POLICY own ON reverie_queue.procrastinate_events
    USING (EXISTS (SELECT FROM reverie_queue.procrastinate_jobs AS job WHERE job.id = job_id))
    WITH CHECK (EXISTS (SELECT FROM reverie_queue.procrastinate_jobs AS job WHERE job.id = job_id));

-- As in step 0002, and a machine gets its own lease back: on each only one worker runs, so whoever had it
-- there is dead.
CREATE OR REPLACE FUNCTION take_lease(which uuid, called text, from_machine text, seconds double precision)
    RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
DECLARE given uuid;
BEGIN
    PERFORM must_be_in(which);
    INSERT INTO lease AS held (team, name, token, login, machine, until)
        VALUES (which, called, gen_random_uuid(), session_user, from_machine,
                clock_timestamp() + make_interval(secs => seconds))
        ON CONFLICT (team, name) DO UPDATE SET token = excluded.token, login = excluded.login,
            machine = excluded.machine, until = excluded.until
            WHERE held.until < clock_timestamp()
                OR (held.login = excluded.login AND held.machine = excluded.machine)
        RETURNING token INTO given;
    RETURN given;
END $$;

-- Notes that a transcript was read and takes its job off the queue, by who holds the lease; else does nothing
-- and returns false.
CREATE FUNCTION finish_reading(which uuid, holding uuid, job bigint, of_key text, of_project text,
                               from_machine text, how text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, reverie_queue, pg_temp AS $$
BEGIN
    PERFORM FROM lease WHERE team = which AND token = holding AND login = session_user FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- One that is gone was finished before, and the answer was lost.
    DELETE FROM procrastinate_jobs WHERE id = job AND queue_name = backlog_queue(which, of_project);
    IF FOUND THEN
        INSERT INTO reading AS known (team, login, key, project, machine, outcome)
            VALUES (which, session_user, of_key, of_project, from_machine, left(how, 500))
            ON CONFLICT (team, login, key) DO UPDATE SET machine = excluded.machine,
                outcome = excluded.outcome, times = known.times + 1, at = clock_timestamp();
    END IF;
    RETURN true;
END $$;

-- False where the lease for it is another's by now.
CREATE FUNCTION note_dream(which uuid, holding uuid, from_machine text, up_to bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    PERFORM FROM lease WHERE team = which AND name = 'dream' AND token = holding AND login = session_user
        FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO dream (team, login, machine, latest) VALUES (which, session_user, from_machine, up_to)
        ON CONFLICT (team) DO UPDATE SET login = excluded.login, machine = excluded.machine,
            latest = excluded.latest, at = clock_timestamp();
    RETURN true;
END $$;

CREATE FUNCTION note_outage(which uuid, of_provider text, why text, seconds double precision) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    PERFORM must_be_in(which);
    INSERT INTO outage AS known (team, login, provider, reason, until)
        VALUES (which, session_user, of_provider, left(why, 1000),
                clock_timestamp() + make_interval(secs => least(seconds, 86400)))
        ON CONFLICT (team, login, provider) DO UPDATE SET reason = excluded.reason,
            until = greatest(known.until, excluded.until);
END $$;

CREATE FUNCTION end_outage(which uuid, of_provider text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = reverie_team, pg_temp
    AS $$ DELETE FROM outage WHERE team = which AND login = session_user AND provider = of_provider $$;

-- What is open and what was read, for each member; the names of transcripts stay with their login.
CREATE FUNCTION progress(which uuid) RETURNS TABLE (login name, waiting bigint, doing bigint, failed bigint,
                                                    read bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = reverie_team, reverie_queue, pg_temp AS $$
BEGIN
    PERFORM must_be_in(which);
    RETURN QUERY
        SELECT m.login,
            count(job.id) FILTER (WHERE job.status = 'todo'),
            count(job.id) FILTER (WHERE job.status = 'doing'),
            count(job.id) FILTER (WHERE job.status = 'failed'),
            (SELECT count(*) FROM reading AS r WHERE r.team = which AND r.login = m.login)
        FROM member AS m LEFT JOIN procrastinate_jobs AS job
            ON left(job.queue_name, 14) = 'b/' || left(md5(which::text || m.login), 12)
        WHERE m.team = which GROUP BY m.login ORDER BY m.login;
END $$;

GRANT SELECT ON reading, outage, dream TO PUBLIC;
GRANT USAGE ON SCHEMA reverie_queue TO PUBLIC;
GRANT SELECT, INSERT, UPDATE, DELETE ON reverie_queue.procrastinate_jobs, reverie_queue.procrastinate_events,
    reverie_queue.procrastinate_workers TO PUBLIC;
GRANT SELECT, UPDATE ON reverie_queue.procrastinate_periodic_defers TO PUBLIC;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA reverie_queue TO PUBLIC;
