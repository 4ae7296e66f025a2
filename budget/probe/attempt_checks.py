"""Whether the records of each attempt fit each other."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from .findings import ERROR, SLACK_S, SLACK_SHARE, WARNING, Finding, Placed
from .history import SILENT_S
from .log import Record
from .logfiles import Process, number, process, whole
from .spans import Clock, innermost, spans


def of_attempts(every: Sequence[Placed]) -> Iterator[Finding]:
    """Starts and ends, lengths, ranks, heartbeats and the layers' peaks."""
    grouped: Dict[Tuple[str, str], List[Placed]] = {}
    for record, where in every:
        if isinstance(record.get("attempt"), str):
            key = (str(record.get("session")), record["attempt"])
            grouped.setdefault(key, []).append((record, where))
    clock = Clock([record for record, _ in every])
    memories = _card_bytes(every)
    for (_, name), entries in grouped.items():
        yield from _course(name, entries, clock)
        yield from _ranks(name, entries)
        yield from _silence(name, entries)
        yield from _layers_agree(entries, memories)
    known = {name for _, name in grouped}
    for record, where in every:
        before = record.get("retry_of")
        if isinstance(before, str) and before not in known:
            text = "the attempt tries {} again, which is not in these files".format(before)
            yield Finding(where, WARNING, text, "add the file that holds it")


def _course(name: str, entries: List[Placed], clock: Clock) -> Iterator[Finding]:
    starts: Dict[Optional[int], Placed] = {}
    ends: Dict[Optional[int], Placed] = {}
    for record, where in entries:
        rank = whole(record.get("rank"))
        for event, held in (("attempt.start", starts), ("attempt.end", ends)):
            if record["event"] == event:
                if rank in held:
                    text = "attempt {} has a second {} of its rank".format(name, event)
                    yield Finding(where, ERROR, text, "its first one counts")
                held.setdefault(rank, (record, where))
    if not starts:
        text = "attempt {} has no start".format(name)
        yield Finding(entries[0][1], ERROR, text, "add the file that holds it")
    for rank, (start, where) in starts.items():
        if rank not in ends:
            own = [e for e in entries if len(starts) == 1 or e[0].get("rank") == rank]
            yield _cut_off(name, start, where, own, clock)
    durations = [number(end.get("duration_s")) for end, _ in ends.values()]
    known = [duration for duration in durations if duration is not None]
    if not known or len(ends) < len(starts):
        return
    longest_s = max(known)
    by_process: Dict[Process, List[Record]] = {}
    for record, _ in entries:
        by_process.setdefault(process(record), []).append(record)
    for own_records in by_process.values():
        phases = innermost(spans(own_records, clock))
        total_s = sum(value.value or 0.0 for value in phases.values())
        if total_s > longest_s * (1 + SLACK_SHARE) + SLACK_S:
            where = next(place for record, place in entries if record is own_records[0])
            text = "the phases of attempt {} last {:g} s, the attempt {:g} s".format(
                name, total_s, longest_s
            )
            yield Finding(where, ERROR, text, "see whether the program states seconds")


def _cut_off(name: str, start: Record, where: str, own: List[Placed], clock: Clock) -> Finding:
    records = [record for record, _ in own]
    moments = clock.seconds(records)
    began = moments.get(next(place for place, record in enumerate(records) if record is start))
    text = "attempt {} has no end: it was cut off".format(name)
    if began is None or not moments:
        return Finding(where, WARNING, text, "its duration is unknown")
    last = max(moments, key=lambda place: moments[place])
    return Finding(
        where,
        WARNING,
        "{} with its probe, and lasted at least {:.3f} s ({})".format(
            text, moments[last] - began, own[last][1]
        ),
        "count it as that at least",
    )


def _ranks(name: str, entries: List[Placed]) -> Iterator[Finding]:
    seen = {whole(record.get("rank")) for record, _ in entries} - {None}
    stated = 0
    where = entries[0][1]
    for record, place in entries:
        variables = record.get("variables")
        size = variables.get("WORLD_SIZE") if isinstance(variables, dict) else None
        if isinstance(size, str) and size.isascii() and size.isdigit():
            stated, where = max(stated, int(size)), place
    expected = max(stated, 1 + max((rank for rank in seen if rank is not None), default=-1))
    missing = [str(rank) for rank in range(expected) if rank not in seen]
    if missing and (seen or stated > 1):
        text = "attempt {} has {} ranks, and nothing of rank {}".format(
            name, expected, ", ".join(missing[:8]) + (" …" if len(missing) > 8 else "")
        )
        yield Finding(where, WARNING, text, "add the files of all ranks, if they wrote any")


def _silence(name: str, entries: List[Placed]) -> Iterator[Finding]:
    """Gaps in the heartbeats of the probe itself."""
    last: Dict[Process, int] = {}
    for record, where in sorted(entries, key=lambda one: whole(one[0].get("mono_ns")) or 0):
        ticks = whole(record.get("mono_ns"))
        if record["event"] not in ("attempt.start", "heartbeat", "attempt.end") or ticks is None:
            continue
        before = last.get(process(record))
        if before is not None and ticks - before > SILENT_S * 1e9:
            text = "the probe of attempt {} wrote nothing for {:.0f} s".format(
                name, (ticks - before) / 1e9
            )
            todo = "the host was stopped or overloaded: judge the attempt's time with that"
            yield Finding(where, WARNING, text, todo)
        last[process(record)] = ticks


def _layers_agree(
    entries: List[Placed], memories: Dict[Tuple[str, str], float]
) -> Iterator[Finding]:
    """What PyTorch held against what was sampled on the card, and both against the card."""
    held: Dict[Tuple[object, str], Tuple[float, str]] = {}
    sampled: Dict[Tuple[object, str], float] = {}
    for record, where in entries:
        stated = record.get("memory")
        for entry in stated if isinstance(stated, list) else []:
            if not isinstance(entry, dict):
                continue
            key = (record.get("node"), str(entry.get("device")))
            allocated = number(entry.get("allocator_peak_bytes"))
            used = number(entry.get("device_peak_bytes"))
            if allocated is not None and allocated > held.get(key, (0.0, ""))[0]:
                held[key] = (allocated, where)
            if used is not None and entry.get("layer") == "parent":
                sampled[key] = max(used, sampled.get(key, 0.0))
            size = memories.get((str(record.get("session")), key[1]))
            top = max(allocated or 0.0, used or 0.0)
            if size is not None and top > size * (1 + SLACK_SHARE):
                text = "the peak of device {} is above its memory".format(key[1])
                yield Finding(where, ERROR, text, "do not use it")
    for key, (allocated, where) in held.items():
        if key in sampled and allocated > sampled[key]:
            text = "on device {} PyTorch held more than was sampled on the card".format(key[1])
            yield Finding(where, WARNING, text, "the samples missed the peak: take PyTorch's")


def _card_bytes(every: Sequence[Placed]) -> Dict[Tuple[str, str], float]:
    sizes: Dict[Tuple[str, str], float] = {}
    for record, _ in every:
        cards = record.get("gpus") if record["event"] == "session.start" else None
        for card in cards if isinstance(cards, list) else []:
            size = number(card.get("memory_bytes")) if isinstance(card, dict) else None
            if size is not None:
                key = (str(record.get("session")), str(card.get("index")))
                sizes[key] = max(size, sizes.get(key, 0.0))
    return sizes
