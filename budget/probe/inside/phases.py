"""The phases that the program states itself, and what it records beside them."""

from __future__ import annotations

import time
from typing import Any, Dict, Optional, Tuple

from ..secrets import clean
from . import counters, environment, errors
from .state import guard, say_once, state, write

NAME_CHARACTERS = 160


class Phase:
    """A measured part of the attempt; use it in a `with` statement."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._began = 0.0
        self._stretch: Optional[counters.Stretch] = None

    def __enter__(self) -> None:
        _take_over()
        guard(self._start)
        state.phases.append(self.name)
        self._began = time.monotonic()

    def __exit__(self, kind: Any, exception: Any, trace: Any) -> None:
        duration_s = time.monotonic() - self._began
        try:
            errors.record(exception, self.name, "api")
            guard(lambda: self._end(duration_s, errors.is_good(exception)))
        finally:
            if self._stretch is not None:
                self._stretch.close()
            for place in range(len(state.phases) - 1, -1, -1):
                if state.phases[place] == self.name:
                    del state.phases[place]
                    break

    def _start(self) -> None:
        errors.begin()
        write("phase.start", {"phase": self.name, "layer": "api"}, "api")
        self._stretch = counters.Stretch()

    def _end(self, duration_s: float, good: bool) -> None:
        stretch = self._stretch or counters.Stretch(counters.NOTHING_READ)
        stretch.note()
        stretch.close()
        fields = {
            "phase": self.name,
            "layer": "api",
            "duration_s": round(duration_s, 6),
            "outcome": "ok" if good else "failed",
            "memory": stretch.entries("api"),
        }
        write("phase.end", fields, "api")
        environment.record("api")


def record_call(
    duration_s: float,
    input_tokens: Optional[int],
    output_tokens: Optional[int],
    batch_size: Optional[int],
) -> None:
    """Write one `call`: seconds and sizes."""
    _take_over()
    fields = {
        "duration_s": duration_s,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "batch_size": batch_size,
        "read_by": "api",
    }
    guard(lambda: write("call", {**_phase(), **fields}, "api"))


def record_result(
    name: str, value: Any, unit: Optional[str], expected: Any, source: Optional[str]
) -> None:
    """Write one `result`."""
    texts = {"name": name, "unit": unit, "source": source}

    def record() -> None:
        fields: Dict[str, Any] = {
            key: None if text is None else clean(str(text)) for key, text in texts.items()
        }
        fields["value"] = clean(value) if isinstance(value, str) else value
        fields["expected"] = clean(expected) if isinstance(expected, str) else expected
        write("result", {**_phase(), **fields}, "api")

    guard(record)


def refuse_phase(name: Any, known: Tuple[str, ...]) -> None:
    """Say that a phase of another name is not recorded; a loop over one says it once."""
    guard(
        lambda: say_once(
            "phase {} is not one of {}: not recorded".format(
                " ".join(str(name).split())[:NAME_CHARACTERS], ", ".join(known)
            )
        )
    )


def _phase() -> Dict[str, str]:
    return {"phase": state.phases[-1]} if state.phases else {}


def _take_over() -> None:
    """What the program states itself, the hook leaves to it."""
    if not state.uses_api:
        from . import automatic

        automatic.leave_to_api()
