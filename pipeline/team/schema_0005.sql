-- What each person of a team is called and ever was: a text says who wrote it by the name of its day, and whoever
-- is invited again under another name wrote it all the same. A name that somebody had is never another's.

CREATE TABLE person_name (
    team uuid NOT NULL REFERENCES team,
    person text NOT NULL,
    login name NOT NULL,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, person)
);
INSERT INTO person_name SELECT team, person, login, since FROM member;

ALTER TABLE person_name ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON person_name FOR SELECT USING (team IN (SELECT my_teams()) OR login = session_user);

CREATE FUNCTION note_name() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = reverie_team, pg_temp AS $$
BEGIN
    INSERT INTO person_name (team, person, login) VALUES (NEW.team, NEW.person, NEW.login)
        ON CONFLICT DO NOTHING;
    IF NOT EXISTS (SELECT FROM person_name WHERE team = NEW.team AND person = NEW.person AND login = NEW.login) THEN
        RAISE unique_violation USING MESSAGE = 'somebody in the team is or was called that already',
            CONSTRAINT = 'member_team_person_key';
    END IF;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION note_name() FROM PUBLIC;
CREATE TRIGGER note_name AFTER INSERT OR UPDATE OF person ON member
    FOR EACH ROW EXECUTE FUNCTION note_name();

GRANT SELECT ON person_name TO PUBLIC;
