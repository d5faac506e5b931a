"""`notify` of a sweep's YAML: whom to tell, of what."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_serializer, field_validator

from trainables.recipe import Frozen

ENVIRONMENT = "env:"
HIDDEN = "***"


class Notify(Frozen):
    """Only `env:NAME` is written into the ledger as it is; of a URL, which may be a secret, its host."""

    webhook: str | None = Field(
        None, repr=False, description="https URL that JSON is posted to, or env:NAME for the environment variable that holds it"
    )
    on: tuple[Literal["started", "finished", "interrupted", "failed", "trial-failed"], ...] = Field(
        ("finished", "interrupted", "failed"), description="what is told"
    )

    @field_validator("webhook")
    @classmethod
    def _reachable(cls, webhook: str | None) -> str | None:
        """Without the URL in the message, which may be a secret."""
        if webhook is not None and not webhook.removeprefix(ENVIRONMENT):
            raise ValueError("env: needs the name of an environment variable, as in env:STOCKPOT_WEBHOOK")
        if webhook is not None and not webhook.startswith((ENVIRONMENT, "https://", "http://")):
            raise ValueError("a webhook is an http(s) URL, or env:NAME for the environment variable that holds one")
        if webhook is not None and not webhook.startswith(ENVIRONMENT) and not _names_a_host(webhook):
            raise ValueError("a webhook's URL names a host, as in https://HOST/PATH, and holds no white space")
        return webhook

    @field_serializer("webhook")
    def _masked(self, webhook: str | None) -> str | None:
        if webhook is None or webhook.startswith(ENVIRONMENT):
            return webhook
        parts = urlsplit(webhook)
        return f"{parts.scheme}://{parts.hostname}/{HIDDEN}"


def _names_a_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0 and not any(sign.isspace() for sign in url)
    except ValueError:  # a port that is none
        return False
