-- Requests that are asked together: which batch each is in, and under which id the provider has that, so that
-- no machine that goes on with another's work loses what was paid for, or asks it again.
--
-- `work` tells a question by the words it is about, and tells nothing of them. Of the questions that are open
-- or have a reply, no two are the same.

CREATE TABLE batch (
    team uuid NOT NULL REFERENCES team,
    id text NOT NULL CHECK (length(id) BETWEEN 1 AND 60),
    login name NOT NULL,
    machine text NOT NULL CHECK (length(machine) BETWEEN 1 AND 80),
    provider text NOT NULL CHECK (length(provider) BETWEEN 1 AND 100),
    provider_login text NOT NULL CHECK (length(provider_login) <= 200),
    provider_id text NOT NULL DEFAULT '' CHECK (length(provider_id) <= 200),
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, id)
);

CREATE TABLE batch_item (
    team uuid NOT NULL,
    custom_id text NOT NULL CHECK (length(custom_id) BETWEEN 1 AND 64),
    batch text NOT NULL,
    login name NOT NULL,
    work text NOT NULL CHECK (length(work) BETWEEN 1 AND 200),
    call uuid NOT NULL,
    is_open boolean NOT NULL DEFAULT true,
    PRIMARY KEY (team, custom_id),
    FOREIGN KEY (team, batch) REFERENCES batch,
    FOREIGN KEY (team, call) REFERENCES call
);
CREATE INDEX item_of_batch ON batch_item (team, batch);
CREATE UNIQUE INDEX asked_once ON batch_item (team, login, work) WHERE is_open;

ALTER TABLE batch ENABLE ROW LEVEL SECURITY;
ALTER TABLE batch_item ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON batch FOR SELECT USING (team IN (SELECT my_teams()) AND login = session_user);
CREATE POLICY own ON batch_item FOR SELECT USING (team IN (SELECT my_teams()) AND login = session_user);

-- Writes a batch down before it is sent, of `wanted` what is not asked yet and fits below the caps from the
-- first on, and says of each by its number: taken, asked, or full. Says nothing where a lease of `holding` is
-- another's by now.
CREATE FUNCTION write_batch(which uuid, batch_id text, from_machine text, of_provider text, with_login text,
                            holding uuid[], wanted jsonb) RETURNS TABLE (number integer, answer text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
DECLARE
    request jsonb;
    room numeric;
    is_full boolean := false;
    call_id uuid;
BEGIN
    PERFORM must_be_in(which);
    IF (SELECT count(*) FROM lease WHERE team = which AND login = session_user AND token = ANY (holding))
            < cardinality(holding) THEN
        RETURN;
    END IF;
    PERFORM FROM team WHERE id = which FOR NO KEY UPDATE;
    SELECT min(cap.dollars - spent(which, cap.span)) INTO room FROM cap WHERE cap.team = which;
    INSERT INTO batch (team, id, login, machine, provider, provider_login)
        VALUES (which, batch_id, session_user, from_machine, of_provider, with_login) ON CONFLICT DO NOTHING;
    FOR request IN SELECT * FROM jsonb_array_elements(wanted) LOOP
        number := (request ->> 'number')::integer;
        IF EXISTS (SELECT FROM batch_item AS item WHERE item.team = which AND item.batch = batch_id
                   AND item.custom_id = request ->> 'custom_id' AND item.login = session_user) THEN
            answer := 'taken';  -- It was written down, and the answer was lost.
        ELSIF EXISTS (SELECT FROM batch_item AS item WHERE item.team = which AND item.login = session_user
                   AND item.work = request ->> 'work' AND item.is_open)
                OR EXISTS (SELECT FROM call WHERE call.team = which AND call.login = session_user
                           AND call.work = request ->> 'digest' AND call.reply IS NOT NULL) THEN
            answer := 'asked';
        ELSIF is_full OR (request ->> 'most')::numeric > room THEN
            is_full := true;
            answer := 'full';
        ELSE
            answer := 'taken';
            room := room - (request ->> 'most')::numeric;
            call_id := gen_random_uuid();
            INSERT INTO call (team, id, login, machine, project, purpose, work, state, reserved)
                VALUES (which, call_id, session_user, from_machine, request ->> 'project',
                        request ->> 'purpose', request ->> 'digest', 'reserved',
                        (request ->> 'most')::numeric);
            INSERT INTO batch_item (team, custom_id, batch, login, work, call)
                VALUES (which, request ->> 'custom_id', batch_id, session_user, request ->> 'work', call_id);
        END IF;
        RETURN NEXT;
    END LOOP;
    DELETE FROM batch WHERE team = which AND id = batch_id
        AND NOT EXISTS (SELECT FROM batch_item AS item WHERE item.team = which AND item.batch = batch_id);
END $$;

CREATE FUNCTION note_batch_sent(which uuid, batch_id text, of_provider_id text) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = reverie_team, pg_temp
    AS $$ UPDATE batch SET provider_id = of_provider_id
          WHERE team = which AND id = batch_id AND login = session_user $$;

-- Takes requests out of a batch that the provider never got, all where `those` is null: they cost nothing.
CREATE FUNCTION drop_batch(which uuid, batch_id text, those text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
DECLARE dropped uuid[];
BEGIN
    PERFORM FROM batch WHERE team = which AND id = batch_id AND login = session_user AND provider_id = ''
        FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    WITH gone AS (
        DELETE FROM batch_item WHERE team = which AND batch = batch_id
            AND (those IS NULL OR custom_id = ANY (those)) RETURNING call
    ) SELECT array_agg(call) INTO dropped FROM gone;
    UPDATE call SET state = 'released', settled_at = clock_timestamp()
        WHERE team = which AND id = ANY (dropped) AND state = 'reserved';
    DELETE FROM batch WHERE team = which AND id = batch_id
        AND NOT EXISTS (SELECT FROM batch_item AS item WHERE item.team = which AND item.batch = batch_id);
END $$;

-- Keeps what came of a request, once. Without a reply it may be asked again; without a cost nobody knows
-- whether it was paid, and what it may cost goes on counting.
CREATE FUNCTION settle_item(which uuid, of_custom_id text, cost numeric, tokens_in bigint, tokens_out bigint,
                            reply text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
DECLARE of_call uuid;
BEGIN
    PERFORM must_be_in(which);
    SELECT call INTO of_call FROM batch_item
        WHERE team = which AND custom_id = of_custom_id AND login = session_user FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF cost IS NOT NULL THEN
        PERFORM settle(which, of_call, cost, tokens_in, tokens_out, reply);
    END IF;
    IF reply IS NULL THEN
        UPDATE batch_item SET is_open = false WHERE team = which AND custom_id = of_custom_id;
    END IF;
END $$;

-- As in step 0003, for a job of either kind.
CREATE OR REPLACE FUNCTION finish_reading(which uuid, holding uuid, job bigint, of_key text, of_project text,
                                          from_machine text, how text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, reverie_queue, pg_temp AS $$
BEGIN
    PERFORM FROM lease WHERE team = which AND token = holding AND login = session_user FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    -- One that is gone was finished before, and the answer was lost.
    DELETE FROM procrastinate_jobs WHERE id = job
        AND queue_name IN (backlog_queue(which, of_project), backlog_queue(which, of_project) || '/batch');
    IF FOUND THEN
        INSERT INTO reading AS known (team, login, key, project, machine, outcome)
            VALUES (which, session_user, of_key, of_project, from_machine, left(how, 500))
            ON CONFLICT (team, login, key) DO UPDATE SET machine = excluded.machine,
                outcome = excluded.outcome, times = known.times + 1, at = clock_timestamp();
    END IF;
    RETURN true;
END $$;

-- Nobody's work is held up by what another member puts in: no lock of another's queue, no lease of it, no
-- lease without an end, no dream up to revisions that are not there, no amount that is none.
ALTER POLICY own ON reverie_queue.procrastinate_jobs WITH CHECK (
    left(queue_name, 14) IN (SELECT my_queues()) AND queueing_lock IS NULL
    AND (lock IS NULL OR left(lock, 14) IN (SELECT my_queues()))
);
REVOKE INSERT, UPDATE, DELETE ON reverie_queue.procrastinate_workers FROM PUBLIC;
ALTER TABLE call ADD CONSTRAINT call_amounts_check CHECK (reserved < 1000000000 AND dollars < 1000000000);
ALTER TABLE cap ADD CONSTRAINT cap_amount_check CHECK (dollars < 1000000000);

CREATE OR REPLACE FUNCTION take_lease(which uuid, called text, from_machine text, seconds double precision)
    RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
DECLARE given uuid;
BEGIN
    PERFORM must_be_in(which);
    IF called <> 'dream' AND left(called, 20) <> 'store/' || left(backlog_queue(which, ''), 14) THEN
        RAISE insufficient_privilege USING MESSAGE = 'that is not yours to hold';
    END IF;
    INSERT INTO lease AS held (team, name, token, login, machine, until)
        VALUES (which, called, gen_random_uuid(), session_user, from_machine,
                clock_timestamp() + make_interval(secs => least(seconds, 3600)))
        ON CONFLICT (team, name) DO UPDATE SET token = excluded.token, login = excluded.login,
            machine = excluded.machine, until = excluded.until
            WHERE held.until < clock_timestamp()
                OR (held.login = excluded.login AND held.machine = excluded.machine)
        RETURNING token INTO given;
    RETURN given;
END $$;

CREATE OR REPLACE FUNCTION keep_lease(which uuid, holding uuid, seconds double precision) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    PERFORM must_be_in(which);
    UPDATE lease SET until = clock_timestamp() + make_interval(secs => least(seconds, 3600))
        WHERE team = which AND token = holding AND login = session_user;
    RETURN FOUND;
END $$;

CREATE OR REPLACE FUNCTION note_dream(which uuid, holding uuid, from_machine text, up_to bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    PERFORM must_be_in(which);
    PERFORM FROM lease WHERE team = which AND name = 'dream' AND token = holding AND login = session_user
        FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO dream (team, login, machine, latest)
        SELECT which, session_user, from_machine, least(up_to, team.latest) FROM team WHERE team.id = which
        ON CONFLICT (team) DO UPDATE SET login = excluded.login, machine = excluded.machine,
            latest = excluded.latest, at = clock_timestamp();
    RETURN true;
END $$;

GRANT SELECT ON batch, batch_item TO PUBLIC;
