"""Whether what each process wrote, and each session's clocks and waits, are consistent."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from .findings import ERROR, REPORT, SLACK_S, SLACK_SHARE, WARNING, Finding, Placed
from .log import Record
from .logfiles import Process, boots, number, process, whole
from .spans import Clock

# A clock that is kept right drifts by less than this; more was set, or the host slept.
STEP_S = 1.0
DRIFT_SHARE = 0.001


def of_processes(every: Sequence[Placed]) -> Iterator[Finding]:
    """Within one process: its start, its order, the balance of its phases."""
    layers = {
        process(record): str(record.get("layer"))
        for record, _ in every
        if record["event"] == "session.start"
    }
    strangers = set()
    last: Dict[Process, int] = {}
    opened: Dict[Tuple[Process, str], List[Placed]] = {}
    for record, where in every:
        who = process(record)
        if who not in layers and who not in strangers:
            strangers.add(who)
            text = "process {} wrote no session.start".format(who[1])
            yield Finding(where, ERROR, text, "add the file that holds it")
        ticks = whole(record.get("mono_ns"))
        # what the hook learns late carries the moment it speaks of
        if ticks is not None and layers.get(who) != "hook" and record.get("layer") != "hook":
            if ticks < last.get(who, ticks):
                yield Finding(where, ERROR, "the monotonic clock went back", REPORT)
            last[who] = max(ticks, last.get(who, ticks))
    ordered = sorted(every, key=lambda one: whole(one[0].get("mono_ns")) or 0)
    for record, where in ordered:
        key = (process(record), str(record.get("layer")))
        if record["event"] == "phase.start":
            opened.setdefault(key, []).append((record, where))
        elif record["event"] == "phase.end":
            yield from _phase_end(opened.setdefault(key, []), record, where)
    for stack in opened.values():
        for record, where in stack:
            text = "the phase {} has no end: its process was cut off in it".format(
                record.get("phase")
            )
            yield Finding(where, WARNING, text, "its time is a lower bound")


def _phase_end(stack: List[Placed], record: Record, where: str) -> Iterator[Finding]:
    name = record.get("phase")
    places = [place for place, (start, _) in enumerate(stack) if start.get("phase") == name]
    if not places:
        yield Finding(where, ERROR, "the phase {} ends and never began".format(name), REPORT)
        return
    if places[-1] != len(stack) - 1:
        text = "the phase {} ends while one inside it goes on".format(name)
        yield Finding(where, WARNING, text, "nothing to do if the program has several threads")
    start, _ = stack.pop(places[-1])
    length_s = number(record.get("duration_s"))
    began, ended = whole(start.get("mono_ns")), whole(record.get("mono_ns"))
    if length_s is None or began is None or ended is None:
        return
    if abs((ended - began) / 1e9 - length_s) > SLACK_S + SLACK_SHARE * length_s:
        text = "the phase {} states {:g} s and lies {:g} s from its start".format(
            name, length_s, (ended - began) / 1e9
        )
        yield Finding(where, ERROR, text, REPORT)


def of_sessions(every: Sequence[Placed]) -> Iterator[Finding]:
    """Starts of hosts, steps of clocks, and waits that end without a beginning."""
    stated = boots([record for record, _ in every])
    first: Dict[str, str] = {}
    for record, where in every:
        boot, session = stated.get(process(record)), str(record.get("session"))
        if record["event"] != "session.start" or boot is None:
            continue
        if first.setdefault(session, boot) not in (boot, ""):
            first[session] = ""
            text = "session {} holds more than one start of a host".format(session)
            todo = "time between them is told by the clock of day alone"
            yield Finding(where, WARNING, text, todo)
    yield from _steps(every, stated)
    yield from _waits(every)


def _steps(every: Sequence[Placed], stated: Dict[Process, Optional[str]]) -> Iterator[Finding]:
    """Where the clock of day and the monotonic one part, on each host."""
    by_boot: Dict[str, List[Tuple[int, float, str]]] = {}
    for record, where in every:
        boot, ticks = stated.get(process(record)), whole(record.get("mono_ns"))
        if boot is None or ticks is None:
            continue
        day_s = Clock([]).seconds([record]).get(0)
        if day_s is not None:
            by_boot.setdefault(boot, []).append((ticks, day_s, where))
    for moments in by_boot.values():
        moments.sort()
        for place, after in enumerate(moments[1:]):
            before = moments[place]
            passed_s = (after[0] - before[0]) / 1e9
            step_s = after[1] - before[1] - passed_s
            if abs(step_s) > STEP_S + DRIFT_SHARE * passed_s:
                text = "the clock of day went {:+.1f} s against the monotonic one".format(step_s)
                todo = "durations do not depend on it: it was set, or the host slept"
                yield Finding(after[2], WARNING, text, todo)


def _waits(every: Sequence[Placed]) -> Iterator[Finding]:
    opened: Dict[str, Optional[str]] = {}
    # in the order of time: raw files are read one after the other
    for record, where in sorted(every, key=lambda one: str(one[0].get("t"))):
        session = str(record.get("session"))
        if record["event"] == "wait.start":
            opened[session] = where
        elif record["event"] == "wait.end":
            if opened.get(session) is None:
                yield Finding(where, ERROR, "a wait ends and never began", "add the file with it")
            opened[session] = None
