"""Sessions of a probe log: their span, waits, changes and notes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from budget.attempts import Attempt, Change, Check, Note, Sample, Session, Wait
from budget.importers import records
from budget.importers.trail import NOBODY, Process, Record, Trail
from budget.messages import msg

CLOCK_SLACK_S = 1.0
"""Seconds that a clock may be adjusted backwards without being called wrong."""

WAIT_EVENTS = ("wait.start", "wait.end", "attempt.start")
MERGED = msg("upload the file that `probe end` wrote: it holds the whole session")
ALL_FILES = msg("upload the file that `probe end` wrote, or all files of its folder")


def read_sessions(trail: Trail, attempts: Iterable[Attempt]) -> tuple[Session, ...]:
    """Return every session that a record names."""
    known = tuple(attempts)
    return tuple(_session(trail, name, entries, known) for name, entries in trail.sessions.items())


def _session(
    trail: Trail, name: str, entries: list[Record], attempts: tuple[Attempt, ...]
) -> Session:
    speaker = trail.speakers.get(name, NOBODY)
    starts = [entry for entry in entries if entry.event == "session.start"]
    if not starts:
        entries[0].fields.reject(
            msg("the beginning of session {session} is not in this file: its machine is unknown",
                session=name), ALL_FILES)  # fmt: skip
    _check_clock(trail, entries)
    started_at, ended_at, closed = _span(entries)
    waits = _waits(trail, entries)
    if closed and ended_at is not None:
        waits = [_closed(wait, ended_at) for wait in waits]
    return Session(
        id=name,
        host=speaker.host,
        boot=speaker.boot,
        started_at=started_at,
        ended_at=ended_at,
        closed=closed,
        attempts=tuple(attempt.id for attempt in attempts if attempt.session == name),
        waits=tuple(waits),
        changes=tuple(_change(entry) for entry in entries if entry.event == "change"),
        notes=tuple(
            Note(text=entry.fields.text("text") or "", at=entry.at, source=entry.source)
            for entry in entries
            if entry.event == "note"
        ),
        checks=tuple(_check(entry) for entry in entries if entry.event == "check"),
        samples=tuple(
            sample
            for entry in entries
            if entry.event == "sample" and (sample := _sample(trail, entry)) is not None
        ),
        nodes=tuple(sorted({entry.node for entry in entries if entry.node is not None})),
        source=(starts or entries)[0].source,
    )


def _span(entries: list[Record]) -> tuple[datetime | None, datetime | None, bool]:
    """Return start, end and whether the session was closed. Evidence outranks what was typed."""
    seen = [entry.at for entry in entries if entry.at is not None]
    first, last = min(seen, default=None), max(seen, default=None)
    reserved, released = [], []
    for entry in entries:
        if entry.event == "session.start":
            since = entry.fields.moment("reserved_since")
            if since is not None and first is not None and since > first:
                entry.fields.reject(msg("the reservation begins after the first record"),
                                    msg("nothing to do: the first record counts"))  # fmt: skip
            elif since is not None:
                reserved.append(since)
        elif entry.event == "session.end":
            until = entry.fields.moment("released_at")
            if until is not None and first is not None and until < first:
                entry.fields.reject(
                    msg("the release is before the first record"),
                    msg("nothing to do: the time of this record counts"),
                )
                until = None
            until = until or entry.at
            if until is not None:
                released.append(until)
    started_at = min((*reserved, *([first] if first else [])), default=None)
    return started_at, max(released, default=last), bool(released)


def _waits(trail: Trail, entries: list[Record]) -> list[Wait]:
    """Pair starts and ends, also of different processes; an attempt or another wait ends one."""
    pairs: list[tuple[Record, Record | None]] = []
    for mark in trail.ordered(entry for entry in entries if entry.event in WAIT_EVENTS):
        if mark.event != "wait.end":
            pairs = [(start, end or mark) for start, end in pairs]
            if mark.event == "wait.start":
                pairs.append((mark, None))
            continue
        reason = mark.fields.value("reason")
        opened = [
            i
            for i, (start, end) in enumerate(pairs)
            if end is None
            and (start.pid == mark.pid or reason in (None, start.fields.value("reason")))
        ]
        if opened:
            best = max(opened, key=lambda i: (pairs[i][0].pid == mark.pid, i))
            pairs[best] = (pairs[best][0], mark)
        else:
            mark.fields.reject(msg("a wait ends here that does not begin in this file"), MERGED)
    return [
        Wait(
            reason=start.fields.text("reason") or "other",
            started_at=start.at,
            duration_s=trail.seconds(start, end) if end else None,
            source=start.source,
        )
        for start, end in pairs
    ]


def _closed(wait: Wait, ended_at: datetime) -> Wait:
    if wait.duration_s is not None or wait.started_at is None:
        return wait
    left_s = max(0.0, (ended_at - wait.started_at).total_seconds())
    return msgspec.structs.replace(wait, duration_s=left_s)


def _change(entry: Record) -> Change:
    fields = entry.fields
    return Change(
        kind=fields.text("kind") or "other",
        what=fields.text("what") or "",
        before=fields.text("from"),
        after=fields.text("to"),
        reason=fields.text("reason"),
        at=entry.at,
        layer=fields.text("layer"),
        attempt=entry.attempt,
        source=entry.source,
    )


def _check(entry: Record) -> Check:
    fields = entry.fields
    return Check(
        name=fields.text("name") or records.UNKNOWN,
        passed=fields.flag("passed"),
        said=fields.text("said"),
        at=entry.at,
        source=entry.source,
    )


def _sample(trail: Trail, entry: Record) -> Sample | None:
    """Return a window of samples of one device; one without a device or a length is none."""
    fields = entry.fields
    device, window_s = fields.text("device"), fields.seconds("window_s")
    if device is None or window_s is None:
        fields.reject(msg("a window of samples states no device or no length and is not used"),
                      msg("nothing to do"))  # fmt: skip
        return None
    writer = trail.writer(entry)
    key = "resident_bytes" if device == records.HOST else "memory_used_bytes"
    return Sample(
        key=entry.key,
        source=entry.source,
        device=device,
        at=entry.at,
        window_s=window_s,
        layer=writer.layer or records.UNKNOWN,
        node=entry.node,
        attempt=entry.attempt,
        memory_bytes=records.spread(fields, key, writer.limits.get(device)),
        utilisation_percent=records.spread(fields, "utilisation_percent", 100.0),
        power_w=records.spread(fields, "power_w"),
    )


def _check_clock(trail: Trail, entries: list[Record]) -> None:
    """Report once when the time of day goes backwards while the monotonic clock goes on."""
    last: dict[Process, Record] = {}
    for entry in trail.ordered(entries):
        before = last.get(entry.process)
        last[entry.process] = entry
        if before is None or before.at is None or entry.at is None:
            continue
        if (before.at - entry.at).total_seconds() > CLOCK_SLACK_S and (
            before.mono_ns is not None
            and entry.mono_ns is not None
            and entry.mono_ns >= before.mono_ns
        ):
            entry.fields.reject(
                msg("the clock of the machine was set back during the session"),
                msg("check the reserved hours against the bill; durations are not affected"),
            )
            return
