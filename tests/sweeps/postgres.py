"""A PostgreSQL cluster of our own, on loopback and under a password, gone with the tests."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from sweeps.ui import ENDS_WITH_PARENT, free_port

PATIENCE = 120.0  # seconds until it must take connections
UNSAFE_AND_FAST = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off", "-c", "max_connections=200"]


def server_programs() -> Path | None:
    """Where initdb and postgres lie: Debian keeps them out of PATH."""
    found = shutil.which("postgres")
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: int(place.parent.name))
    return Path(found).resolve().parent if found else places[-1] if places else None


@dataclass
class Postgres:
    port: int
    password: str
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def environment(self) -> dict[str, str]:
        """Of whoever may connect: the URIs hold neither user nor password."""
        return {"PGUSER": "stockpot", "PGPASSWORD": self.password}

    def database(self, template: str = "template0") -> str:
        """The URI of a new database, a copy of the one whose URI is `template`."""
        name = f"db{next(self._numbers)}"
        source = template.rpartition("/")[2]
        self._run(f"select pg_terminate_backend(pid) from pg_stat_activity where datname = '{source}'")
        self._run(f'create database "{name}" template "{source}"')
        return f"postgresql://127.0.0.1:{self.port}/{name}"

    def _run(self, statement: str) -> None:
        import psycopg

        connection = psycopg.connect(host="127.0.0.1", port=self.port, user="stockpot", password=self.password, dbname="postgres", autocommit=True)
        with contextlib.closing(connection), connection.cursor() as cursor:
            cursor.execute(statement)

    def wait_until_up(self, process: subprocess.Popen, log: Path) -> None:
        import psycopg

        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._run("select 1")
            except psycopg.OperationalError as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise AssertionError(f"PostgreSQL did not start: {error}\n{log.read_text()}") from error
                time.sleep(0.1)


@contextlib.contextmanager
def running_postgres(programs: Path) -> Iterator[Postgres]:
    """The server refuses to run as root, so it runs as nobody then, in a folder that is nobody's."""
    folder = Path(tempfile.mkdtemp(prefix="sp-pg-", dir="/tmp"))  # short: a socket lies in it; pytest's own folders are root's
    postgres = Postgres(free_port("127.0.0.1"), secrets.token_hex(16))
    other = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    (folder / "password").write_text(postgres.password)
    for path in (folder, folder / "password") if other else ():
        shutil.chown(path, "nobody", "nogroup")
    process = guard = None
    try:
        subprocess.run(
            [programs / "initdb", "-D", folder / "data", "-U", "stockpot", "-A", "scram-sha-256", "--pwfile", folder / "password",
             "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True, capture_output=True, cwd=folder, **other,
        )  # fmt: skip
        with open(folder / "log", "w") as log:
            process = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", "-k", folder, "-h", "127.0.0.1", "-p", str(postgres.port), *UNSAFE_AND_FAST],
                stdout=log, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True, **other,
            )  # fmt: skip
        guard = subprocess.Popen(["sh", "-c", ENDS_WITH_PARENT, "sh", str(process.pid)], stdin=subprocess.PIPE, start_new_session=True)
        postgres.wait_until_up(process, folder / "log")
        yield postgres
    finally:
        if guard:
            guard.kill()
            guard.communicate()
        if process:
            process.send_signal(signal.SIGQUIT)  # at once: nothing in it is needed
            process.wait(timeout=60)
        shutil.rmtree(folder, ignore_errors=True)
