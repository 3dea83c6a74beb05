"""What can go wrong that is not the candidate's fault. What is wrong with a candidate is a verdict, never an exception."""
from __future__ import annotations

from typing import Optional


class SassayError(Exception):
    """The agent's words, its error ("UNAVAILABLE") and its exit status."""

    def __init__(self, message: str, error: str = "UNKNOWN", exit_status: int = 3, submission_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.error = error
        self.exit_status = exit_status
        self.submission_id = submission_id


class UsageError(SassayError):
    """Something must be changed before it can work (exit status 2): a name, a file, a token, a setting."""


class InfrastructureError(SassayError):
    """The machine's or the service's trouble, worth trying again (exit status 3)."""


class Cancelled(InfrastructureError):
    """It was cancelled before there was a verdict."""


def error_of(message: str, error: str, exit_status: int, submission_id: str = "") -> SassayError:
    """The exception for a failure as the agent tells it."""
    kind = Cancelled if error == "CANCELLED" else UsageError if exit_status == 2 else InfrastructureError
    return kind(message, error, exit_status, submission_id)


def agent_error(stderr: str, exit_status: Optional[int]) -> SassayError:
    """For an agent that ended before it answered."""
    said = [line for line in stderr.splitlines() if line.startswith("mini-ptx-agent: ")]
    said = [line for line in said if not line.startswith("mini-ptx-agent: warning: ")]
    message = said[-1][len("mini-ptx-agent: "):] if said else ""
    if not message:
        message = f"the agent ended with exit status {exit_status}. {stderr[-2000:]}".strip()
    return error_of(message, "UNKNOWN", exit_status if exit_status in (2, 3) else 3)
