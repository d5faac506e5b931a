"""Real `mlflow server`s for tests: on SQLite or PostgreSQL, open or under a password, killed and started again."""

from __future__ import annotations

import secrets
import signal
from dataclasses import dataclass, field
from pathlib import Path

from sweeps.ui import Server, free_port

AUTH = """\
[mlflow]
default_permission = NO_PERMISSIONS
database_uri = sqlite:///{folder}/users.db
admin_username = admin
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
auth_cache_ttl_seconds = 60
"""


@dataclass
class TeamServer:
    """What a team's server looks like: a database and artifacts of its own, reached by HTTP alone.

    `environment`: what the database asks for. `password`: of its user `admin`, where it asks for one.
    """

    folder: Path
    database: str
    environment: dict[str, str] = field(default_factory=dict)
    password: str = ""
    port: int = field(default_factory=lambda: free_port("127.0.0.1"))
    running: Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> TeamServer:
        self.folder.mkdir(parents=True, exist_ok=True)
        options, environment = (), dict(self.environment)
        if self.password:
            options = ("--app-name", "basic-auth")
            (self.folder / "auth.ini").write_text(AUTH.format(folder=self.folder))
            environment |= {
                "MLFLOW_AUTH_CONFIG_PATH": str(self.folder / "auth.ini"), "MLFLOW_AUTH_ADMIN_PASSWORD": self.password,
                "MLFLOW_FLASK_SERVER_SECRET_KEY": secrets.token_hex(16),
            }  # fmt: skip
        self.running = Server(self.database, self.folder / "artifacts", "127.0.0.1", self.port, options, environment)
        self.running.wait_until_up()
        return self

    def stop(self, first: int = signal.SIGTERM) -> None:
        if self.running:
            self.running.stop(first)
        self.running = None

    def __enter__(self) -> TeamServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
