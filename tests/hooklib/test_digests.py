"""SHA-256 for hooks is that of `hashlib`, and its module is looked for once."""

import hashlib
import sys

from pipeline.hooklib import digests


def test_it_is_sha_256():
    for raw in (b"", b"tide table", bytes(range(256)) * 300):
        assert digests.sha256(raw) == hashlib.sha256(raw).hexdigest()


def test_a_module_that_is_not_there_is_looked_for_once(monkeypatch):
    digests.sha256(b"first")

    asked = []

    class Counting:
        def find_spec(self, name, path=None, target=None):
            asked.append(name)

    monkeypatch.setattr(sys, "meta_path", [Counting(), *sys.meta_path])
    for number in range(3):
        digests.sha256(b"%d" % number)
    assert not {"_sha2", "_sha256"} & set(asked)
