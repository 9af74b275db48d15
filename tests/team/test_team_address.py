"""Addresses of databases: which are taken, and that nothing beyond this machine goes without proof."""

import pytest

from pipeline.core.errors import ConfigError
from pipeline.team.connecting import parse


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", ""])
def test_on_this_machine_no_certificate_is_asked_for(host):
    assert "sslmode" not in parse(f"postgresql://ann@{host}/team").parameters


@pytest.mark.parametrize(
    "host", ["db.example.org", "10.0.0.7", "127.0.0.1.example.org", "localhost,db.example.org"]
)
def test_beyond_it_a_server_must_prove_who_it_is(host):
    address = parse(f"postgresql://ann@/team?host={host}")
    assert address.parameters["sslmode"] == "verify-full"
    assert address.parameters["sslrootcert"] == "system"


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", ""])
def test_a_weaker_mode_is_refused(mode):
    with pytest.raises(ConfigError, match="on the way"):
        parse(f"postgresql://ann@db.example.org/team?sslmode={mode}")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://ann@db/team", "not a PostgreSQL address"),
        ("postgresql://ann:secret@db/team", "holds a password"),
        ("postgresql://ann@db/team?password=secret", "password, which is not taken"),
        ("postgresql://ann@db/team?options=-csession_authorization", "options, which is not taken"),
        ("postgresql://ann@db/team?hostaddr=10.0.0.7", "hostaddr, which is not taken"),
    ],
)
def test_what_is_not_taken_is_named_and_no_secret_is_repeated(url, message):
    with pytest.raises(ConfigError, match=message) as caught:
        parse(url)
    assert "secret" not in f"{caught.value} {caught.value.fix}"


def test_all_parts_of_an_address_reach_the_driver():
    address = parse(
        "postgresql://a%40b@db.example.org:6543/our%20team?sslrootcert=/etc/ours.pem&connect_timeout=3"
    )
    assert address.parameters == {
        **{"host": "db.example.org", "port": "6543", "user": "a@b", "dbname": "our team"},
        **{"sslrootcert": "/etc/ours.pem", "connect_timeout": "3", "sslmode": "verify-full"},
    }
    assert address.name == "a@b at db.example.org, database our team"
