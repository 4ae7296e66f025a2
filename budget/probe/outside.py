"""The error record of a command whose end only the probe outside it saw."""

from __future__ import annotations

import re
from typing import Any, Dict, Optional

from . import signals
from .course import Course
from .secrets import clean

MESSAGE_CHARACTERS = 500

# As a shell reports a command that a signal ended.
SIGNALLED = 128


def not_started(program: str, problem: OSError) -> Dict[str, Any]:
    """Of a command that could not be started."""
    return _fields("not-started", "cannot start {}: {}".format(program, problem.strerror))


def ended(course: Course, timeout_s: Optional[float], oom_kills: int) -> Optional[Dict[str, Any]]:
    """Of a command that was ended; None if it ended by itself or was asked to.

    `oom_kills` is how many processes of the control group the system ended for want of memory
    meanwhile. A command that failed by itself says why on its own streams, and to the hook.
    """
    if course.timed_out:
        return _fields("timed-out", "the time limit of {:g} s passed".format(timeout_s or 0.0))
    by = course.signal
    if by is None and course.exit_code is not None and course.exit_code > SIGNALLED:
        by = course.exit_code - SIGNALLED
    if course.asked or course.outcome == "ok" or by is None:
        return None
    if oom_kills > 0 and signals.name(by) == "SIGKILL":
        return _fields("killed", "killed by the system's out-of-memory killer (SIGKILL)")
    if course.signal is None:
        return None
    return _fields("killed", "killed by {}".format(signals.name(by)))


def _fields(kind: str, message: str) -> Dict[str, Any]:
    from . import causes

    message = clean(message)[:MESSAGE_CHARACTERS]
    found = causes.find(message, kind)
    return {
        "layer": "parent",
        "kind": kind,
        "cause": found.cause_id if found else None,
        "line": found.line if found else None,
        "signature": "{}: {}".format(kind, re.sub(r"\d+(?:\.\d+)?", "#", message)),
        "message": message,
    }
