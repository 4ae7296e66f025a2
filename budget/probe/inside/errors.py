"""What is written of an exception."""

from __future__ import annotations

import re
from typing import Any, Dict, Optional

from ..secrets import clean
from .state import guard, state, write

MESSAGE_CHARACTERS = 500
SIGNATURE_CHARACTERS = 160

# A program that tries again and again fails equally; its first failures say it all.
EQUAL_ERRORS = 20

_counts: Dict[str, int] = {}


def is_good(exception: Optional[BaseException]) -> bool:
    """Whether what an exception ends has ended well."""
    if isinstance(exception, SystemExit):
        return exception.code in (None, 0)
    return exception is None or isinstance(exception, GeneratorExit)


def is_error(exception: Optional[BaseException]) -> bool:
    """Whether it is worth an `error` record: a person's interrupt is none."""
    return not is_good(exception) and not isinstance(exception, KeyboardInterrupt)


def record(exception: Optional[BaseException], phase: Optional[str], layer: str) -> None:
    """Write an exception once, though it leaves one watched call or phase after another."""
    if exception is not None and is_error(exception):
        failure = exception
        guard(lambda: _record(failure, phase, layer))


def begin() -> None:
    """From here on an exception that looks like the last one is another one."""
    state.error_written = None


def _record(exception: BaseException, phase: Optional[str], layer: str) -> None:
    fields = describe(exception)
    # keeping the exception itself to compare would keep the program's memory alive
    mark = (id(exception), fields["signature"])
    if state.error_written == mark:
        return
    state.error_written = mark
    count = _counts[fields["signature"]] = _counts.get(fields["signature"], 0) + 1
    if layer == "hook" and count > EQUAL_ERRORS:
        return
    place = {} if phase is None else {"phase": phase}
    write("error", {**place, "layer": layer, **fields}, layer)


def describe(exception: BaseException) -> Dict[str, Any]:
    """The fields of an `error` record that the exception itself decides."""
    from .. import causes

    kind = type(exception).__name__
    try:
        # an exception may carry a whole page; what is kept is only its beginning
        text = str(exception)[: 10 * MESSAGE_CHARACTERS]
    except Exception:
        text = ""
    found = causes.find(text, kind)
    message = clean(text)
    # the same failure has the same signature, whatever sizes and addresses it names
    first = re.sub(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?", "#", message.split("\n")[0])
    return {
        "kind": kind,
        "cause": found.cause_id if found else None,
        "line": clean(found.line)[:MESSAGE_CHARACTERS] if found and found.line else None,
        "signature": "{}: {}".format(kind, first)[:SIGNATURE_CHARACTERS],
        "message": message[:MESSAGE_CHARACTERS],
    }
