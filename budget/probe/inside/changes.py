"""Parameters that differ between two calls of one kind of model: the `change` records."""

from __future__ import annotations

from typing import Any, Dict

from ..secrets import clean
from .state import state, write

CHANGES = 20
TEXT_CHARACTERS = 200

# The last batch of a data set is often smaller: this counts when it stays, or follows a failure.
WAVERING = "batch_size"


class Seen:
    """What the calls of this process had for parameters so far."""

    def __init__(self) -> None:
        self.parameters: Dict[str, Dict[str, Any]] = {}
        self.wavering: Dict[str, Any] = {}
        self.failure = ""
        self.written = 0


_seen = Seen()


def _after_fork() -> None:
    global _seen
    _seen = Seen()


state.forked.append(_after_fork)


def failed(kind: str) -> None:
    """A call was left by an exception of this class."""
    _seen.failure = kind


def compare(model: str, found: Dict[str, Any]) -> None:
    """Write what the next call of a kind of model has for other parameters than its last."""
    with state.lock:
        failure, _seen.failure = _seen.failure, ""
        before = _seen.parameters.get(model)
        _seen.parameters[model] = found
        if before is None:
            return
        usual, now = before.get(WAVERING), found.get(WAVERING)
        if now == usual:
            _seen.wavering.pop(model, None)
        elif not failure and _seen.wavering.get(model) != now:
            # to be seen: for now it is as before
            _seen.wavering[model] = now
            found = _seen.parameters[model] = {**found, WAVERING: usual}
        for what in sorted(set(before) | set(found)):
            if before.get(what) != found.get(what) and _seen.written < CHANGES:
                _seen.written += 1
                _write(what, before.get(what), found.get(what), failure)


def _write(what: str, before: Any, after: Any, failure: str) -> None:
    fields = {
        "layer": "hook",
        "kind": "parameter",
        "what": what,
        "from": _text(before),
        "to": _text(after),
        "reason": "after {}".format(failure) if failure else "seen between two calls",
    }
    write("change", fields, "hook")


def _text(value: Any) -> str:
    return "default" if value is None else clean(str(value))[:TEXT_CHARACTERS]
