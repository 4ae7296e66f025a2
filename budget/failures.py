"""What an error in a log means: its cause in the probe's table, from the log or from its text."""

from __future__ import annotations

from budget.attempts import Attempt, Failure
from budget.probe import causes

OUT_OF_MEMORY: tuple[str, ...] = (
    "gpu-out-of-memory",
    "host-out-of-memory",
    "host-memory-killer",
)
"""Causes that say that memory did not suffice."""

NO_KERNEL: tuple[str, ...] = (
    "architecture-missing",
    "kernel-image-missing",
    "forward-compatibility",
    "driver-too-old",
    "ptx-too-new",
)
"""Causes that say that the software was not built for this device or driver."""


def cause_of(failure: Failure) -> causes.Cause | None:
    """Return the cause of an error; of a log without one, what its text says. None: none fits."""
    if failure.cause is not None:
        known = causes.by_id(failure.cause)
        if known is not None:
            return known
    text = "\n".join(part for part in (failure.text, failure.signature) if part)
    found = causes.find(text, failure.kind)
    return causes.by_id(found.cause_id) if found else None


def line_of(failure: Failure) -> str | None:
    """Return the line of an error that decides its cause, None where no cause fits."""
    if failure.line is not None or failure.cause is not None:
        return failure.line
    found = causes.find(failure.text or failure.signature or "", failure.kind)
    return found.line if found else None


def shows(attempt: Attempt, ids: tuple[str, ...]) -> bool:
    """Return whether an error that the attempt quotes has one of the causes ``ids``."""
    return any(says(failure, ids) for failure in attempt.failures)


def says(failure: Failure, ids: tuple[str, ...]) -> bool:
    """Return whether an error has one of the causes ``ids``."""
    found = cause_of(failure)
    return found is not None and found.id in ids
