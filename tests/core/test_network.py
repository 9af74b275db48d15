"""The way out of the machine: from the settings alone, for this process and what it starts."""

import json
import os
import subprocess
import sys

import pytest

from pipeline.app.application import App
from pipeline.core import network
from tests.support.hooks import HOOKS

NONE = {"proxy": "", "no_proxy": "", "ca_file": ""}


@pytest.fixture(autouse=True)
def put_back(monkeypatch):
    """Give every variable back as it was."""
    for _, names in network.VARIABLES:
        for name in names:
            monkeypatch.setenv(name, f"shell-{name}")


def test_the_settings_reach_all_that_goes_by_variables(sealed_environment):
    home = sealed_environment / "reverie"
    home.mkdir()
    (home / "config.toml").write_text(
        '[network]\nproxy = "http://proxy:3128"\nno_proxy = "localhost,.example"\nca_file = "/etc/ca.pem"\n'
    )
    App()
    assert {os.environ[name] for name in ("HTTPS_PROXY", "http_proxy")} == {"http://proxy:3128"}
    assert os.environ["no_proxy"] == "localhost,.example"
    assert {os.environ[name] for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")} == {"/etc/ca.pem"}


def test_a_shell_of_a_persons_own_keeps_what_the_settings_do_not_name():
    network.use(**NONE)
    assert os.environ["HTTPS_PROXY"] == "shell-HTTPS_PROXY"


def test_in_a_session_what_the_settings_do_not_name_is_none(monkeypatch):
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("ALL_PROXY", "socks5://evil")
    network.use(**{**NONE, "no_proxy": "localhost"})
    assert not {"HTTPS_PROXY", "http_proxy", "SSL_CERT_FILE", "ALL_PROXY"} & {*os.environ}
    assert os.environ["NO_PROXY"] == "localhost"


def test_the_setup_of_a_plugin_goes_the_same_way(sealed_environment):
    home = sealed_environment / "reverie"
    home.mkdir()
    (home / "config.toml").write_text(
        "network = { proxy = \"http://proxy:3128\", ca_file = '/etc/a b.pem' }  # ours\n"
    )
    code = f"import sys, json; sys.path.insert(0, {str(HOOKS)!r}); import prepare_worker as it"
    code += "; print(json.dumps(it.clean()))"
    env = {"PATH": "/usr/bin:/bin", "REVERIE_HOME": str(home), "PYTHONPATH": "/x"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    got = json.loads(done.stdout)
    assert got["HTTPS_PROXY"] == "http://proxy:3128" and got["PIP_CERT"] == "/etc/a b.pem"
    assert "NO_PROXY" not in got and "PYTHONPATH" not in got
