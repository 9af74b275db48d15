"""Who is answered: who knows the address, under this machine's names, from the page itself."""

import pytest

from tests.web.conftest import ORIGIN, PORT, TOKEN


def test_the_page_comes_with_what_keeps_foreign_scripts_out(browse):
    answer = browse().get()
    assert answer.status == 200 and "Nothing is kept here yet" in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert (
        answer.headers["cache-control"] == "no-store"
        and answer.headers["x-content-type-options"] == "nosniff"
    )


@pytest.mark.parametrize(
    "host", [None, "evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}"]
)
def test_under_another_name_nothing_is_shown(browse, host):
    answer = browse().get(host=host)
    assert answer.status == 421 and "Memories" not in answer.text


@pytest.mark.parametrize(
    "path",
    ["/", "", "/t0ke/", "/t0ken2/", "/T0KEN/", "//t0ken/", "/x/t0ken/", "/t0ke\u043d/", "/static/page.js"],
)
def test_without_the_token_nothing_is_shown(browse, path):
    answer = browse().raw("GET", path)
    assert (
        answer.status == 404 and "Memories" not in answer.text and answer.text.startswith("Nothing is shown")
    )


@pytest.mark.parametrize(
    "origin",
    ["null", "http://evil.example", f"https://127.0.0.1:{PORT}", f"http://127.0.0.1:{PORT}.evil.example"],
)
def test_another_origin_is_refused(browse, origin):
    assert browse().get(origin=origin).status == 403
    assert browse().post("", origin=origin).status == 403


def test_a_form_needs_its_origin_and_its_proof(browse):
    browser = browse()
    assert browser.post("", origin=None).status == 403
    assert browser.post("", sec_fetch_site="cross-site").status == 403
    assert browser.post("nowhere").status == 404


def test_a_foreign_page_may_not_take_a_piece_of_it(browse):
    assert browse().get(sec_fetch_site="cross-site", sec_fetch_mode="no-cors").status == 403
    assert browse().get(sec_fetch_site="same-origin", sec_fetch_mode="cors").status == 200


@pytest.mark.parametrize(
    "name", ["../visit.py", "..%2fvisit.py", "style.css/../../visit.py", "nothing.css", "%2e%2e/site.py"]
)
def test_only_named_files_are_given(browse, name):
    assert browse().get(f"static/{name}").status == 404


def test_its_own_files_are_given(browse):
    answer = browse().get("static/style.css")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/css")
    assert browse().get("static/page.js").headers["content-type"].startswith("text/javascript")


def test_two_hosts_in_one_request_are_one_too_many(browse):
    from pipeline.web.gate import Gate

    gate = Gate(None, TOKEN, PORT)  # type: ignore[arg-type]
    own = (b"host", f"127.0.0.1:{PORT}".encode())
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/{TOKEN}/",
        "headers": [own, (b"host", b"evil.example")],
    }
    assert gate._refusal(scope) == 400 and gate._refusal({**scope, "headers": [own]}) == 0
    assert gate._refusal({**scope, "headers": [own, (b"origin", ORIGIN.encode())]}) == 0
