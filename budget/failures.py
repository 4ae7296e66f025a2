"""What an error in a log means, where its text says so."""

from __future__ import annotations

from budget.attempts import Attempt, Failure

OUT_OF_MEMORY: tuple[str, ...] = (
    "out of memory",
    "outofmemoryerror",
    "can't allocate memory",
    "cannot allocate memory",
    "memoryerror",
)
"""Signs of memory that did not suffice, in PyTorch's, CUDA's and Python's own words."""

NO_KERNEL: tuple[str, ...] = (
    "no kernel image is available",
    "cuda error: invalid device function",
    "forward compatibility was attempted on non supported hw",
    "the nvidia driver on your system is too old",
)
"""Signs that the software was not built for this device or driver (facts: CUDA's own messages)."""


def shows(attempt: Attempt, signs: tuple[str, ...]) -> bool:
    """Return whether an error that the attempt quotes holds one of ``signs``."""
    return any(says(failure, signs) for failure in attempt.failures)


def says(failure: Failure, signs: tuple[str, ...]) -> bool:
    """Return whether an error holds one of ``signs``."""
    text = f"{failure.kind} {failure.signature or ''} {failure.text or ''}".lower()
    return any(sign in text for sign in signs)
