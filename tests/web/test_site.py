"""The frame around all pages."""

import re


def test_the_navigation_leads_to_pages_that_there_are(browse):
    browser = browse()
    links = re.findall(r'<li><a href="/t0ken/([^"]*)"', browser.get().text)
    assert links and links[0] == ""
    assert {path: browser.get(path).status for path in links} == dict.fromkeys(links, 200)
