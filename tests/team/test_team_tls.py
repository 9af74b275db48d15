"""A database beyond this machine must prove who it is: tried with certificates of an authority of our own.

The address is one of another host; only where its name leads is said in its place: to the server here.
"""

import os
import pwd
import shutil
import subprocess

import pytest

from pipeline.core.errors import UnreachableTeamError
from pipeline.team.connecting import Address, parse, within
from tests.support.postgres import USER

pytestmark = pytest.mark.postgres
HOST = "db.example.org"


class Authority:
    """Who signs certificates; `file` is its own."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.file = folder / "authority.pem"
        self._openssl("req", "-x509", "-subj", "/CN=Ours", "-keyout", "authority.key", "-out", self.file.name)

    def sign(self, host):
        """Return the files of a certificate for `host` and of its key."""
        self._openssl(
            *("req", "-x509", "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"),
            *("-CA", self.file.name, "-CAkey", "authority.key", "-keyout", "host.key", "-out", "host.pem"),
        )
        return self.folder / "host.pem", self.folder / "host.key"

    def _openssl(self, command, *words):
        new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
        subprocess.run(["openssl", command, *words, *new], cwd=self.folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here to make certificates with")
    return Authority(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def proven(server, authority):
    """The server, with a certificate for `HOST`."""
    for file, name in zip(authority.sign(HOST), ("cert", "key"), strict=True):
        there = server.folder / f"server.{name}"
        shutil.copy(file, there)
        there.chmod(0o600)
        if os.getuid() == 0:
            os.chown(there, pwd.getpwnam(USER).pw_uid, -1)
        server.sql(f"ALTER SYSTEM SET ssl_{name}_file = '{there}'")
    server.sql("ALTER SYSTEM SET ssl = on")
    server.sql("SELECT pg_reload_conf()")
    yield server
    server.sql("ALTER SYSTEM SET ssl = off")
    server.sql("SELECT pg_reload_conf()")


def ask(server, host, root):
    """Connect to `host` as the address says, which leads to `server`; return whether that goes by TLS."""
    address = parse(f"postgresql://ann@{host}:{server.port}/team?sslrootcert={root}")
    leading_here = Address(address.url, {**address.parameters, "hostaddr": "127.0.0.1"})
    sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    rows = within(leading_here, lambda connection: connection.execute(sql).fetchall(), sleep=lambda _: None)
    return rows[0][0]


def test_a_server_without_tls_is_refused(server, authority):
    with pytest.raises(UnreachableTeamError, match="SSL"):
        ask(server, HOST, authority.file)


def test_one_that_proves_who_it_is_is_taken(proven, authority):
    assert ask(proven, HOST, authority.file) is True


def test_another_name_is_refused(proven, authority):
    with pytest.raises(UnreachableTeamError, match="does not match host name"):
        ask(proven, "other.example.org", authority.file)


def test_a_certificate_of_somebody_else_is_refused(proven, tmp_path):
    with pytest.raises(UnreachableTeamError, match="certificate verify failed"):
        ask(proven, HOST, Authority(tmp_path / "theirs").file)


def test_the_authorities_of_the_system_do_not_know_it(proven):
    with pytest.raises(UnreachableTeamError, match="certificate verify failed"):
        ask(proven, HOST, "system")
