"""Adds up what a log says of its attempts. Durations are seconds."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .history import WORST_FIRST
from .log import Record
from .logfiles import number, process, whole
from .spans import Clock, Value, innermost, spans

PEAKS = (
    "tensor_peak_bytes",
    "allocator_peak_bytes",
    "device_peak_bytes",
    "resident_peak_bytes",
)


class Calls(NamedTuple):
    """The calls that count: of the best layer, and of several ranks those of the slowest.

    Tokens are those of all sequences of all calls; unknown where a call states no batch.
    """

    number: int
    input_tokens: Value
    output_tokens: Value
    read_by: str
    forward: Optional[int]


class Attempt(NamedTuple):
    """One attempt as its ranks together say: the slowest time and the worst outcome.

    `outcome` is None if it was cut off; `phases` has the innermost time of each phase that was
    recorded; `peaks` the highest of each kind by device and layer.
    """

    session: str
    id: str
    block: Optional[str]
    outcome: Optional[str]
    duration: Value
    phases: Dict[str, Value]
    unattributed: Value
    calls: Optional[Calls]
    peaks: Dict[Tuple[str, str], Dict[str, Value]]
    errors: List[Record]
    retry_of: Optional[str]
    repeat: Optional[str]
    ranks: List[int]
    hook_why: Optional[str]


def attempts(every: Sequence[Record]) -> List[Attempt]:
    """The attempts of all sessions, in the order in which they first appear."""
    clock = Clock(every)
    grouped: Dict[Tuple[str, str], List[Record]] = {}
    for record in every:
        if isinstance(record.get("attempt"), str):
            key = (str(record.get("session")), record["attempt"])
            grouped.setdefault(key, []).append(record)
    return [_attempt(session, name, found, clock) for (session, name), found in grouped.items()]


def _attempt(session: str, name: str, entries: List[Record], clock: Clock) -> Attempt:
    starts = [entry for entry in entries if entry["event"] == "attempt.start"]
    ends = [entry for entry in entries if entry["event"] == "attempt.end"]
    stated = starts[0] if starts else {}
    duration, outcome = _ending(starts, ends, entries, clock)
    phases = innermost(spans(entries, clock))
    rest = Value(None)
    if duration.value is not None:
        covered_s = sum(value.value or 0.0 for value in phases.values())
        loose = duration.bound or any(value.bound for value in phases.values())
        rest = Value(max(0.0, duration.value - covered_s), loose)
    ranks = {entry["rank"] for entry in entries if whole(entry.get("rank")) is not None}
    why = [entry.get("hook_why") for entry in ends if entry.get("hook") == "not-loaded"]
    return Attempt(
        session,
        name,
        _text(stated.get("block")),
        outcome,
        duration,
        phases,
        rest,
        _calls(entries),
        _peaks(entries),
        [entry for entry in entries if entry["event"] == "error"],
        _text(stated.get("retry_of")),
        _repetition(stated.get("repeat")),
        sorted(ranks),
        str(why[0]) if why and why[0] else None,
    )


def _ending(
    starts: List[Record], ends: List[Record], entries: List[Record], clock: Clock
) -> Tuple[Value, Optional[str]]:
    """The slowest rank's time and the worst outcome; a rank without an end was cut off."""
    outcomes: List[Optional[str]] = []
    durations: List[Value] = []
    for end in ends:
        outcomes.append(str(end.get("outcome")))
        durations.append(Value(number(end.get("duration_s"))))
    ended = {process(end) for end in ends}
    for start in starts:
        if process(start) in ended:
            continue
        outcomes.append(None)
        alone = len(starts) == 1
        own = [entry for entry in entries if alone or entry.get("rank") == start.get("rank")]
        moments = clock.seconds(own)
        began = moments.get(next(place for place, entry in enumerate(own) if entry is start))
        if began is not None:
            durations.append(Value(max(moments.values()) - began, True))
    known = [value for value in durations if value.value is not None]
    longest = max(known, key=lambda value: value.value or 0.0) if known else Value(None)
    worst = next((outcome for outcome in WORST_FIRST if outcome in outcomes), None)
    return longest, worst


def _calls(entries: List[Record]) -> Optional[Calls]:
    calls = [entry for entry in entries if entry["event"] == "call"]
    ends = [entry for entry in entries if entry["event"] == "phase.end"]
    forwards = [count for count in (whole(end.get("forward_calls")) for end in ends) if count]
    if not calls and not forwards:
        return None
    calls = [entry for entry in calls if entry.get("read_by") == "api"] or calls
    spent_s: Dict[int, float] = {}
    for entry in calls:
        rank = whole(entry.get("rank"))
        if rank is not None:
            spent_s[rank] = spent_s.get(rank, 0.0) + (number(entry.get("duration_s")) or 0.0)
    if len(spent_s) > 1:
        slowest = max(sorted(spent_s), key=lambda rank: spent_s[rank])
        calls = [entry for entry in calls if entry.get("rank") == slowest]
    read_by = sorted({str(entry.get("read_by")) for entry in calls})
    return Calls(
        len(calls),
        _tokens(calls, "input_tokens"),
        _tokens(calls, "output_tokens"),
        ", ".join(read_by),
        max(forwards) if forwards else None,
    )


def _tokens(calls: List[Record], key: str) -> Value:
    """Tokens of all sequences of the calls; a record states them for one sequence."""
    known = []
    for call in calls:
        per_sequence, sequences = number(call.get(key)), number(call.get("batch_size"))
        if per_sequence is not None and sequences is not None:
            known.append(per_sequence * sequences)
    return Value(sum(known), len(known) < len(calls)) if known else Value(None)


def _peaks(entries: List[Record]) -> Dict[Tuple[str, str], Dict[str, Value]]:
    """The highest of each kind. An exact one outranks a bound that is no higher."""
    peaks: Dict[Tuple[str, str], Dict[str, Value]] = {}
    nodes = {whole(entry.get("node")) for entry in entries} - {None}
    for entry in entries:
        stated = entry.get("memory")
        if entry["event"] not in ("attempt.end", "phase.end") or not isinstance(stated, list):
            continue
        for memory in stated:
            if not isinstance(memory, dict):
                continue
            device = str(memory.get("device"))
            if len(nodes) > 1:
                device = "{}/{}".format(entry.get("node", "?"), device)
            held = peaks.setdefault((device, str(memory.get("layer"))), {})
            for key in PEAKS:
                size = number(memory.get(key))
                if size is None:
                    continue
                new, old = Value(size, not memory.get("exact")), held.get(key)
                if old is None or (size, not new.bound) > (old.value or 0.0, not old.bound):
                    held[key] = new
    return peaks


def _text(value: Any) -> Optional[str]:
    return str(value) if value else None


def _repetition(repeat: Any) -> Optional[str]:
    if not isinstance(repeat, dict):
        return None
    return "{} of {}".format(repeat.get("number", "?"), repeat.get("of", "?"))
