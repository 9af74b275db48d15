"""Ways a search index may be found that can't be used."""

import os
import sqlite3
from contextlib import closing


def garbage(file):
    file.write_bytes(b"this is no database" * 500)


def other_version(file):
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("PRAGMA user_version = 1")
    connection.close()


def holes(file):
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    file.write_bytes(data)


def pipe(file):
    file.unlink()
    os.mkfifo(file)
