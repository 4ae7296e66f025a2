"""Writes what the parent layer knows of an attempt, or of a phase within one."""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence

from . import hello, history, ranks, session
from .log import Log, say
from .samples import Windows
from .secrets import clean, clean_argv


class Plan(NamedTuple):
    """What is run: the log folder, the block it serves, what is intended, and how it is watched.

    `phase` names the phase that the whole command is; `retry_of` the attempt that is tried again
    where the log alone would not say so.
    """

    folder: str
    block: Optional[str]
    role: str
    condition: Dict[str, Any]
    sample_interval_s: float
    expected: Optional[Dict[str, str]] = None
    timeout_s: Optional[float] = None
    repeat: Optional[Dict[str, int]] = None
    retry_of: Optional[str] = None
    phase: Optional[str] = None
    hook: bool = True
    redact: bool = False


class Recorder:
    """Writes records; a failure is said once, and a log that failed is not written again."""

    def __init__(self) -> None:
        self.log: Optional[Log] = None
        self.warned = False
        self.attempt: Optional[str] = None
        self.variables: Dict[str, str] = {}
        self.hello: Optional[str] = None
        self.beats = False

    def write(self, event: str, fields: Optional[Dict[str, Any]] = None) -> None:
        log = self.log
        lost = "the rest of this run is not recorded"
        if log is not None and not self.guard(lambda: log.write(event, fields), lost):
            self.log = None

    def write_windows(self, windows: Windows) -> None:
        """Write what was sampled since the last time."""
        for window in windows.close():
            self.write("sample", window)

    def guard(self, step: Callable[[], None], lost: str) -> bool:
        """Do a step of measuring. Whatever it raises, the command must not notice."""
        try:
            step()
        except Exception as problem:
            reason = getattr(problem, "strerror", None) or repr(problem)
            if not self.warned:
                say("{} ({}); the command runs all the same".format(lost, clean(str(reason))))
            self.warned = True
            return False
        return True

    def open_attempt(self, plan: Plan, command: Sequence[str]) -> None:
        """Begin an attempt, in a session that is opened if none is."""
        self.guard(lambda: self._open_attempt(plan, command), "this run is not measured")

    def open_phase(self) -> None:
        """Write into the attempt around this process."""
        self.guard(self._open_phase, "this phase is not measured")

    def hook(self, command: Sequence[str]) -> hello.Answer:
        """Whether the command's processes loaded the hook; to be asked once, at the end."""
        if self.hello is None:
            return hello.Answer(hello.NOT_LOADED, hello.SWITCHED_OFF)
        answer = hello.answer(self.hello, command)
        hello.remove(self.hello)
        return answer

    def _open_attempt(self, plan: Plan, command: Sequence[str]) -> None:
        from .code_version import code_version
        from .variables import variables

        opened = session.open_session(plan.folder, redact=plan.redact)
        if opened.recovered:
            say("the session file was damaged; going on with session {}".format(opened.id))
        attempt = _identifier(opened)
        wait = history.open_wait(plan.folder, opened.id)
        past = history.attempts(plan.folder, opened.id, opened.start["boot"])
        log = opened.log()
        if wait is not None:
            log.write("wait.end", {"reason": wait})
        log.attempt = attempt
        log.write(
            "attempt.start",
            {
                "block": plan.block,
                "role": plan.role,
                "argv": clean_argv(command),
                "code": code_version(),
                "condition": plan.condition,
                "expected": plan.expected,
                "variables": variables(),
                "repeat": plan.repeat,
                "retry_of": plan.retry_of or history.retry_of(plan.block, attempt, past),
            },
        )
        self.log, self.attempt, self.beats = log, attempt, True
        self.variables = {
            session.FOLDER_VARIABLE: os.path.abspath(plan.folder),
            session.SESSION_VARIABLE: opened.id,
            session.ATTEMPT_VARIABLE: attempt,
        }
        if opened.start.get("redacted"):
            self.variables[session.REDACT_VARIABLE] = "1"
        if plan.hook:
            self._invite(opened)
        else:
            self.variables.update(hello.without_hook(dict(os.environ)))

    def _open_phase(self) -> None:
        self.log = session.of_attempt("parent")
        # the processes below go on belonging to the attempt around this one
        names = [name for name in session.VARIABLES if name in os.environ]
        self.variables = {name: os.environ[name] for name in names}

    def _invite(self, opened: session.Session) -> None:
        name = "{}-{}-{}{}".format(opened.id, os.getpid(), time.time_ns(), hello.SUFFIX)
        path = os.path.join(os.path.abspath(opened.folder), name)
        with open(path, "x", encoding="utf-8"):
            self.hello = path
        self.variables.update(hello.variables(path, dict(os.environ)))


def _identifier(opened: session.Session) -> str:
    """A new attempt's id: of its own, or the one that the tasks of its `srun` step share."""
    number = 1
    shared = ranks.shared_attempt(number)
    if shared is None:
        return os.urandom(6).hex()
    begun = history.begun(opened.folder, opened.id, ranks.rank_and_node().rank)
    while shared in begun:
        number += 1
        shared = ranks.shared_attempt(number)
    return str(shared)
