"""When each phase of an attempt was, and to which phase each moment belongs. In seconds."""

from __future__ import annotations

from datetime import datetime
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from .log import Record
from .logfiles import Process, boots, number, process, whole

PHASES = ("prepare", "load", "run")
# Of two layers that speak of one moment the first one counts.
LAYERS = ("api", "hook", "parent")


class Value(NamedTuple):
    """A figure; None was not measured, and a bound is at least this much."""

    value: Optional[float]
    bound: bool = False


class Clock:
    """Compares moments: monotonic ones within one boot, else by the time of day."""

    def __init__(self, every: Sequence[Record]) -> None:
        self._boots = boots(every)

    def seconds(self, entries: Sequence[Record]) -> Dict[int, float]:
        """The moment of each record, by its place; those that state none are left out."""
        known = {self._boots.get(process(entry)) for entry in entries}
        key = _mono_s if len(known) == 1 and None not in known else _day_s
        moments = ((place, key(entry)) for place, entry in enumerate(entries))
        return {place: moment for place, moment in moments if moment is not None}


class Span(NamedTuple):
    """A phase of one process; `bound` if the process was cut off in it."""

    name: str
    layer: str
    process: Process
    start_s: float
    end_s: float
    bound: bool


def spans(entries: Sequence[Record], clock: Clock) -> List[Span]:
    """The phases of an attempt's processes; one without an end reaches to its last record."""
    moments = clock.seconds(entries)
    opened: Dict[Tuple[Process, str], List[Tuple[str, float]]] = {}
    found: List[Span] = []
    last: Dict[Process, float] = {}
    for place, entry in sorted(enumerate(entries), key=lambda pair: moments.get(pair[0], 0.0)):
        if place not in moments:
            continue
        who, at_s = process(entry), moments[place]
        last[who] = max(at_s, last.get(who, at_s))
        name, layer = str(entry.get("phase")), str(entry.get("layer"))
        if entry["event"] == "phase.start":
            opened.setdefault((who, layer), []).append((name, at_s))
        elif entry["event"] == "phase.end":
            stack = opened.get((who, layer), [])
            places = [index for index, (open_name, _) in enumerate(stack) if open_name == name]
            begun = stack.pop(places[-1])[1] if places else None
            length_s = number(entry.get("duration_s"))
            if begun is None and length_s is not None:
                begun = at_s - length_s
            if begun is not None:
                end_s = at_s if length_s is None else begun + length_s
                found.append(Span(name, layer, who, begun, end_s, False))
    for (who, layer), stack in opened.items():
        found += [Span(name, layer, who, at_s, last[who], True) for name, at_s in stack]
    return found


def innermost(found: Sequence[Span]) -> Dict[str, Value]:
    """The seconds of each phase, no moment counted twice.

    Of one process the innermost phase counts; of several layers the one that saw most; of several
    ranks the phase that is furthest from the end, as a group waits for its slowest rank; of
    several processes of one rank the one that began first.
    """
    edges = sorted({edge for span in found for edge in (span.start_s, span.end_s)})
    first: Dict[Process, float] = {}
    for span in found:
        first[span.process] = min(span.start_s, first.get(span.process, span.start_s))
    totals = {span.name: 0.0 for span in found}
    bounds = {span.name for span in found if span.bound}
    ordered = sorted(found, key=lambda span: span.start_s)
    active: List[Span] = []
    next_one = 0
    for place, start_s in enumerate(edges[:-1]):
        end_s = edges[place + 1]
        active = [span for span in active if span.end_s > start_s]
        while next_one < len(ordered) and ordered[next_one].start_s <= start_s:
            active.append(ordered[next_one])
            next_one += 1
        here = [span for span in active if span.end_s > start_s]
        if here:
            totals[_speaker(here, first).name] += end_s - start_s
    return {name: Value(total_s, name in bounds) for name, total_s in totals.items()}


def _speaker(here: Sequence[Span], first: Dict[Process, float]) -> Span:
    best = min(_layer(span.layer) for span in here)
    speaking = [span for span in here if _layer(span.layer) == best]
    speaking = [span for span in speaking if span.process[2] is not None] or speaking
    inner: Dict[Process, Span] = {}
    for span in sorted(speaking, key=lambda span: (span.start_s, -span.end_s)):
        inner[span.process] = span
    of_rank: Dict[Optional[int], Span] = {}
    for who in sorted(inner, key=lambda who: first[who]):
        of_rank.setdefault(who[2], inner[who])
    return min(of_rank.values(), key=lambda span: _stage(span.name))


def _mono_s(entry: Record) -> Optional[float]:
    ticks = whole(entry.get("mono_ns"))
    return None if ticks is None else ticks / 1e9


def _day_s(entry: Record) -> Optional[float]:
    try:
        return datetime.fromisoformat(str(entry.get("t")).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _layer(name: str) -> int:
    return LAYERS.index(name) if name in LAYERS else len(LAYERS)


def _stage(name: str) -> int:
    return PHASES.index(name) if name in PHASES else len(PHASES)
