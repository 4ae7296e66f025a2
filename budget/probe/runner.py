"""Runs a command and measures it from outside: the parent layer."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import uuid
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set

from . import history, memory, signals
from .code_version import code_version
from .log import Log, say
from .secrets import clean, clean_argv
from .session import ATTEMPT_VARIABLE, FOLDER_VARIABLE, SESSION_VARIABLE, open_session

HEARTBEAT_S = 5.0
WINDOW_S = 10.0

# Loading changes memory fastest, so the beginning is sampled more often.
DENSE_S = 5.0
DENSE_INTERVAL_S = 0.2

# A command that was asked to stop and then ended within this time was cut short, whatever exit
# code it chose: launchers give their workers 30 s before they kill them.
STOP_GRACE_S = 60.0
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)

NOT_FOUND = 127
NOT_EXECUTABLE = 126


class Plan(NamedTuple):
    """What is run: the log folder, the block it serves, the intended condition."""

    folder: str
    block: str
    role: str
    condition: Dict[str, Any]
    sample_interval_s: float


class Ending(NamedTuple):
    """How the command ended: an exit code, or the number of a signal."""

    exit_code: Optional[int]
    signal: Optional[int] = None


class Samples:
    """Resident memory of the process tree: the current window and the whole attempt."""

    def __init__(self) -> None:
        self.count = 0
        self.peak_bytes: Optional[int] = None
        self.window: List[int] = []
        self.window_began = time.monotonic()

    def add(self, size_bytes: Optional[int]) -> None:
        if size_bytes is None:
            return
        self.count += 1
        self.peak_bytes = max(size_bytes, self.peak_bytes or 0)
        self.window.append(size_bytes)

    def close_window(self) -> Optional[Dict[str, Any]]:
        """The window's record, None if nothing was read in it; a new window begins."""
        sizes, began = self.window, self.window_began
        self.window, self.window_began = [], time.monotonic()
        if not sizes:
            return None
        return {
            "window_s": round(self.window_began - began, 6),
            "device": "host",
            "resident_bytes": {
                "min": min(sizes),
                "mean": sum(sizes) // len(sizes),
                "max": max(sizes),
                "count": len(sizes),
            },
        }


class Recorder:
    """Writes one attempt; a failure is said once, and a log that failed is not written again."""

    def __init__(self, plan: Plan, command: Sequence[str]) -> None:
        self.log: Optional[Log] = None
        self.warned = False
        self.variables: Dict[str, str] = {}
        self.guard(lambda: self._open(plan, command), "this run is not measured")

    def write(self, event: str, fields: Optional[Dict[str, Any]] = None) -> None:
        log = self.log
        lost = "the rest of this run is not recorded"
        if log is not None and not self.guard(lambda: log.write(event, fields), lost):
            self.log = None

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

    def _open(self, plan: Plan, command: Sequence[str]) -> None:
        session = open_session(plan.folder)
        if session.recovered:
            say("the session file was damaged; going on with session {}".format(session.id))
        attempt = uuid.uuid4().hex[:12]
        wait = history.open_wait(plan.folder, session.id)
        past = history.attempts(plan.folder, session.id, session.start["boot"])
        log = session.log()
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
                "retry_of": history.retry_of(plan.block, past),
            },
        )
        self.log = log
        self.variables = {
            FOLDER_VARIABLE: os.path.abspath(plan.folder),
            SESSION_VARIABLE: session.id,
            ATTEMPT_VARIABLE: attempt,
        }


def run(plan: Plan, command: Sequence[str]) -> Ending:
    """Run a command with its streams, terminal and signals untouched, and log the attempt.

    A probe that fails says so in one line on stderr and the command runs all the same. A command
    that cannot be started ends as in a shell, with 127 or 126. Needs the main thread.
    """
    recorder = Recorder(plan, command)
    with signals.held() as inbox:
        began = time.monotonic()
        try:
            child = _start(command, recorder.variables, inbox)
        except OSError as problem:
            say("cannot start {}: {}".format(clean(command[0]), problem.strerror))
            missing = isinstance(problem, (FileNotFoundError, NotADirectoryError))
            ending = Ending(NOT_FOUND if missing else NOT_EXECUTABLE)
            _write_end(recorder, "failed", ending, time.monotonic() - began, Samples(), None, [])
            return ending
        return _attend(child, plan, recorder, inbox, began)


def _start(
    command: Sequence[str], variables: Dict[str, str], inbox: signals.Inbox
) -> "subprocess.Popen[bytes]":
    ours = (FOLDER_VARIABLE, SESSION_VARIABLE, ATTEMPT_VARIABLE)
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    return subprocess.Popen(
        list(command),
        env={**inherited, **variables},
        close_fds=False,
        preexec_fn=inbox.prepare_child,
    )


def _attend(
    child: "subprocess.Popen[bytes]",
    plan: Plan,
    recorder: Recorder,
    inbox: signals.Inbox,
    began: float,
) -> Ending:
    """Sample, beat and forward signals until the command ends; then write the end."""
    samples = Samples()
    # of this program alone: the system's own count would still hold its launcher's size
    own_peak_bytes = memory.own().peak_bytes or memory.own_maxrss_bytes()
    received: List[int] = []
    forwarded: Set[int] = set()
    asked_to_stop = None
    next_beat = next_sample = began
    while True:
        now = time.monotonic()
        if now >= next_beat:
            recorder.write("heartbeat")
            next_beat = now + HEARTBEAT_S
        if now >= next_sample:
            recorder.guard(lambda: samples.add(memory.tree(child.pid)), "memory is not measured")
            dense = now - began < DENSE_S
            interval_s = plan.sample_interval_s
            next_sample = now + (min(interval_s, DENSE_INTERVAL_S) if dense else interval_s)
        if now - samples.window_began >= WINDOW_S:
            _write_window(recorder, samples)
        got = inbox.next(min(next_beat, next_sample) - time.monotonic())
        if got is not None:
            received.append(got.number)
            if got.number in STOPPING:
                asked_to_stop = time.monotonic()
            if not got.from_terminal:
                forwarded.add(got.number)
                _forward(child.pid, got.number)
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
    ended = time.monotonic()
    ending = _ending(status)
    child.returncode = -ending.signal if ending.signal else ending.exit_code
    stopped = asked_to_stop is not None and ended - asked_to_stop < STOP_GRACE_S
    outcome = _outcome(ending, forwarded, stopped)
    _write_window(recorder, samples)
    peak_bytes = _peak_bytes(samples, usage.ru_maxrss * memory.MAXRSS_BYTES, own_peak_bytes)
    _write_end(recorder, outcome, ending, ended - began, samples, peak_bytes, received)
    return ending


def _forward(pid: int, number: int) -> None:
    # it may have ended a moment ago, or run as another user
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _ending(status: int) -> Ending:
    if os.WIFSIGNALED(status):
        return Ending(None, os.WTERMSIG(status))
    return Ending(os.WEXITSTATUS(status))


def _outcome(ending: Ending, forwarded: Set[int], stopped: bool) -> str:
    ends = forwarded | {signal.SIGINT, signal.SIGTERM, signal.SIGKILL}
    if stopped or ending.signal in ends:
        return "interrupted"
    return "ok" if ending.exit_code == 0 else "failed"


def _peak_bytes(samples: Samples, maxrss_bytes: int, own_peak_bytes: int) -> Optional[int]:
    """The higher of the highest sampled sum and the system's count for one process.

    The count is of the largest single process among the command and the descendants it waited
    for. Samples miss what happens between them; the count misses that processes add up. It also
    holds the probe's own size from before the command replaced it, so it says something only
    where it is higher than that.
    """
    counted = maxrss_bytes if maxrss_bytes > own_peak_bytes else 0
    return max(samples.peak_bytes or 0, counted) or None


def _write_window(recorder: Recorder, samples: Samples) -> None:
    window = samples.close_window()
    if window is not None:
        recorder.write("sample", window)


def _write_end(
    recorder: Recorder,
    outcome: str,
    ending: Ending,
    duration_s: float,
    samples: Samples,
    peak_bytes: Optional[int],
    received: List[int],
) -> None:
    host = memory.entry("host", "parent", False, resident_peak_bytes=peak_bytes)
    recorder.write(
        "attempt.end",
        {
            "outcome": outcome,
            "exit_code": ending.exit_code,
            "signal": signals.name(ending.signal) if ending.signal else None,
            "signals_received": [signals.name(number) for number in received],
            "duration_s": round(duration_s, 6),
            "memory": [{**host, "samples": samples.count}],
        },
    )
