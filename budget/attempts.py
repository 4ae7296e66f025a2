"""What measurement logs say: attempts, their phases, sessions, and what could not be read.

Times are aware ``datetime`` in UTC, durations seconds, memory bytes. ``None`` means "the log does
not say"; nothing here is ever filled in. Every record remembers the file and line it came from.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Literal, TypeVar

import msgspec

from budget.figures import Source
from budget.messages import Problem, msg

Outcome = Literal["ok", "failed", "interrupted"]
PhaseName = Literal["prepare", "load", "run"]
FactT = TypeVar("FactT", bound="Fact")
RecordT = TypeVar("RecordT", bound="Change | Note")
PHASES: tuple[PhaseName, ...] = ("prepare", "load", "run")


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what is read from logs."""


class Fact(Record, frozen=True, kw_only=True):
    """A record of one log line. ``key`` is the same in every copy of that line."""

    key: str
    source: Source


class Memory(Record, frozen=True, kw_only=True):
    """Peak memory of one device. ``device`` is ``host`` or the index of a GPU."""

    device: str
    layer: str
    """Which layer measured it: ``parent``, ``hook`` or ``api``."""
    tensor_peak_bytes: int | None = None
    allocator_peak_bytes: int | None = None
    device_peak_bytes: int | None = None
    resident_peak_bytes: int | None = None
    baseline_bytes: int | None = None
    exact: bool = False
    source: Source | None = None


class Phase(Fact, frozen=True, kw_only=True):
    """One interval of an attempt; a phase may occur several times."""

    name: str
    layer: str
    duration_s: float | None
    started_at: datetime | None = None
    ended: bool = True
    """False when the log has no end of this phase: the process died in it."""
    outcome: Outcome | None = None
    memory: tuple[Memory, ...] = ()


class Call(Fact, frozen=True, kw_only=True):
    """One generate call, batch or item, with the sizes really processed."""

    duration_s: float | None
    input_tokens: int | None = None
    output_tokens: int | None = None
    batch_size: int | None = None
    read_by: str | None = None


class Failure(Fact, frozen=True, kw_only=True):
    """An error that the log quotes."""

    kind: str
    signature: str | None = None
    text: str | None = None
    phase: str | None = None


class Outcomes(Fact, frozen=True, kw_only=True):
    """A result that the measured code reported (``name``, ``value``, ``unit``, ``expected``)."""

    name: str
    value: Any
    unit: str | None = None
    expected: Any = None


class Change(Record, frozen=True, kw_only=True):
    """Something a person changed between attempts."""

    kind: str
    what: str
    before: str | None = None
    after: str | None = None
    reason: str | None = None
    at: datetime | None = None
    source: Source


class Wait(Record, frozen=True, kw_only=True):
    """Reserved time in which nothing useful ran. ``duration_s`` None: still open at the end."""

    reason: str
    started_at: datetime | None
    duration_s: float | None
    source: Source


class Note(Record, frozen=True, kw_only=True):
    """Free text of a person."""

    text: str
    at: datetime | None
    source: Source


class Code(Record, frozen=True, kw_only=True):
    """Version of the measured code. A dirty tree agrees only with the same ``diff_hash``."""

    commit: str | None = None
    dirty: bool | None = None
    diff_hash: str | None = None


class Intended(Record, frozen=True, kw_only=True):
    """The condition the attempt was started for, as typed to the probe."""

    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    batch_size: int | None = None
    parameters: dict[str, str] = {}


class Gpu(Record, frozen=True, kw_only=True):
    """One GPU of a host as probed."""

    name: str | None = None
    uuid: str | None = None
    memory_bytes: int | None = None
    compute_capability: str | None = None
    mig_profile: str | None = None


class Host(Record, frozen=True, kw_only=True):
    """A host as probed."""

    os: str | None = None
    cpu: str | None = None
    cpu_count: int | None = None
    ram_bytes: int | None = None
    python: str | None = None
    driver: str | None = None
    gpus: tuple[Gpu, ...] = ()
    gpus_why: str | None = None
    """Why no GPU is listed, where none is."""


class Software(Record, frozen=True, kw_only=True):
    """What the measured process had loaded. ``cuda`` None with a torch: a build without CUDA."""

    torch: str | None = None
    cuda: str | None = None
    arch_list: tuple[str, ...] = ()
    libraries: dict[str, str] = {}


class Attempt(Record, frozen=True, kw_only=True):
    """One try of a command."""

    id: str
    session: str
    block: str | None
    """The label it was started with: a proposal."""
    role: Literal["trial", "campaign"]
    outcome: Outcome | None
    """None: the log has no end of this attempt."""
    started_at: datetime | None
    duration_s: float | None
    """Wall time; a lower bound when ``outcome`` is None."""
    exit_code: int | None = None
    signal: str | None = None
    argv: tuple[str, ...] = ()
    code: Code = Code()
    intended: Intended = Intended()
    host: Host = Host()
    software: Software | None = None
    phases: tuple[Phase, ...] = ()
    calls: tuple[Call, ...] = ()
    memory: tuple[Memory, ...] = ()
    failures: tuple[Failure, ...] = ()
    results: tuple[Outcomes, ...] = ()
    retry_of: str | None = None
    source: Source
    """The line of ``attempt.start``."""
    end_source: Source | None = None

    def phase_s(self, name: str) -> float | None:
        """Return the total seconds of phase ``name``; None when it was not recorded in full."""
        durations = [phase.duration_s for phase in self.phases if phase.name == name]
        if not durations or any(value is None for value in durations):
            return None
        return sum(value for value in durations if value is not None)

    @property
    def reached_run(self) -> bool:
        """Whether its run phase began; without any phase, whether it succeeded."""
        if self.phases:
            return any(phase.name == "run" for phase in self.phases)
        return self.outcome == "ok"


class Fragment(Record, frozen=True, kw_only=True):
    """What a process inside an attempt wrote; joined to the attempt by its id."""

    attempt: str
    software: Software | None = None
    phases: tuple[Phase, ...] = ()
    calls: tuple[Call, ...] = ()
    failures: tuple[Failure, ...] = ()
    results: tuple[Outcomes, ...] = ()


class Session(Record, frozen=True, kw_only=True):
    """One reservation of a host, from its first to its last sign of life."""

    id: str
    host: Host
    boot: str | None
    started_at: datetime | None
    """Reservation start if it was given, else the first record."""
    ended_at: datetime | None
    """Release if it was given, else the last record: then ``closed`` tells whether it ended."""
    closed: bool
    attempts: tuple[str, ...] = ()
    waits: tuple[Wait, ...] = ()
    changes: tuple[Change, ...] = ()
    notes: tuple[Note, ...] = ()
    source: Source

    @property
    def reserved_s(self) -> float | None:
        """Reserved seconds; a lower bound while the session is not closed."""
        if self.started_at is None or self.ended_at is None:
            return None
        return (self.ended_at - self.started_at).total_seconds()


class ImportedLog(Record, frozen=True, kw_only=True):
    """One file as an importer read it. Whatever could not be read stands in ``problems``."""

    name: str
    format: str
    sessions: tuple[Session, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    fragments: tuple[Fragment, ...] = ()
    problems: tuple[Problem, ...] = ()


class Measurements(Record, frozen=True, kw_only=True):
    """All files together, each attempt and session once."""

    sessions: tuple[Session, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    problems: tuple[Problem, ...] = ()

    def session(self, session_id: str) -> Session | None:
        """Return the session of that id, or None."""
        return next((item for item in self.sessions if item.id == session_id), None)


def combine(logs: Iterable[ImportedLog]) -> Measurements:
    """Join files: fragments to their attempts, and what stands in two files only once.

    The first file that holds the end of an attempt wins, else the first that holds its start. A
    fragment whose attempt is in no file is a problem that names what to upload.
    """
    sessions: dict[str, Session] = {}
    attempts: dict[str, Attempt] = {}
    fragments: list[Fragment] = []
    problems: list[Problem] = []
    for log in logs:
        problems.extend(log.problems)
        for session in log.sessions:
            known = sessions.get(session.id)
            sessions[session.id] = session if known is None else _joined(known, session)
        for attempt in log.attempts:
            if attempt.id not in attempts:
                attempts[attempt.id] = attempt
                continue
            kept, left = attempts[attempt.id], attempt
            if kept.end_source is None and attempt.end_source is not None:
                attempts[attempt.id], kept, left = attempt, attempt, kept
            problems.append(
                Problem(
                    f"{left.source.name}:{left.source.line}",
                    msg(
                        "attempt {attempt} was already read from {file}",
                        attempt=left.id,
                        file=kept.source.name,
                    ),
                    msg("nothing to do: it counts once"),
                )
            )
        fragments.extend(log.fragments)
    for fragment in fragments:
        owner = attempts.get(fragment.attempt)
        if owner is None:
            where = next(iter(_sources(fragment)), None)
            problems.append(
                Problem(
                    f"{where.name}:{where.line}" if where else fragment.attempt,
                    msg("the start of attempt {attempt} is in no file", attempt=fragment.attempt),
                    msg("upload the file that `probe end` wrote, or all files of its folder"),
                )
            )
            continue
        attempts[owner.id] = _with_fragment(owner, fragment)
    ordered = sorted(attempts.values(), key=lambda item: (_moment(item.started_at), item.id))
    return Measurements(
        sessions=tuple(sorted(sessions.values(), key=lambda s: (_moment(s.started_at), s.id))),
        attempts=tuple(ordered),
        problems=tuple(problems),
    )


def allocations(sessions: Iterable[Session], merge_h: float) -> dict[str, str]:
    """Return for each session id the id of the session it counts as.

    Sessions of one boot whose gap is at most ``merge_h`` hours are one allocation: they share
    caches, neighbours and clocks, so they are no independent replication.
    """
    counted: dict[str, str] = {}
    last: dict[str, Session] = {}
    gap = timedelta(hours=merge_h)
    for session in sorted(sessions, key=lambda item: (_moment(item.started_at), item.id)):
        before = last.get(session.boot) if session.boot else None
        counted[session.id] = session.id
        if (
            before is not None
            and session.started_at is not None
            and before.ended_at is not None
            and session.started_at - before.ended_at <= gap
        ):
            counted[session.id] = counted[before.id]
        if session.boot:
            last[session.boot] = session
    return counted


def unattributed_s(attempt: Attempt) -> float | None:
    """Return the seconds of an attempt that belong to no phase; None when it has no duration."""
    if attempt.duration_s is None:
        return None
    known = sum(phase.duration_s or 0.0 for phase in attempt.phases)
    return max(0.0, attempt.duration_s - known)


def gaps_s(session: Session, attempts: Iterable[Attempt]) -> float | None:
    """Return the reserved seconds that are neither an attempt nor a wait: unexplained.

    Overlapping intervals count once. None when the session has no length.
    """
    if session.started_at is None or session.ended_at is None:
        return None
    start, end = session.started_at, session.ended_at
    own = [(item.started_at, item.duration_s) for item in attempts if item.session == session.id]
    waited = [(item.started_at, item.duration_s) for item in session.waits]
    spans = [
        (begin, begin + timedelta(seconds=duration_s))
        for begin, duration_s in own + waited
        if begin is not None and duration_s is not None
    ]
    busy, cursor = timedelta(0), start
    for begin, finish in sorted(spans):
        begin, finish = max(begin, cursor), min(finish, end)
        if finish > begin:
            busy += finish - begin
            cursor = finish
    return max(0.0, (end - start - busy).total_seconds())


def _joined(first: Session, other: Session) -> Session:
    """Join what two files say of one session: the widest span, each record once."""
    starts = [item.started_at for item in (first, other) if item.started_at is not None]
    ends = [item.ended_at for item in (first, other) if item.ended_at is not None]
    closed = [item for item in (first, other) if item.closed]
    return msgspec.structs.replace(
        first,
        started_at=min(starts, default=None),
        ended_at=closed[0].ended_at if closed else max(ends, default=None),
        closed=bool(closed),
        attempts=tuple(dict.fromkeys((*first.attempts, *other.attempts))),
        host=first.host if first.host.gpus else other.host if other.host.gpus else first.host,
        boot=first.boot or other.boot,
        waits=_waits_of(first, other),
        changes=_once(first.changes, other.changes),
        notes=_once(first.notes, other.notes),
    )


def _waits_of(first: Session, other: Session) -> tuple[Wait, ...]:
    """Return each wait once; where one file saw its end and the other did not, with its end."""
    waits: dict[tuple[str, datetime | None], Wait] = {}
    for wait in (*first.waits, *other.waits):
        known = waits.get((wait.reason, wait.started_at))
        if known is None or known.duration_s is None:
            waits[wait.reason, wait.started_at] = wait
    return tuple(waits.values())


def _once(mine: tuple[RecordT, ...], more: tuple[RecordT, ...]) -> tuple[RecordT, ...]:
    """Return all records; those that differ only in the file they were read from count once."""
    nowhere = Source("log", "")
    kept: dict[str, RecordT] = {}
    for item in (*mine, *more):
        kept.setdefault(repr(msgspec.structs.replace(item, source=nowhere)), item)
    return tuple(kept.values())


def _with_fragment(attempt: Attempt, fragment: Fragment) -> Attempt:
    """Add what a child process wrote, leaving out what the attempt already has."""
    return msgspec.structs.replace(
        attempt,
        software=_with_torch(attempt.software, fragment.software),
        phases=_merged(attempt.phases, fragment.phases),
        calls=_merged(attempt.calls, fragment.calls),
        failures=_merged(attempt.failures, fragment.failures),
        results=_merged(attempt.results, fragment.results),
    )


def _with_torch(mine: Software | None, other: Software | None) -> Software | None:
    """Return the process that had torch: a launcher that only starts others has none."""
    return next((item for item in (mine, other) if item and item.torch), mine or other)


def _merged(mine: tuple[FactT, ...], more: tuple[FactT, ...]) -> tuple[FactT, ...]:
    """Return each fact once; a phase that one file cut off is taken from the file that did not."""
    facts = {fact.key: fact for fact in mine}
    for fact in more:
        known = facts.get(fact.key)
        if known is None or (isinstance(known, Phase) and not known.ended):
            facts[fact.key] = fact
    return tuple(facts.values())


def _sources(fragment: Fragment) -> Iterable[Source]:
    for group in (fragment.phases, fragment.calls, fragment.failures, fragment.results):
        for item in group:
            yield item.source


def _moment(value: datetime | None) -> float:
    return value.timestamp() if value is not None else float("-inf")
