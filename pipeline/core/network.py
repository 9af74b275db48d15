"""The way out of this machine: a proxy, the hosts asked without it, the certificates to trust.

They come from the settings alone. Programs and libraries go by variables, so these are set here, for this
process and what it starts.
"""

from __future__ import annotations

import os

from pipeline.hooklib.places import by_client

VARIABLES = (
    ("proxy", ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")),
    ("no_proxy", ("NO_PROXY", "no_proxy")),
    ("ca_file", ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS")),
)
"""The keys of ``[network]`` with the variables for each; ``hooks/start_worker.py`` has the same."""
_OTHERS = ("ALL_PROXY", "all_proxy", "SSL_CERT_DIR", "CURL_CA_BUNDLE")


def use(*, proxy: str, no_proxy: str, ca_file: str) -> None:
    """Go by these from now on; what is "" is left to a person's own shell.

    In what Claude Code starts the shell's variables may be a project's, so there they are taken away.
    """
    if by_client():
        for name in (*_OTHERS, *(name for _, names in VARIABLES for name in names)):
            os.environ.pop(name, None)
    given = {"proxy": proxy, "no_proxy": no_proxy, "ca_file": ca_file}
    for key, names in VARIABLES:
        if given[key]:
            os.environ.update(dict.fromkeys(names, given[key]))


def passed_on() -> dict[str, str]:
    """Return the proxy and the certificates of this process as variables, for a program that goes by them."""
    names = [name for _, several in VARIABLES for name in several]
    found = {name: value for name in names if (value := os.environ.get(name))}
    if "SSL_CERT_FILE" in found:
        found["GIT_SSL_CAINFO"] = found["SSL_CERT_FILE"]
    return found
