"""Runs a command and measures it from outside: the parent layer."""

from __future__ import annotations

import os
import time
from typing import Any, Dict, NamedTuple, Optional, Sequence

from . import cgroup, hello, memory, outside, signals
from .course import Course, NotStarted, follow
from .devices import Devices, open_devices
from .log import say
from .recorder import Plan, Recorder
from .samples import Sampler
from .secrets import clean
from .session import VARIABLES

NOT_FOUND = 127
NOT_EXECUTABLE = 126
# as of timeout(1)
TIMED_OUT = 124


class Ending(NamedTuple):
    """What the probe ends with: an exit code, or the number of a signal that it repeats."""

    outcome: str
    exit_code: int
    signal: Optional[int] = None
    started: bool = True
    attempt: Optional[str] = None


def run(plan: Plan, command: Sequence[str]) -> Ending:
    """Run a command with its streams, terminal and signals untouched, and log the attempt.

    A probe that fails says so in one line on stderr and the command runs all the same. A command
    that cannot be started ends as in a shell, with 127 or 126. Needs the main thread; signals
    stay held back afterwards.
    """
    # an attempt before this one may have ended because somebody asked to stop
    signals.release()
    recorder = Recorder()
    recorder.open_attempt(plan, command)
    devices = _devices(recorder, plan.sample_interval_s)
    sampler = Sampler(devices, plan.sample_interval_s)
    kills = cgroup.oom_kills()
    if plan.phase:
        recorder.write("phase.start", {"phase": plan.phase, "layer": "parent"})
    with signals.held() as inbox:
        course = _follow(command, recorder, sampler, inbox, plan.timeout_s)
        killed = (cgroup.oom_kills() or 0) - kills if kills is not None else 0
        error = outside.ended(course, plan.timeout_s, killed)
        if error is not None:
            recorder.write("error", error)
        recorder.write_windows(sampler.windows)
        _write_end(plan, recorder, sampler, course, recorder.hook(command))
        sampler.close()
    return _ending(course, recorder.attempt)


def run_phase(name: str, command: Sequence[str], sample_interval_s: float) -> Ending:
    """Run a command as a phase of the attempt around this process."""
    recorder = Recorder()
    recorder.open_phase()
    # the attempt around it samples the cards
    sampler = Sampler(None, sample_interval_s)
    recorder.write("phase.start", {"phase": name, "layer": "parent"})
    with signals.held() as inbox:
        course = _follow(command, recorder, sampler, inbox, None)
        recorder.write("phase.end", _phase_end(name, sampler, course))
    return _ending(course, recorder.attempt)


def _follow(
    command: Sequence[str],
    recorder: Recorder,
    sampler: Sampler,
    inbox: signals.Inbox,
    timeout_s: Optional[float],
) -> Course:
    inherited = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    environment = {**inherited, **recorder.variables}
    began = time.monotonic()
    try:
        return follow(command, environment, recorder, sampler, inbox, timeout_s)
    except NotStarted as problem:
        program = clean(command[0])
        say("cannot start {}: {}".format(program, problem.reason.strerror))
        recorder.write("error", outside.not_started(program, problem.reason))
        missing = isinstance(problem.reason, (FileNotFoundError, NotADirectoryError))
        code = NOT_FOUND if missing else NOT_EXECUTABLE
        return Course(code, None, "failed", False, False, time.monotonic() - began, 0, [])


def _devices(recorder: Recorder, interval_s: float) -> Optional[Devices]:
    # a run that is not recorded needs no samples
    return open_devices(interval_s) if recorder.log is not None else None


def _write_end(
    plan: Plan, recorder: Recorder, sampler: Sampler, course: Course, answer: hello.Answer
) -> None:
    if plan.phase:
        recorder.write("phase.end", _phase_end(plan.phase, sampler, course))
    devices = sampler.devices
    recorder.write(
        "attempt.end",
        {
            "outcome": course.outcome,
            "exit_code": course.exit_code,
            "signal": signals.name(course.signal) if course.signal else None,
            "signals_received": [signals.name(number) for number in course.received],
            "duration_s": round(course.duration_s, 6),
            "timed_out": course.timed_out,
            "hook": answer.state,
            "hook_why": answer.why,
            "devices_read_by": devices.read_by if devices else None,
            "devices_why": devices.why if devices else None,
            "probe_cpu_s": memory.own_cpu_s(),
            "memory": sampler.entries(course.counted_bytes),
        },
    )


def _phase_end(name: str, sampler: Sampler, course: Course) -> Dict[str, Any]:
    return {
        "phase": name,
        "layer": "parent",
        "duration_s": round(course.duration_s, 6),
        "outcome": "ok" if course.outcome == "ok" else "failed",
        "memory": sampler.entries(course.counted_bytes),
    }


def _ending(course: Course, attempt: Optional[str]) -> Ending:
    if course.timed_out:
        return Ending(course.outcome, TIMED_OUT, None, True, attempt)
    started = course.signal is not None or course.exit_code not in (NOT_FOUND, NOT_EXECUTABLE)
    return Ending(course.outcome, course.exit_code or 0, course.signal, started, attempt)
