"""The rules. Each module has an ``ID``, a ``TITLE``, a ``WHY`` and ``judge(facts)``."""

from __future__ import annotations

from types import ModuleType

from budget.rules import (
    continuity,
    cuda_compatibility,
    load_stability,
    representative_run,
    software_starts,
)

ALL: tuple[ModuleType, ...] = (
    software_starts,
    cuda_compatibility,
    representative_run,
    load_stability,
    continuity,
)
"""In the order in which a reader wants to know."""
