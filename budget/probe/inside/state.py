"""What this process has told the log so far, and the one way to tell it more."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from ..log import Log, encode, plain, say
from ..session import HELLO_VARIABLE, of_attempt


class Unwritable(Exception):
    """The file of this process cannot be opened or written."""


class State:
    """Of this process; a forked child begins its own."""

    def __init__(self) -> None:
        # a signal handler of the program may write while a record is being written
        self.lock = threading.RLock()
        self.log: Optional[Log] = None
        self.failed = False
        self.said: Set[str] = set()
        self.phases: List[str] = []
        self.uses_api = False
        self.writer = 0
        self.environment_written = False
        self.error_written: Optional[Tuple[int, str]] = None
        self.forked: List[Callable[[], None]] = []

    def after_fork(self) -> None:
        # another thread of the parent may have held it
        self.lock = threading.RLock()
        self.environment_written = False
        for step in self.forked:
            step()


state = State()
os.register_at_fork(after_in_child=state.after_fork)


def guard(step: Callable[[], None]) -> None:
    """Do a step of measuring.

    A record that cannot be made is lost alone; a file that cannot be written loses all further
    ones. Each is said once.
    """
    if state.failed:
        return
    try:
        step()
    except Unwritable as problem:
        state.failed = True
        say("the measured program's own records are lost from here on ({})".format(problem))
    except Exception as problem:
        say_once(
            "a record of the measured program cannot be written and is left out ({})".format(
                type(problem).__name__
            )
        )


def say_once(text: str) -> None:
    """One line on stderr, the first time."""
    if text not in state.said:
        state.said.add(text)
        say(text)


def write(event: str, fields: Dict[str, Any], layer: str) -> None:
    """Write one record; `layer` is the file's if this is its first. Raises Unwritable."""
    # a value that cannot be encoded shows here, before the file is touched
    fields = plain(fields)
    encode(fields)
    with state.lock:
        try:
            if state.log is None:
                state.log = of_attempt(layer)
            state.log.write(event, fields)
        except Exception as problem:
            reason = getattr(problem, "strerror", None) or type(problem).__name__
            raise Unwritable(reason) from None
        if state.writer != os.getpid():
            state.writer = os.getpid()
            _say_recorded()


def is_probe() -> bool:
    """Whether this process is a probe within a probe's attempt, and no program to be watched."""
    return "budget.probe.cli" in sys.modules


def wrote() -> bool:
    """Whether this very process has written a record."""
    return state.writer == os.getpid()


def _say_recorded() -> None:
    # without creating the file: the probe that asked may have ended
    try:
        descriptor = os.open(os.environ[HELLO_VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            os.write(descriptor, "{} recorded\n".format(os.getpid()).encode())
        finally:
            os.close(descriptor)
    except (OSError, KeyError):
        return
