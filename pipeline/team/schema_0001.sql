-- Teams, their members and their revisions. Revisions are only ever added: no role has UPDATE or DELETE.
--
-- Who is asking is `session_user`, the login, which nobody but a superuser can change: SET ROLE does not,
-- and neither does a function that runs as its owner. So views and functions ask the same question as the
-- policies do, on PostgreSQL 14 too, whose views read as their owner.

CREATE TABLE team (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,59}$'),
    founded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    latest bigint NOT NULL DEFAULT 0
);

CREATE TABLE member (
    team uuid NOT NULL REFERENCES team,
    login name NOT NULL,
    person text NOT NULL CHECK (length(person) BETWEEN 1 AND 80),
    may_invite boolean NOT NULL DEFAULT false,
    state text NOT NULL DEFAULT 'invited' CHECK (state IN ('invited', 'active', 'left')),
    invited_by name NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, login),
    UNIQUE (team, person)
);
CREATE INDEX member_by_login ON member (login);

-- A revision's number is given while its team's row is locked: whoever has read up to a number will never
-- find a smaller one later, though transactions end in another order than they began.
CREATE TABLE revision (
    team uuid NOT NULL REFERENCES team,
    number bigint NOT NULL,
    digest text NOT NULL CHECK (digest ~ '^[0-9a-f]{40}$'),
    memory text NOT NULL CHECK (length(memory) BETWEEN 1 AND 200),
    parents text[] NOT NULL DEFAULT '{}' CHECK (cardinality(parents) <= 64),
    author name NOT NULL,
    machine text NOT NULL CHECK (length(machine) BETWEEN 1 AND 80),
    body text NOT NULL CHECK (octet_length(body) <= 1000000),
    kept_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, number),
    UNIQUE (team, digest)
);
CREATE INDEX revision_of_memory ON revision (team, memory);

CREATE TABLE machine (
    team uuid NOT NULL REFERENCES team,
    login name NOT NULL DEFAULT session_user,
    machine text NOT NULL CHECK (length(machine) BETWEEN 1 AND 80),
    pulled_at timestamptz,
    pulled_to bigint NOT NULL DEFAULT 0,
    pushed_at timestamptz,
    waiting integer NOT NULL DEFAULT 0 CHECK (waiting >= 0),
    PRIMARY KEY (team, login, machine)
);

CREATE FUNCTION my_teams() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = reverie_team, pg_temp
    AS $$ SELECT team FROM member WHERE login = session_user AND state = 'active' $$;

CREATE VIEW head AS
    SELECT r.* FROM revision r
    WHERE r.team IN (SELECT my_teams()) AND NOT EXISTS (
        SELECT FROM revision later
        WHERE later.team = r.team AND later.memory = r.memory AND r.digest = ANY (later.parents)
    );

ALTER TABLE team ENABLE ROW LEVEL SECURITY;
ALTER TABLE member ENABLE ROW LEVEL SECURITY;
ALTER TABLE revision ENABLE ROW LEVEL SECURITY;
ALTER TABLE machine ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION known_teams() RETURNS SETOF uuid
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = reverie_team, pg_temp
    AS $$ SELECT team FROM member WHERE login = session_user AND state IN ('invited', 'active') $$;

CREATE POLICY mine ON team FOR SELECT USING (id IN (SELECT known_teams()));
CREATE POLICY mine ON member FOR SELECT USING (team IN (SELECT my_teams()) OR login = session_user);
CREATE POLICY mine ON revision FOR SELECT USING (team IN (SELECT my_teams()));
CREATE POLICY mine ON machine FOR SELECT USING (team IN (SELECT my_teams()));
CREATE POLICY own ON machine FOR INSERT WITH CHECK (team IN (SELECT my_teams()) AND login = session_user);
CREATE POLICY own_again ON machine FOR UPDATE
    USING (team IN (SELECT my_teams()) AND login = session_user) WITH CHECK (login = session_user);

-- A team is founded by who set the database up, or by whom they grant it.
CREATE FUNCTION found_team(called text, founder text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
DECLARE made uuid;
BEGIN
    INSERT INTO team (name) VALUES (called) RETURNING id INTO made;
    INSERT INTO member (team, login, person, may_invite, state, invited_by)
        VALUES (made, session_user, founder, true, 'active', session_user);
    RETURN made;
END $$;

CREATE FUNCTION invite(into_team uuid, who name, called text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM member WHERE team = into_team AND login = session_user
                   AND state = 'active' AND may_invite) THEN
        RAISE insufficient_privilege USING MESSAGE = 'you may not invite to this team';
    END IF;
    INSERT INTO member (team, login, person, invited_by) VALUES (into_team, who, called, session_user)
        ON CONFLICT (team, login) DO UPDATE SET state = 'invited', person = excluded.person,
            invited_by = excluded.invited_by, since = clock_timestamp() WHERE member.state = 'left';
END $$;

CREATE FUNCTION join_team(which uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    UPDATE member SET state = 'active', since = clock_timestamp()
        WHERE team = which AND login = session_user AND state = 'invited';
    IF NOT FOUND AND NOT EXISTS (SELECT FROM member WHERE team = which AND login = session_user
                                 AND state = 'active') THEN
        RAISE insufficient_privilege USING MESSAGE = 'you were not invited to this team';
    END IF;
END $$;

CREATE FUNCTION leave_team(which uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = reverie_team, pg_temp
    AS $$ UPDATE member SET state = 'left', may_invite = false, since = clock_timestamp()
          WHERE team = which AND login = session_user $$;

-- The one way in for revisions, each in the name of who is asking. One that is there already is left as it
-- is: pushing again after a cut connection adds nothing. Returns how many were new.
CREATE FUNCTION push(which uuid, from_machine text, revisions jsonb) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
DECLARE
    item jsonb;
    last bigint;
    added integer := 0;
BEGIN
    IF NOT EXISTS (SELECT FROM member WHERE team = which AND login = session_user AND state = 'active') THEN
        RAISE insufficient_privilege USING MESSAGE = 'you are not in this team';
    END IF;
    SELECT latest INTO last FROM team WHERE id = which FOR NO KEY UPDATE;
    FOR item IN SELECT value FROM jsonb_array_elements(revisions) LOOP
        INSERT INTO revision (team, number, digest, memory, parents, author, machine, body)
            VALUES (which, last + 1, item ->> 'digest', item ->> 'memory',
                    ARRAY(SELECT jsonb_array_elements_text(item -> 'parents')), session_user, from_machine,
                    item ->> 'body')
            ON CONFLICT (team, digest) DO NOTHING;
        IF FOUND THEN
            last := last + 1;
            added := added + 1;
        END IF;
    END LOOP;
    UPDATE team SET latest = last WHERE id = which AND added > 0;
    RETURN added;
END $$;

REVOKE EXECUTE ON FUNCTION found_team(text, text) FROM PUBLIC;
GRANT USAGE ON SCHEMA reverie_team TO PUBLIC;
GRANT SELECT ON team, member, revision, machine, head, migration TO PUBLIC;
GRANT INSERT (team, machine, pulled_at, pulled_to, pushed_at, waiting) ON machine TO PUBLIC;
GRANT UPDATE (pulled_at, pulled_to, pushed_at, waiting) ON machine TO PUBLIC;
