"""What measurement logs say: attempts, their phases, sessions, and what could not be read.

Times are aware ``datetime`` in UTC, durations seconds, memory bytes. ``None`` means "the log does
not say"; nothing here is ever filled in. Every record remembers the file and line it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec

from budget.figures import Source
from budget.hosts import NO_GPU_SIGNS as NO_GPU_SIGNS
from budget.hosts import Gpu as Gpu
from budget.hosts import Host as Host
from budget.hosts import Instance as Instance
from budget.hosts import Software as Software
from budget.messages import Problem
from budget.phases import Stretch, seconds_by_name, stretches

Outcome = Literal["ok", "failed", "interrupted"]
PhaseName = Literal["prepare", "load", "run"]
PHASES: tuple[PhaseName, ...] = ("prepare", "load", "run")

WITHOUT_RUN_SHARE = 0.02
WITHOUT_RUN_S = 1.0
"""An attempt whose phases cover it but for this share, or these seconds, and hold no run was
preparation: a program that marked only part of itself leaves more than that."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what is read from logs."""


class Fact(Record, frozen=True, kw_only=True):
    """A record of one log line. ``key`` is the same in every copy of that line."""

    key: str
    source: Source


class Sign(Record, frozen=True, kw_only=True):
    """A moment at which a process was alive, by the time of day and by its monotonic clock."""

    at: datetime | None = None
    mono_ns: int | None = None
    boot: str | None = None
    pid: int | None = None

    def seconds_to(self, later: Sign) -> float | None:
        """Return the seconds from here to ``later``; None when that cannot be told.

        Monotonic clocks are compared within one boot only; times of day jump when a clock is set.
        """
        one_clock = self.boot == later.boot and (
            self.boot is not None or (self.pid is not None and self.pid == later.pid)
        )
        if one_clock and self.mono_ns is not None and later.mono_ns is not None:
            span = (later.mono_ns - self.mono_ns) / 1e9
            if span >= 0:
                return span
        if self.at is None or later.at is None or later.at < self.at:
            return None
        return (later.at - self.at).total_seconds()


class Spread(Record, frozen=True, kw_only=True):
    """Samples of one quantity in one window."""

    low: float
    mean: float
    high: float
    count: int


class Sample(Fact, frozen=True, kw_only=True):
    """What one device did in a window that ended at ``at`` and lasted ``window_s``."""

    device: str
    at: datetime | None
    window_s: float
    layer: str
    node: int | None = None
    attempt: str | None = None
    memory_bytes: Spread | None = None
    """In use on a GPU; on the host, resident memory of the measured processes."""
    utilisation_percent: Spread | None = None
    power_w: Spread | None = None


class Memory(Record, frozen=True, kw_only=True):
    """Peak memory of one device: ``host``, the index of a GPU, or an instance such as ``0:1``."""

    device: str
    layer: str
    """Which layer measured it: ``parent``, ``hook`` or ``api``."""
    rank: int | None = None
    node: int | None = None
    tensor_peak_bytes: int | None = None
    allocator_peak_bytes: int | None = None
    device_peak_bytes: int | None = None
    resident_peak_bytes: int | None = None
    process_peak_bytes: int | None = None
    """In use by the command's own processes, as the driver counts them."""
    attribution: str | None = None
    """``process``: the driver named the command's processes; ``device``: only the whole card."""
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
    rank: int | None = None
    node: int | None = None
    forward_calls: int | None = None
    """Calls of a model outside a generate call, as the hook counted them."""


class Call(Fact, frozen=True, kw_only=True):
    """One generate call, batch or item, with the sizes really processed."""

    duration_s: float | None
    input_tokens: int | None = None
    output_tokens: int | None = None
    batch_size: int | None = None
    read_by: str | None = None
    rank: int | None = None
    node: int | None = None


class Failure(Fact, frozen=True, kw_only=True):
    """An error that the log quotes."""

    kind: str
    signature: str | None = None
    text: str | None = None
    phase: str | None = None
    cause: str | None = None
    """Its entry in the probe's table of causes; None: none fits, or the log is older."""
    line: str | None = None
    """The line of the message that decides the cause."""
    layer: str | None = None
    rank: int | None = None


class Outcomes(Fact, frozen=True, kw_only=True):
    """A result that the measured code reported (``name``, ``value``, ``unit``, ``expected``)."""

    name: str
    value: Any
    unit: str | None = None
    expected: Any = None


class Change(Record, frozen=True, kw_only=True):
    """Something a person changed between attempts, or the hook saw change between two calls."""

    kind: str
    what: str
    before: str | None = None
    after: str | None = None
    reason: str | None = None
    at: datetime | None = None
    layer: str | None = None
    """``hook``: seen between two calls of one process; None when a person said it."""
    attempt: str | None = None
    source: Source


class Check(Record, frozen=True, kw_only=True):
    """One question of ``probe check``. ``passed`` None: it could not be asked."""

    name: str
    passed: bool | None
    said: str | None = None
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


class Repeat(Record, frozen=True, kw_only=True):
    """Which of the repetitions asked for an attempt is."""

    number: int
    of: int


class Part(Record, frozen=True, kw_only=True):
    """What the probe around one rank of an attempt saw; ``rank`` None: there is one probe."""

    rank: int | None = None
    node: int | None = None
    outcome: Outcome | None
    started_at: datetime | None
    duration_s: float | None
    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool = False
    memory: tuple[Memory, ...] = ()
    hook: str | None = None
    """``loaded``, ``idle`` (no library that it knows was used) or ``not-loaded``."""
    hook_why: str | None = None
    devices_read_by: str | None = None
    devices_why: str | None = None
    probe_cpu_s: float | None = None
    source: Source
    end_source: Source | None = None
    began: Sign | None = None


class Attempt(Record, frozen=True, kw_only=True):
    """One try of a command."""

    id: str
    session: str
    block: str | None
    """The label it was started with: a proposal."""
    role: Literal["trial", "campaign"]
    outcome: Outcome | None
    """The worst of its ranks; None: the log has no end of this attempt."""
    started_at: datetime | None
    duration_s: float | None
    """Wall time, of several ranks that of the slowest; a lower bound when ``outcome`` is None."""
    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool = False
    """Whether the probe ended it because its time was over."""
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
    expected: dict[str, str] = {}
    """Results that the paper states, as typed to the probe."""
    variables: dict[str, str] = {}
    """Environment variables that steer inference libraries."""
    repeat: Repeat | None = None
    hook: str | None = None
    hook_why: str | None = None
    devices_read_by: str | None = None
    devices_why: str | None = None
    parts: tuple[Part, ...] = ()
    """One for each rank that a probe was started around; none where there is one probe."""
    source: Source
    """The line of ``attempt.start``."""
    end_source: Source | None = None
    began: Sign | None = None
    """When it started, by every clock the log states."""

    def phase_s(self, name: str) -> float | None:
        """Return the total seconds of phase ``name``; None when it was not recorded in full.

        No moment counts twice: see ``budget.phases``.
        """
        durations = [phase.duration_s for phase in self.phases if phase.name == name]
        if not durations or any(value is None for value in durations):
            return None
        return seconds_by_name(self.phases)[name]

    def course(self) -> list[Stretch[Phase]]:
        """Return the dated phases as one course, in seconds since the first of them began."""
        return stretches(self.phases)

    def layers_of(self, name: str) -> tuple[str, ...]:
        """Return which layers the time of phase ``name`` rests on."""
        dated = [item.phase for item in self.course() if item.phase.name == name]
        found = dated or [phase for phase in self.phases if phase.name == name]
        return tuple(sorted({phase.layer for phase in found}))

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that wrote anything, in order; empty for a run that is not distributed."""
        seen: set[int | None] = {part.rank for part in self.parts}
        seen |= {phase.rank for phase in self.phases} | {call.rank for call in self.calls}
        return tuple(sorted(rank for rank in seen if rank is not None))

    @property
    def counted_calls(self) -> tuple[Call, ...]:
        """The calls that count as units of work.

        What the program itself stated outranks what the hook saw. Of several ranks those of one
        count, of the one whose calls took longest: every rank of a tensor-parallel group records
        every call. Where ranks share the calls among them (data parallel), an estimate in calls
        is then an upper one, and says so.
        """
        stated = tuple(item for item in self.calls if item.read_by == "api") or self.calls
        spent_s: dict[int, float] = {}
        for item in stated:
            if item.rank is not None:
                spent_s[item.rank] = spent_s.get(item.rank, 0.0) + (item.duration_s or 0.0)
        if len(spent_s) < 2:
            return stated
        slowest = max(sorted(spent_s), key=lambda rank: spent_s[rank])
        return tuple(item for item in stated if item.rank == slowest)

    def judged_results(self) -> tuple[tuple[Outcomes, Any], ...]:
        """Return each result with what the paper states: by the program, else typed at the start.

        A result that was expected and never reported stands last, with None as its value.
        """
        told = [
            (item, self.expected.get(item.name) if item.expected is None else item.expected)
            for item in self.results
        ]
        names = {item.name for item in self.results}
        told += [
            (Outcomes(key=f"expected-{name}", source=self.source, name=name, value=None), value)
            for name, value in self.expected.items()
            if name not in names
        ]
        return tuple(told)

    @property
    def without_run(self) -> bool:
        """Whether it was preparation as a whole: its phases cover it, and none of them is a run."""
        if not self.phases or self.duration_s is None:
            return False
        if any(phase.name == "run" or phase.duration_s is None for phase in self.phases):
            return False
        rest_s = unattributed_s(self) or 0.0
        return rest_s <= max(WITHOUT_RUN_S, WITHOUT_RUN_SHARE * self.duration_s)

    @property
    def succeeded(self) -> bool:
        """Whether a run of it ended well; preparation alone is none."""
        return self.outcome == "ok" and not self.without_run

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
    last_seen: Sign | None = None
    """The last sign of life of the process."""


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
    checks: tuple[Check, ...] = ()
    samples: tuple[Sample, ...] = ()
    nodes: tuple[int, ...] = ()
    """Numbers of the nodes of a distributed run; empty where none is stated."""
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


SEVERITY: tuple[Outcome | None, ...] = ("failed", "interrupted", None, "ok")
"""Outcomes of the ranks of one attempt, the worst first; no end is worse than a good one."""


def of_parts(attempt: Attempt, parts: Sequence[Part]) -> Attempt:
    """Return an attempt as its ranks together say: the slowest time, the worst outcome.

    Peaks stand side by side, each with its rank: they are never added up.
    """
    ordered = tuple(sorted(parts, key=lambda part: (part.rank is None, part.rank or 0)))
    worst = min(ordered, key=lambda part: SEVERITY.index(part.outcome))
    hook = min((part for part in ordered), key=lambda part: HOOKS.index(part.hook))
    read = next((part for part in ordered if part.devices_read_by), ordered[0])
    starts = [part.started_at for part in ordered if part.started_at is not None]
    slowest = max(ordered, key=lambda part: part.duration_s or 0.0)
    return msgspec.structs.replace(
        attempt,
        outcome=worst.outcome,
        started_at=min(starts, default=None),
        duration_s=slowest.duration_s,
        exit_code=worst.exit_code,
        signal=worst.signal,
        timed_out=any(part.timed_out for part in ordered),
        memory=tuple(memory for part in ordered for memory in part.memory),
        hook=hook.hook,
        hook_why=hook.hook_why,
        devices_read_by=read.devices_read_by,
        devices_why=None if read.devices_read_by else read.devices_why,
        parts=() if len(ordered) == 1 and ordered[0].rank is None else ordered,
        source=ordered[0].source,
        end_source=worst.end_source or slowest.end_source,
        began=ordered[0].began,
    )


HOOKS: tuple[str | None, ...] = ("not-loaded", None, "idle", "loaded")
"""What the hook did in the ranks of one attempt, the worst first."""


def unattributed_s(attempt: Attempt) -> float | None:
    """Return the seconds of an attempt that belong to no phase; None when it has no duration."""
    if attempt.duration_s is None:
        return None
    return max(0.0, attempt.duration_s - sum(seconds_by_name(attempt.phases).values()))


def moment(value: datetime | None) -> float:
    """Return seconds to sort by; an unknown time comes first."""
    return value.timestamp() if value is not None else float("-inf")
