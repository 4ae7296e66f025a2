"""Follows a command from its start to its end, and passes on what reaches the probe meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Dict, List, NamedTuple, Optional, Sequence, Set

from . import memory, signals
from .recorder import Recorder
from .samples import Sampler
from .tree import Tree

HEARTBEAT_S = 5.0

# A command that was asked to stop and then ended within this time was cut short, whatever exit
# code it chose: launchers give their workers 30 s before they kill them.
STOP_GRACE_S = 60.0
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)

# How long a command whose time is over may take to write its results.
TIMEOUT_GRACE_S = 30.0


class Course(NamedTuple):
    """How a command ended: an exit code or the number of a signal, after `duration_s` seconds.

    `counted_bytes` is the size of the largest single process as the system counted it, 0 where
    that says nothing. `received` are the signals that reached the probe, `asked` whether one of
    them ended the command.
    """

    exit_code: Optional[int]
    signal: Optional[int]
    outcome: str
    timed_out: bool
    asked: bool
    duration_s: float
    counted_bytes: int
    received: List[int]


class NotStarted(Exception):
    """The command could not be started, for the reason that the system gave."""

    def __init__(self, reason: OSError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def follow(
    command: Sequence[str],
    environment: Dict[str, str],
    recorder: Recorder,
    sampler: Sampler,
    inbox: signals.Inbox,
    timeout_s: Optional[float] = None,
) -> Course:
    """Run a command to its end; sample, beat and forward signals meanwhile.

    Raises NotStarted if it cannot be started. After `timeout_s` its processes are asked to end, and
    killed if they have not 30 s later.
    """
    began = time.monotonic()
    try:
        pid = inbox.start(command, environment)
    except OSError as problem:
        raise NotStarted(problem) from None
    return _Follower(pid, recorder, sampler, inbox, began, timeout_s).follow()


class _Follower:
    def __init__(
        self,
        pid: int,
        recorder: Recorder,
        sampler: Sampler,
        inbox: signals.Inbox,
        began: float,
        timeout_s: Optional[float],
    ) -> None:
        self.pid = pid
        self.recorder = recorder
        self.sampler = sampler
        self.inbox = inbox
        self.began = began
        self.tree = Tree(pid)
        self.timeout_s = timeout_s
        self.deadline = None if timeout_s is None else began + timeout_s
        self.timed_out = False
        self.received: List[int] = []
        self.forwarded: Set[int] = set()
        self.asked_to_stop: Optional[float] = None

    def follow(self) -> Course:
        # of this program alone: the system's own count would still hold its launcher's size
        own_peak_bytes = memory.own().peak_bytes or memory.own_maxrss_bytes()
        self.sampler.begin()
        next_beat = next_sample = self.began
        while True:
            now = time.monotonic()
            if self.recorder.beats and now >= next_beat:
                self.recorder.write("heartbeat")
                next_beat = now + HEARTBEAT_S
            if now >= next_sample:
                self.recorder.guard(self._sample, "memory is not measured")
                next_sample = now + self.sampler.interval_s()
            if self.sampler.windows.due():
                self.recorder.write_windows(self.sampler.windows)
            if self.deadline is not None and now >= self.deadline:
                self._end_in_time()
            ahead = min(next_sample, next_beat if self.recorder.beats else next_sample)
            self._take_signal(min(ahead, self.deadline or ahead) - time.monotonic())
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                break
        ended = time.monotonic()
        counted_bytes = usage.ru_maxrss * memory.MAXRSS_BYTES
        return self._course(status, ended, counted_bytes if counted_bytes > own_peak_bytes else 0)

    def _sample(self) -> None:
        self.sampler.sample(self.tree)

    def _take_signal(self, timeout_s: float) -> None:
        got = self.inbox.next(timeout_s)
        if got is None:
            return
        self.received.append(got.number)
        if got.number in STOPPING:
            self.asked_to_stop = time.monotonic()
        if not got.from_terminal:
            self.forwarded.add(got.number)
            _send([self.pid], got.number)

    def _end_in_time(self) -> None:
        """Ask all processes of the command to end; the second time, make them."""
        pids = [self.pid]
        with contextlib.suppress(Exception):
            pids = self.tree.search() or pids
        _send(pids, signal.SIGKILL if self.timed_out else signal.SIGTERM)
        self.timed_out = True
        self.deadline = time.monotonic() + TIMEOUT_GRACE_S

    def _course(self, status: int, ended: float, counted_bytes: int) -> Course:
        by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = None if by is not None else os.WEXITSTATUS(status)
        stopped = self.asked_to_stop is not None and ended - self.asked_to_stop < STOP_GRACE_S
        interrupted = stopped or by in self.forwarded | {
            signal.SIGINT,
            signal.SIGTERM,
            signal.SIGKILL,
        }
        outcome = "interrupted" if interrupted else "ok" if code == 0 else "failed"
        return Course(
            code,
            by,
            "failed" if self.timed_out else outcome,
            self.timed_out,
            stopped or by in self.forwarded,
            ended - self.began,
            counted_bytes,
            self.received,
        )


def _send(pids: List[int], number: int) -> None:
    for pid in pids:
        # it may have ended a moment ago, or run as another user
        with contextlib.suppress(OSError):
            os.kill(pid, number)
