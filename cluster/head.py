"""A Ray cluster as it is seen from outside: its job server, and the errors of reaching it in words."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpora.errors import InputError, Problem, StockpotError

if TYPE_CHECKING:
    from ray.job_submission import JobDetails, JobSubmissionClient

ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
WAIT = 0.5  # seconds between looks at a job
AGAIN = 5.0  # seconds until a lost connection is tried again
TOKEN_CURE = (
    "put the cluster's token into RAY_AUTH_TOKEN, or a file of it into RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token "
    "(the cluster's own: `ray get-auth-token` on its head)"
)


@dataclass(frozen=True)
class Head:
    """Its job server. Made by `reach`."""

    address: str
    client: JobSubmissionClient

    @property
    def ray(self) -> str:
        """Version of Ray over there."""
        return self.client._server_ray_version or "unknown"

    def job(self, name: str) -> JobDetails:
        try:
            return self.client.get_job_info(name)
        except RuntimeError as error:
            if "404" in str(error) or "does not exist" in str(error):
                cure = f"`stockpot cluster jobs --address {self.address}` lists them"
                raise InputError(Problem(name, f"{self.address} knows no such job: {cure}")) from None
            raise StockpotError(f"{self.address}: {_first_line(error)}") from None

    def wait(self, name: str, seconds: float) -> JobDetails:
        """Until the job has ended; raises StockpotError with what Ray says of it when the time is over."""
        end = time.monotonic() + seconds
        while (job := self.job(name)).status not in ENDED:
            if time.monotonic() > end:
                raise StockpotError(f"{self.address}: job {name} is {job.status} after {seconds:.0f} s: {job.message}")
            time.sleep(WAIT)
        return job

    def follow(self, name: str, show: Callable[[str], None]) -> JobDetails:
        """Shows the job's output from its beginning until it ends; a connection that breaks is made again, however long it takes."""
        shown = 0
        while True:
            shown = asyncio.run(self._tail(name, shown, show))
            try:
                if (job := self.job(name)).status in ENDED:
                    if rest := self.client.get_job_logs(name)[shown:]:
                        show(rest)
                    return job
            except OSError:
                time.sleep(AGAIN)  # no network: a laptop that wakes up
            time.sleep(WAIT)

    async def _tail(self, name: str, shown: int, show: Callable[[str], None]) -> int:
        """Returns the characters shown so far; the server begins anew each time, and what was shown is passed over."""
        from aiohttp import ClientError

        passed = 0
        try:
            async for text in self.client.tail_job_logs(name):
                new = text[max(0, shown - passed):]
                passed += len(text)
                if new:
                    show(new)
                    shown = max(shown, passed)
        except (RuntimeError, OSError, ClientError, asyncio.TimeoutError):
            pass  # `follow` asks whether the job has ended
        return shown


def reach(address: str) -> Head:
    """Raises an error that says what is wrong: no cluster there, no token, a wrong one."""
    os.environ["RAY_AUTH_MODE"] = "token"  # before Ray is imported: it reads its settings once
    for name in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS"):
        os.environ.pop(name, None)  # Ray prefers them to what it is told
    if not address.startswith(("http://", "https://")):
        raise InputError(Problem("--address", f"begins with http:// or https://, such as http://127.0.0.1:8265; found {address!r}"))
    if "@" in address:
        raise InputError(Problem("--address", f"holds credentials: leave them out, and {TOKEN_CURE}"))
    from ray.exceptions import AuthenticationError
    from ray.job_submission import JobSubmissionClient

    for name in ("dashboard_sdk", "job.sdk"):
        logging.getLogger(f"ray.dashboard.modules.{name}").setLevel(logging.ERROR)
    try:
        return Head(address, JobSubmissionClient(address))
    except AuthenticationError as error:
        reason = "refuses the token" if "invalid" in str(error).lower() else "asks for a token"
        raise InputError(Problem("--address", f"{address} {reason}: {TOKEN_CURE}")) from None
    except ConnectionError:
        cure = "is it up, is the tunnel open? (docs/cluster.md)"
        raise InputError(Problem("--address", f"no Ray cluster answers at {address}: {cure}")) from None
    except Exception as error:  # Ray and its HTTP client raise plain ones
        raise StockpotError(f"{address}: {_first_line(error)}") from None


def asks_for_token(address: str) -> bool:
    """Whether a stranger is refused."""
    import requests

    return requests.get(f"{address}/api/version", timeout=30).status_code in (401, 403)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
