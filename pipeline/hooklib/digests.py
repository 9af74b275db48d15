"""SHA-256 without ``hashlib``, which opens OpenSSL and costs a hook 2.5 ms."""


def sha256(raw: bytes) -> str:
    """Return the SHA-256 of `raw` in 64 hex digits, as ``pipeline.core.ids.digest`` does."""
    for name in ("_sha2", "_sha256"):  # since Python 3.12, and before
        try:
            module = __import__(name)
        except ImportError:
            continue
        return str(module.sha256(raw).hexdigest())
    import hashlib

    return hashlib.sha256(raw).hexdigest()
