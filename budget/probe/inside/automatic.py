"""The phases that follow from what is watched: prepare, load and run."""

from __future__ import annotations

import time
from typing import Any, Dict, List, Optional

from . import counters, environment, errors, moments
from .progress import READING_INTERVAL_S, Course, Load, Run, Thread
from .state import guard, state, write

# Of loads that may as well be of data (`torch.load`), so many are written; then only long ones.
PLAIN_LOADS = 100
LONG_LOAD_S = 1.0

thread = Thread()
course = Course()


def after_fork() -> None:
    """A forked child has a course of its own."""
    global course, thread
    course = Course()
    thread = Thread()
    counters.forget()


state.forked.append(after_fork)


def begin_load(plain: bool) -> None:
    """A load call begins; a `plain` one is written only when it turns out to count."""
    thread.loads += 1
    if thread.loads == 1:
        errors.begin()
        guard(lambda: _begin_load(plain))


def end_load(plain: bool, counts: bool, failure: Optional[BaseException] = None) -> None:
    """It has ended, or an exception has left it."""
    outermost = thread.loads == 1
    thread.loads = max(0, thread.loads - 1)
    errors.record(failure, phase("load"), "hook")
    if outermost:
        guard(lambda: _end_load(plain, counts, failure is not None))


def begin_call() -> bool:
    """A call of a model begins; whether it is the outermost in this thread, outside any load."""
    thread.calls += 1
    if thread.calls > 1 or thread.loads:
        return False
    errors.begin()
    guard(_begin_call)
    return True


def end_call(
    outermost: bool, forward: bool, failure: Optional[BaseException] = None
) -> moments.Moment:
    """It has ended, or an exception has left it: when."""
    ended = moments.now()
    thread.calls = max(0, thread.calls - 1)
    if failure is not None:
        errors.record(failure, phase("load" if thread.loads else "run"), "hook")
    if outermost:
        guard(lambda: _end_call(ended, forward, failure))
    return ended


def phase(watched: str) -> Optional[str]:
    """The phase in which something is recorded: the program's own, where it states phases."""
    if state.uses_api:
        return state.phases[-1] if state.phases else None
    return watched


def leave_to_api() -> None:
    """From here on the program states its phases and calls itself."""
    state.uses_api = True
    course.load = None
    guard(finish)


def finish() -> None:
    """Write the end of the run so far; a later call begins another.

    A load that is not over stays open: the process ends in it.
    """
    with state.lock:
        run, course.run = course.run, None
        if run is not None:
            _write_run(run)


def _begin_load(plain: bool) -> None:
    if state.uses_api:
        return
    with state.lock:
        if course.load is None:
            course.load = Load()
        course.load.active += 1
        if not plain:
            course.load.counts = True
            _start_load(course.load)


def _end_load(plain: bool, counts: bool, failed: bool) -> None:
    with state.lock:
        load = course.load
        if load is None:
            return
        load.active -= 1
        load.failed = load.failed or failed
        if plain and counts:
            load.counts = load.counts or _plain_counts(load)
        if load.active == 0:
            course.load = None
            if load.counts:
                _start_load(load)
                _write_load(load)
            load.stretch.close()


def _plain_counts(load: Load) -> bool:
    # once the model works, what else is read is its input
    if course.has_run:
        return False
    course.plain_loads += 1
    return course.plain_loads <= PLAIN_LOADS or moments.now().since_s(load.began) >= LONG_LOAD_S


def _start_load(load: Load) -> None:
    if load.started:
        return
    load.started = True
    if not course.prepared:
        course.prepared = True
        began = moments.process_start()
        whole = counters.Stretch(counters.NOTHING_READ)
        whole.ended = load.stretch.began
        whole.close()
        _write_start("prepare", began)
        _write_end("prepare", began, load.began, whole.entries("hook"), False)
    _write_start("load", load.began)


def _write_load(load: Load) -> None:
    load.stretch.note()
    load.stretch.close()
    _write_end("load", load.began, moments.now(), load.stretch.entries("hook"), load.failed)


def _begin_call() -> None:
    if state.uses_api:
        return
    with state.lock:
        if course.run is None:
            course.run = Run()
            course.has_run = True
            _write_start("run", course.run.began)
        course.run.active += 1


def _end_call(ended: moments.Moment, forward: bool, failure: Optional[BaseException]) -> None:
    with state.lock:
        run = course.run
        if run is None:
            return
        run.active = max(0, run.active - 1)
        run.forward_calls += forward
        run.failed = not errors.is_good(failure)
        run.ended = ended
        at_s = time.monotonic()
        run.unread = at_s - run.read_at_s < READING_INTERVAL_S
        if not run.unread:
            run.read_at_s = at_s
            run.stretch.note()


def _write_run(run: Run) -> None:
    ended = moments.now() if run.active or run.ended is None else run.ended
    if run.active:
        run.stretch.note()
    stretch = run.stretch
    stretch.close()
    entries = stretch.entries_at_most_now("hook") if run.unread else stretch.entries("hook")
    _write_end(
        "run",
        run.began,
        ended,
        entries,
        run.failed,
        {"forward_calls": run.forward_calls},
    )


def _write_start(name: str, began: moments.Moment) -> None:
    write("phase.start", {"phase": name, "layer": "hook", **began.stamp()}, "hook")


def _write_end(
    name: str,
    began: moments.Moment,
    ended: moments.Moment,
    entries: List[Dict[str, Any]],
    failed: bool,
    more: Optional[Dict[str, Any]] = None,
) -> None:
    fields = {
        "phase": name,
        "layer": "hook",
        "duration_s": ended.since_s(began),
        **(more or {}),
        "outcome": "failed" if failed else "ok",
        "memory": entries,
        **ended.stamp(),
    }
    write("phase.end", fields, "hook")
    environment.record("hook")
