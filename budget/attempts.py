"""What measurement logs say: attempts, their phases, sessions, and what could not be read.

Times are aware ``datetime`` in UTC, durations seconds, memory bytes. ``None`` means "the log does
not say"; nothing here is ever filled in. Every record remembers the file and line it came from.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

import msgspec

from budget.figures import Source
from budget.messages import Problem

Outcome = Literal["ok", "failed", "interrupted"]
PhaseName = Literal["prepare", "load", "run"]
PHASES: tuple[PhaseName, ...] = ("prepare", "load", "run")

NO_GPU_SIGN = "nvidia-smi was not found"
NO_GPU_SIGN_MACOS = "macOS has no driver for NVIDIA GPUs"
NO_GPU_SIGNS = (NO_GPU_SIGN, NO_GPU_SIGN_MACOS)
"""The only reasons of ``Host.gpus_why`` that mean that the host has no GPU (probe/LOG.md)."""

NESTING_SLACK_S = 1e-3
"""How far a phase may seem to end after the one that holds it: two clocks and rounding."""


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

    @property
    def gpu_count(self) -> int | None:
        """Number of GPUs: 0 when the host is known to have none, None when it is not known."""
        if self.gpus:
            return len(self.gpus)
        return 0 if self.gpus_why in NO_GPU_SIGNS else None


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
    began: Sign | None = None
    """When it started, by every clock the log states."""

    def phase_s(self, name: str) -> float | None:
        """Return the total seconds of phase ``name``; None when it was not recorded in full.

        Each moment of a process belongs to its innermost phase, and what several processes do at
        the same time counts once.
        """
        durations = [phase.duration_s for phase in self.phases if phase.name == name]
        if not durations or any(value is None for value in durations):
            return None
        return _total_s([part for part in _parts(self.phases) if part.name == name])

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


def unattributed_s(attempt: Attempt) -> float | None:
    """Return the seconds of an attempt that belong to no phase; None when it has no duration."""
    if attempt.duration_s is None:
        return None
    return max(0.0, attempt.duration_s - _total_s(_parts(attempt.phases)))


class _Part(msgspec.Struct):
    """What is left of a phase without the phases inside it. ``spans``: relative seconds."""

    process: str
    name: str
    seconds: float
    start: float | None
    end: float
    spans: list[tuple[float, float]]


def _parts(phases: Iterable[Phase]) -> list[_Part]:
    """Return of each phase of known length what belongs to none of the phases inside it."""
    known = list(phases)
    zero = min((phase.started_at for phase in known if phase.started_at), default=None)
    parts: list[_Part] = []
    for phase in known:
        if phase.duration_s is None:
            continue
        start = None
        if zero is not None and phase.started_at is not None:
            start = (phase.started_at - zero).total_seconds()
        end = (start or 0.0) + phase.duration_s
        spans = [] if start is None else [(start, end)]
        process = phase.key.partition("-")[0]
        parts.append(_Part(process, phase.name, phase.duration_s, start, end, spans))
    dated = [part for part in parts if part.start is not None]
    open_parts: dict[str, list[_Part]] = {}
    for part in sorted(dated, key=lambda part: (part.start or 0.0, -part.end)):
        start = part.start or 0.0
        stack = open_parts.setdefault(part.process, [])
        while stack and (stack[-1].end <= start or stack[-1].end + NESTING_SLACK_S < part.end):
            stack.pop()
        if stack:
            outer = stack[-1]
            # Of the inner phase, what does not hang over the end of the outer one.
            within_s = part.seconds - max(0.0, part.end - outer.end)
            outer.seconds = max(0.0, outer.seconds - max(0.0, within_s))
            begin, end = outer.spans.pop()
            outer.spans += [(begin, start), (min(part.end, end), end)]
        stack.append(part)
    return parts


def _total_s(parts: list[_Part]) -> float:
    """Return the seconds of all parts; what several processes did at one time counts once."""
    total_s = sum(part.seconds for part in parts)
    by_process: dict[str, list[tuple[float, float]]] = {}
    for part in parts:
        by_process.setdefault(part.process, []).extend(part.spans)
    if len(by_process) < 2:
        return total_s
    together = _union_s(span for spans in by_process.values() for span in spans)
    return total_s - max(0.0, sum(map(_union_s, by_process.values())) - together)


def _union_s(spans: Iterable[tuple[float, float]]) -> float:
    total_s, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total_s += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total_s


def moment(value: datetime | None) -> float:
    """Return seconds to sort by; an unknown time comes first."""
    return value.timestamp() if value is not None else float("-inf")
