"""Measures a command on the host where it runs and writes a log that the product reads.

Measured code may import three functions from here. Outside `probe run` they do nothing, and
importing them loads no other module of the probe:

    from budget.probe import call, phase, result

    with phase("load"):
        model = load()
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, ContextManager, Optional

__all__ = ["PHASES", "call", "phase", "result"]

PHASES = ("prepare", "load", "run")


class _Unmeasured:
    """The phase of a program that is not run by the probe."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


_UNMEASURED = _Unmeasured()


def _measured() -> bool:
    return "COMPUTE_BUDGET_PROBE_ATTEMPT" in os.environ


def _api() -> Any:
    """The layer that writes; under the hook its copy, which knows what was watched."""
    package = "_compute_budget_probe" if "_compute_budget_probe" in sys.modules else __name__
    return importlib.import_module(package + ".api")


def phase(name: str) -> ContextManager[None]:
    """Measure a `with` block as the phase `prepare`, `load` or `run`.

    An exception passes through unchanged and is recorded. Another name is not recorded, which is
    said once on stderr.
    """
    if not _measured():
        return _UNMEASURED
    api = _api()
    if name not in PHASES:
        api.refuse_phase(name, PHASES)
        return _UNMEASURED
    phase: ContextManager[None] = api.Phase(name)
    return phase


def call(
    *,
    duration_s: float,
    input_tokens: Optional[int] = None,
    output_tokens: Optional[int] = None,
    batch_size: Optional[int] = None,
) -> None:
    """Record one generate call, batch or item: seconds, and the tokens really processed.

    Tokens are those of one sequence, `batch_size` the number of sequences.
    """
    if _measured():
        _api().record_call(duration_s, input_tokens, output_tokens, batch_size)


def result(
    name: str,
    value: Any,
    unit: Optional[str] = None,
    expected: Any = None,
    source: Optional[str] = None,
) -> None:
    """Record a result, and the value that the paper states for it with where it states it."""
    if _measured():
        _api().record_result(name, value, unit, expected, source)
