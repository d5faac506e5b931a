"""Opening an MLflow store quietly: no log walls, no telemetry, short timeouts, no secret in an error.

The local default is an SQLite file with an artifact folder beside it; a tracking server or any other URI works alike.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from corpora.errors import InputError, Problem, StockpotError
from sweeps.mlflow_database import create_database

if TYPE_CHECKING:
    from mlflow import MlflowClient

# A retried POST can open a second run when only the answer was lost, so the HTTP layer never retries on its own:
# the projector does, after looking up what arrived. The user's own settings win.
SETTINGS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",  # seconds: a dead server must not hold the driver's end
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
}
FORCED = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "MLFLOW_TRUNCATE_LONG_VALUES": "false"}
SECRETS = ("MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_TOKEN", "PGPASSWORD")
SCHEMES = ("http", "https", "sqlite", "postgresql", "mysql", "mssql")
LOGIN = ("UNAUTHENTICATED", "CUSTOMER_UNAUTHORIZED", "PERMISSION_DENIED")
"""MLflow's codes of the answers 401 and 403."""

_SECRET_QUERY = re.compile(r"(?<=password=)[^&\s]+|(?<=token=)[^&\s]+", re.IGNORECASE)
_CREDENTIALS = re.compile(rf"(?<=://)[^/\s]*@|{_SECRET_QUERY.pattern}", re.IGNORECASE)


def default_uri(folder: Path) -> str:
    """The store of a sweep that names none: `mlflow.db` in its folder."""
    return f"sqlite:///{Path(folder).resolve() / 'mlflow.db'}"


def masked(text: object, uri: str = "") -> str:
    """`text` without the credentials of `uri`, of any other URI in it, and of MLflow's environment variables."""
    shown = _CREDENTIALS.sub(lambda found: "***@" if found[0].endswith("@") else "***", str(text))
    password = urlsplit(uri).password or ""
    secrets = {password, unquote(password), *(os.environ.get(name, "") for name in SECRETS)}
    # A shorter "secret" would riddle every message with stars and protect nothing.
    for secret in sorted((secret for secret in secrets if len(secret) >= 4), key=len, reverse=True):
        shown = shown.replace(secret, "***")
    return shown


def credentials_problem(uri: str) -> str:
    """Why `uri` may not be used, if it holds a password or a token: a sweep's ledger names its URI."""
    if urlsplit(uri).password is None and not _SECRET_QUERY.search(uri):
        return ""
    own = "PGUSER and PGPASSWORD, or ~/.pgpass" if uri.startswith("postgresql") else "MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD"
    return f"{masked(uri)} holds a password, which the ledger would show: leave it out, and set {own}, in the environment"


def uri_problem(uri: str | None) -> str | None:
    """Why no tracking store can be at `uri`; None where one can, or where none is named.

    MLflow's own file store raises since 3.13, so a path is refused before anything starts.
    """
    if uri is None:
        return None
    scheme, _, place = uri.partition(":")
    if scheme.partition("+")[0] not in SCHEMES:
        return f"a tracking URI begins with one of {', '.join(SCHEMES)}; a folder is none; found {masked(uri)!r}"
    if scheme in ("http", "https") and not urlsplit(uri).hostname:
        return f"{masked(uri)!r} names no host"
    if scheme == "sqlite" and not place.removeprefix("///"):
        return f"{masked(uri)!r} names no file: sqlite:///FOLDER/NAME.db, or sqlite:////FOLDER/NAME.db from the root"
    return credentials_problem(uri)


def check_server(uri: str | None) -> None:
    """Asks a tracking server whether it lets us in: InputError where it does not, StockpotError where it does not answer."""
    if not (uri or "").startswith(("http://", "https://")):
        return
    client = open_client(uri)
    from mlflow.exceptions import MlflowException

    try:
        client.search_experiments(max_results=1)
    except MlflowException as error:
        told = f"the tracking server {masked(uri)} {words(error, uri)}"
        raise InputError(Problem("mlflow.uri", told)) if error.error_code in LOGIN else StockpotError(told) from None


def check_login(uri: str | None, say: Callable[[str], None]) -> None:
    """A refused login is an error before a sweep starts; a server that does not answer costs a later `stockpot sync` only."""
    try:
        check_server(uri)
    except InputError:
        raise
    except StockpotError as error:
        say(f"{error}; the sweep goes on without, and `stockpot sync` sends it later")


def words(error: Exception, uri: str) -> str:
    """What a store did instead of what it was asked, on one line and without secrets."""
    if getattr(error, "error_code", "") in LOGIN:
        user = os.environ.get("MLFLOW_TRACKING_USERNAME")
        told = f"refuses the user {user!r} or its password" if user else "asks for a user and a password"
        return f"{told}: set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD (or MLFLOW_TRACKING_TOKEN) in the environment"
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if caused := re.search(r"\(Caused by \w+\([\"'](.*)[\"']\)\)", line):  # requests' words for what a socket said
        line = f"does not answer: {re.sub(r'.Errno -?[0-9]+. ', '', caused[1].rpartition(': ')[2])}"
    elif answered := re.search(r"failed with error code ([0-9]+)", line):  # not MLflow's own, whose answers have words
        line = f"answers {answered[1]}"
    return masked(line, uri)[:500]


def configure() -> None:
    """Sets MLflow's environment before it is imported; a child process (`mlflow server`) inherits it."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    os.environ.update(FORCED)
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.ERROR)


def open_client(uri: str) -> MlflowClient:
    """A client of `uri`; a missing SQLite file is created first."""
    configure()
    from mlflow import MlflowClient

    # Importing MLflow configures its loggers once more.
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    if (file := sqlite_file(uri)) and not file.exists():
        create_database(file)
    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def experiment_id(client: MlflowClient, uri: str, name: str, folder: Path) -> str:
    """The id of the experiment `name`, made or brought back when missing.

    A database has no server to say where artifacts go: beside the SQLite file, else in the sweep's folder.
    """
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        file = sqlite_file(uri)
        beside = (file.parent if file else Path(folder).resolve()) / "mlartifacts"
        try:
            return client.create_experiment(name, None if uri.startswith("http") else beside.as_uri())
        except MlflowException:
            found = client.get_experiment_by_name(name)  # another driver was faster
            if found is None:
                raise
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return found.experiment_id


def sqlite_file(uri: str) -> Path | None:
    """The database file of an SQLite URI, else None."""
    return Path(uri.removeprefix("sqlite:///")).resolve() if uri.startswith("sqlite:///") else None
