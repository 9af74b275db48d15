-- A way back for who founded a team. Once they left, nobody may invite, so nobody could let them in again;
-- and a team whose last member left would keep its name and its revisions from everybody for ever.

ALTER TABLE team ADD COLUMN founder name;
-- Only a founder came in by themselves: whoever invites is in the team already.
UPDATE team SET founder = (SELECT login FROM member WHERE member.team = team.id AND invited_by = login);

-- Founds a team, or lets its founder in again where no active member may invite. A team's name is told to
-- nobody who is not in it; that it is taken can't be hidden from who may found one.
CREATE OR REPLACE FUNCTION found_team(called text, founder text) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
DECLARE made uuid;
BEGIN
    SELECT id INTO made FROM team WHERE name = called AND team.founder = session_user FOR NO KEY UPDATE;
    IF made IS NULL THEN
        INSERT INTO team (name, founder) VALUES (called, session_user) RETURNING id INTO made;
        INSERT INTO member (team, login, person, may_invite, state, invited_by)
            VALUES (made, session_user, found_team.founder, true, 'active', session_user);
    ELSIF NOT EXISTS (SELECT FROM member WHERE team = made AND state = 'active' AND may_invite) THEN
        UPDATE member SET state = 'active', may_invite = true, person = found_team.founder,
            since = clock_timestamp() WHERE team = made AND login = session_user;
    ELSIF NOT EXISTS (SELECT FROM member WHERE team = made AND login = session_user
                      AND state IN ('invited', 'active')) THEN
        RAISE insufficient_privilege USING MESSAGE = 'you left this team, and its members may invite you';
    END IF;
    RETURN made;
END $$;

-- What whoever asks was in the team of that name: NULL where there is none, or they never were in it.
CREATE FUNCTION state_in(called text) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = reverie_team, pg_temp
    AS $$ SELECT m.state FROM team t JOIN member m ON m.team = t.id
          WHERE t.name = called AND m.login = session_user $$;
