-- Work for many hands: what may be spent together, replies that were paid for, and leases on what one hand
-- alone may do at a time. All times are the server's, so that no machine's clock decides.

CREATE TABLE cap (
    team uuid NOT NULL REFERENCES team,
    span text NOT NULL CHECK (span IN ('day', 'month')),
    dollars numeric NOT NULL CHECK (dollars >= 0),
    PRIMARY KEY (team, span)
);

-- One model call. `reserved` counts in full until it is settled: of a worker that died nobody knows whether
-- the provider was asked.
CREATE TABLE call (
    team uuid NOT NULL REFERENCES team,
    id uuid NOT NULL,
    login name NOT NULL,
    machine text NOT NULL CHECK (length(machine) BETWEEN 1 AND 80),
    project text NOT NULL CHECK (length(project) <= 200),
    purpose text NOT NULL CHECK (length(purpose) <= 40),
    work text NOT NULL CHECK (length(work) BETWEEN 1 AND 200),
    state text NOT NULL CHECK (state IN ('reserved', 'settled', 'released')),
    reserved numeric NOT NULL CHECK (reserved >= 0),
    dollars numeric NOT NULL DEFAULT 0 CHECK (dollars >= 0),
    read_tokens bigint NOT NULL DEFAULT 0,
    written_tokens bigint NOT NULL DEFAULT 0,
    asked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    settled_at timestamptz,
    reply text,
    PRIMARY KEY (team, id)
);
CREATE INDEX call_by_time ON call (team, asked_at);
CREATE UNIQUE INDEX reply_of_work ON call (team, login, work) WHERE reply IS NOT NULL;

CREATE TABLE lease (
    team uuid NOT NULL REFERENCES team,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    token uuid NOT NULL,
    login name NOT NULL,
    machine text NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (team, name)
);

ALTER TABLE cap ENABLE ROW LEVEL SECURITY;
ALTER TABLE call ENABLE ROW LEVEL SECURITY;
ALTER TABLE lease ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON cap FOR SELECT USING (team IN (SELECT my_teams()));
CREATE POLICY mine ON lease FOR SELECT USING (team IN (SELECT my_teams()));
-- A reply may quote what a person said: nobody but its own login reads it.
CREATE POLICY own ON call FOR SELECT USING (team IN (SELECT my_teams()) AND login = session_user);

CREATE FUNCTION must_be_in(which uuid) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM member WHERE team = which AND login = session_user AND state = 'active') THEN
        RAISE insufficient_privilege USING MESSAGE = 'you are not in this team';
    END IF;
END $$;

CREATE FUNCTION set_cap(which uuid, per text, most numeric) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM member WHERE team = which AND login = session_user
                   AND state = 'active' AND may_invite) THEN
        RAISE insufficient_privilege USING MESSAGE = 'you may not set the caps of this team';
    END IF;
    IF most IS NULL THEN
        DELETE FROM cap WHERE team = which AND span = per;
    ELSE
        INSERT INTO cap (team, span, dollars) VALUES (which, per, most)
            ON CONFLICT (team, span) DO UPDATE SET dollars = excluded.dollars;
    END IF;
END $$;

-- What was spent since `span` began, with what is reserved; days and months are those of UTC.
CREATE FUNCTION spent(which uuid, span text) RETURNS numeric
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    PERFORM must_be_in(which);
    RETURN coalesce((
        SELECT sum(CASE state WHEN 'reserved' THEN reserved WHEN 'settled' THEN dollars ELSE 0 END) FROM call
        WHERE team = which
            AND asked_at >= date_trunc(span, clock_timestamp() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
    ), 0);
END $$;

-- Sets `most` dollars aside for one call; false where a cap would be passed. The team's row is locked, so
-- two that ask at once are answered one after the other.
CREATE FUNCTION reserve(which uuid, call_id uuid, from_machine text, for_project text, for_purpose text,
                        for_work text, most numeric) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    PERFORM must_be_in(which);
    PERFORM FROM team WHERE id = which FOR NO KEY UPDATE;
    IF EXISTS (SELECT FROM call WHERE team = which AND id = call_id AND login = session_user) THEN
        RETURN true;
    END IF;
    IF EXISTS (SELECT FROM cap WHERE team = which AND spent(which, span) + most > dollars) THEN
        RETURN false;
    END IF;
    INSERT INTO call (team, id, login, machine, project, purpose, work, state, reserved)
        VALUES (which, call_id, session_user, from_machine, for_project, for_purpose, for_work, 'reserved', most);
    RETURN true;
END $$;

-- Keeps what a call cost together with its reply, once.
CREATE FUNCTION settle(which uuid, call_id uuid, cost numeric, tokens_in bigint, tokens_out bigint,
                       answer text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    PERFORM must_be_in(which);
    UPDATE call SET state = 'settled', dollars = cost, read_tokens = tokens_in, written_tokens = tokens_out,
            reply = CASE WHEN EXISTS (SELECT FROM call other WHERE other.team = which
                        AND other.login = session_user AND other.work = call.work AND other.reply IS NOT NULL)
                    THEN NULL ELSE answer END,
            settled_at = clock_timestamp()
        WHERE team = which AND id = call_id AND login = session_user AND state = 'reserved';
END $$;

CREATE FUNCTION release(which uuid, call_id uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = reverie_team, pg_temp
    AS $$ UPDATE call SET state = 'released', settled_at = clock_timestamp()
          WHERE team = which AND id = call_id AND login = session_user AND state = 'reserved' $$;

CREATE FUNCTION costs(which uuid) RETURNS TABLE (login name, project text, purpose text, day date, calls bigint,
                                                 dollars numeric, read_tokens numeric, written_tokens numeric)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    PERFORM must_be_in(which);
    RETURN QUERY
        SELECT c.login, c.project, c.purpose, (c.asked_at AT TIME ZONE 'UTC')::date, count(*),
            sum(CASE c.state WHEN 'reserved' THEN c.reserved ELSE c.dollars END),
            sum(c.read_tokens), sum(c.written_tokens)
        FROM call c WHERE c.team = which AND c.state <> 'released' GROUP BY 1, 2, 3, 4 ORDER BY 4, 1, 2, 3;
END $$;

-- Gives a lease to who asks first, or to whoever asks after it has run out; null where somebody holds it.
CREATE FUNCTION take_lease(which uuid, called text, from_machine text, seconds double precision) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
DECLARE given uuid;
BEGIN
    PERFORM must_be_in(which);
    INSERT INTO lease AS held (team, name, token, login, machine, until)
        VALUES (which, called, gen_random_uuid(), session_user, from_machine,
                clock_timestamp() + make_interval(secs => seconds))
        ON CONFLICT (team, name) DO UPDATE SET token = excluded.token, login = excluded.login,
            machine = excluded.machine, until = excluded.until WHERE held.until < clock_timestamp()
        RETURNING token INTO given;
    RETURN given;
END $$;

-- False where the lease ran out and is another's now: its holder must stop.
CREATE FUNCTION keep_lease(which uuid, holding uuid, seconds double precision) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    UPDATE lease SET until = clock_timestamp() + make_interval(secs => seconds)
        WHERE team = which AND token = holding AND login = session_user;
    RETURN FOUND;
END $$;

CREATE FUNCTION give_back(which uuid, holding uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = reverie_team, pg_temp
    AS $$ DELETE FROM lease WHERE team = which AND token = holding AND login = session_user $$;

GRANT SELECT ON cap, call, lease TO PUBLIC;
