"""The records of one probe log, sorted by what they belong to, before anything is made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from budget.attempts import Host, Sign
from budget.figures import Source
from budget.importers import records
from budget.importers.fields import Fields
from budget.importers.findings import Findings
from budget.importers.lines import read_lines
from budget.messages import msg

SCHEMA = "compute-budget-log/"
VERSION = "1"
Process: TypeAlias = tuple[int | None, int | None, int | None]
"""Process id, rank and node."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record with what every record states. ``at`` is in UTC."""

    event: str
    session: str
    attempt: str | None
    pid: int | None
    rank: int | None
    node: int | None
    mono_ns: int | None
    at: datetime | None
    key: str
    source: Source
    fields: Fields

    @property
    def process(self) -> Process:
        """What tells one process from another; ids repeat on several nodes."""
        return self.pid, self.rank, self.node


@dataclass(frozen=True, slots=True)
class Writer:
    """A process that wrote records, as its ``session.start`` presents it."""

    layer: str | None
    boot: str | None
    host: Host
    limits: dict[str, int]
    """Memory bytes of each device."""


NOBODY = Writer(None, None, Host(), {})


@dataclass(slots=True)
class Trail:
    """All records of a file by session and by attempt, in the order of the lines."""

    sessions: dict[str, list[Record]] = field(default_factory=dict)
    attempts: dict[str, list[Record]] = field(default_factory=dict)
    writers: dict[tuple[str, Process], Writer] = field(default_factory=dict)
    speakers: dict[str, Writer] = field(default_factory=dict)
    """Who presents each session: its first parent, else its first writer."""

    def writer(self, record: Record) -> Writer:
        """Return who wrote ``record``; what it did not present is taken from its session."""
        own = self.writers.get((record.session, record.process))
        common = self.speakers.get(record.session, NOBODY)
        if own is None:
            return Writer(None, common.boot, common.host, common.limits)
        return Writer(own.layer, own.boot or common.boot, own.host, {**common.limits, **own.limits})

    def ordered(self, entries: Iterable[Record]) -> list[Record]:
        """Return records in the order they were written, by one monotonic clock if they share it.

        A merged file is ordered by the time of day, which a clock that was set makes wrong.
        """
        items = list(entries)
        boots = {self.writer(entry).boot for entry in items}
        alone = len({entry.process for entry in items}) == 1
        shared = alone or (len(boots) == 1 and None not in boots)
        if shared and all(entry.mono_ns is not None for entry in items):
            return sorted(items, key=lambda entry: entry.mono_ns or 0)
        if all(entry.at is not None for entry in items):
            return sorted(items, key=lambda entry: entry.at.timestamp() if entry.at else 0.0)
        return items

    def seconds(self, start: Record, end: Record) -> float | None:
        """Return the seconds between two records; None when that cannot be told.

        Monotonic clocks are compared within one boot only; times of day jump when a clock is set.
        """
        return self.sign([start]).seconds_to(self.sign([end]))

    def sign(self, entries: list[Record]) -> Sign:
        """Return the last sign of life in the records of one process."""
        first = entries[0]
        return Sign(
            at=max((entry.at for entry in entries if entry.at is not None), default=None),
            mono_ns=max((e.mono_ns for e in entries if e.mono_ns is not None), default=None),
            boot=self.writer(first).boot,
            pid=first.pid,
        )


def gather(name: str, data: bytes, findings: Findings) -> Trail:
    """Read all records of ``data``; each copy of a record counts once."""
    trail = Trail()
    newer: set[int | None] = set()
    seen: dict[str, int] = {}
    texts: set[str] = set()
    session_of_pid: dict[int | None, str] = {}
    last_session = name
    for line in read_lines(data, findings):
        fields = Fields(line.record, line.number, findings)
        event = line.record.get("event")
        if not isinstance(event, str) or not event:
            fields.reject(msg("the line does not name its event"), msg("nothing to do"))
            continue
        pid, mono_ns = fields.whole("pid"), fields.whole("mono_ns")
        named = pid is not None and mono_ns is not None
        if named and line.text in texts:
            continue
        texts.add(line.text)
        if event == "session.start" and _is_newer(fields):
            newer.add(pid)
        if pid in newer:
            continue
        last_session = fields.text("session") or session_of_pid.get(pid) or last_session
        session_of_pid[pid] = last_session
        key = f"{pid}-{mono_ns}-{event}" if named else _digest(line.text)
        seen[key] = seen.get(key, 0) + 1
        record = Record(
            event=event,
            session=last_session,
            attempt=fields.text("attempt") or None,
            pid=pid,
            rank=fields.whole("rank"),
            node=fields.whole("node"),
            mono_ns=mono_ns,
            at=fields.moment("t"),
            # A coarse clock gives several records one time; they are still several records.
            key=key if seen[key] == 1 else f"{key}-{seen[key]}",
            source=Source("log", name, line.number),
            fields=fields,
        )
        trail.sessions.setdefault(record.session, []).append(record)
        if record.attempt is not None:
            trail.attempts.setdefault(record.attempt, []).append(record)
        if event == "session.start":
            host, limits = records.host(fields)
            writer = Writer(fields.text("layer"), fields.text("boot"), host, limits)
            trail.writers.setdefault((record.session, record.process), writer)
            speaker = trail.speakers.setdefault(record.session, writer)
            if writer.layer == "parent" != speaker.layer:
                trail.speakers[record.session] = writer
    return trail


def _is_newer(start: Fields) -> bool:
    schema = start.text("schema")
    if schema == SCHEMA + VERSION:
        return False
    if schema is None or not schema.startswith(SCHEMA):
        start.reject(msg("the log does not state its version; it is read as version {version}",
                         version=VERSION),
                     msg("compare the figures with what you know of the run"))  # fmt: skip
        return False
    start.reject(
        msg("this part was written by a newer probe ({schema}) and is not read",
            schema=schema[:60]),
        msg("install the current version of this program, or measure with the probe it contains"),
    )  # fmt: skip
    return True


def _digest(text: str) -> str:
    return "line-" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
