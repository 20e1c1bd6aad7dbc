"""What goes wrong with a request, as ``application/problem+json`` (RFC 9457) with the field."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

from spacevrp.problems.errors import ProblemError, SpacevrpError

MEDIA_TYPE = "application/problem+json"
# Readers call the request by this name; callers know which one they sent.
REQUEST = "request"
_NAME = re.compile(rf"^(start|plan)?(: )?{REQUEST}(\.\w+)?(: |, )")
_EXPECTED = re.compile(
    r"^(?P<field>[^:]{1,120}): expected (?P<expected>.*), received (?P<received>.*)$"
)


class Fault(Exception):
    """A request that is not answered as it wishes.

    Parameters
    ----------
    status
        Of HTTP.
    detail
        What was expected and what was received, in one line.
    about
        More members of the document: ``field``, ``expected``, ``received``, ``node``.
    headers
        Of the answer.
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        headers: dict[str, str] | None = None,
        **about: Any,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}
        self.about = {key: value for key, value in about.items() if value is not None}

    def document(self) -> dict[str, Any]:
        """The body of the answer."""
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            **self.about,
        }


def as_fault(error: SpacevrpError, field: str | None = None, status: int = 422) -> Fault:
    """What an error of the package is to a caller; ``field`` is where it was found, if known."""
    message = _NAME.sub("", " ".join(str(error).split()))
    about: dict[str, Any] = {"field": field}
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ProblemError):
        cause = cause.__cause__
    if isinstance(cause, ProblemError):
        about = {name: getattr(cause, name) for name in ("field", "node", "expected", "received")}
    elif found := _EXPECTED.match(message):
        about = found.groupdict() | ({} if field is None else {"field": field})
    elif field is None and ":" in message and not message.startswith("expected "):
        about["field"] = message.partition(":")[0][:120]
    return Fault(status, message, **about)


def unexpected(field: str, expected: str, received: str, status: int = 422) -> Fault:
    """A field holds something else than it should."""
    text = f"{field}: expected {expected}, received {received}"
    return Fault(status, text, field=field, expected=expected, received=received)


def missing(what: str) -> Fault:
    """Nothing of this name is there."""
    return Fault(404, f"{what}: not found")
