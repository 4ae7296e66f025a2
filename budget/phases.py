"""Phases of several processes, layers and ranks as one course of time: no moment counts twice.

Each moment of an attempt belongs to one phase at most:

1. of one process, the innermost phase;
2. of several layers, the one that saw most: ``api``, else ``hook``, else ``parent``, so that a
   command that is a phase as a whole keeps only what its own processes did not mark;
3. of several ranks, the phase that is furthest from the end: a group runs when its slowest rank
   does, so the slowest rank gives the time of every phase, and processes without a rank (the
   launcher) do not speak while ranks do;
4. of several processes of one rank, the one whose phases began first: it started the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from budget.spans import Span

LAYERS = ("api", "hook", "parent")
"""Layers that mark phases; of two that speak of one moment the first one counts."""
COURSE = ("prepare", "load", "run")

NESTING_SLACK_S = 1e-3
"""How far a phase may seem to end after the one that holds it: two clocks and rounding."""


class Timed(Protocol):
    """A phase as a log states it. Durations are seconds."""

    @property
    def key(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def layer(self) -> str: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def node(self) -> int | None: ...
    @property
    def duration_s(self) -> float | None: ...
    @property
    def started_at(self) -> datetime | None: ...


PhaseT = TypeVar("PhaseT", bound=Timed)
Process: TypeAlias = tuple[int | None, int | None, str, str]


class Stretch(NamedTuple, Generic[PhaseT]):
    """A part of a phase that counts, in seconds since the first dated phase began."""

    phase: PhaseT
    start_s: float
    end_s: float


class _Part:
    """What is left of a phase without the phases inside it."""

    __slots__ = ("end", "phase", "process", "seconds", "spans", "start")

    def __init__(self, phase: Timed, seconds: float, zero: datetime | None) -> None:
        self.phase = phase
        self.process: Process = (phase.node, phase.rank, phase.key.partition("-")[0], phase.layer)
        self.seconds = seconds
        self.start: float | None = None
        if zero is not None and phase.started_at is not None:
            self.start = (phase.started_at - zero).total_seconds()
        self.end = (self.start or 0.0) + seconds
        self.spans: list[Span] = [] if self.start is None else [(self.start, self.end)]


def seconds_by_name(phases: Iterable[Timed]) -> dict[str, float]:
    """Return the seconds of each phase by the rules of this module.

    A phase whose start is lost counts in full, unless a better layer marked one of its name.
    """
    parts = _parts(phases)
    totals: dict[str, float] = {part.phase.name: 0.0 for part in parts}
    if len({part.process for part in parts if part.spans}) < 2:
        counted = parts
    else:
        for part, start, end in _course(parts):
            totals[part.phase.name] += end - start
        counted = [part for part in parts if not part.spans and part.start is None]
    for part in counted:
        better = LAYERS[: _place(part.phase.layer)]
        if part.start is None and any(
            other.phase.name == part.phase.name and other.phase.layer in better for other in parts
        ):
            continue
        totals[part.phase.name] += part.seconds
    return totals


def stretches(phases: Sequence[PhaseT]) -> list[Stretch[PhaseT]]:
    """Return the dated phases as one course in order of time, without overlap."""
    found: list[Stretch[PhaseT]] = []
    for part, start, end in _course(_parts(phases)):
        phase: PhaseT = part.phase  # type: ignore[assignment]
        if found and found[-1].phase is phase and found[-1].end_s >= start:
            found[-1] = Stretch(phase, found[-1].start_s, end)
        else:
            found.append(Stretch(phase, start, end))
    return found


def _parts(phases: Iterable[Timed]) -> list[_Part]:
    """Return of each phase of known length what belongs to none of the phases inside it."""
    known = list(phases)
    zero = min((phase.started_at for phase in known if phase.started_at), default=None)
    parts = [
        _Part(phase, phase.duration_s, zero) for phase in known if phase.duration_s is not None
    ]
    dated = [part for part in parts if part.start is not None]
    open_parts: dict[Process, list[_Part]] = {}
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


def _course(parts: Sequence[_Part]) -> list[tuple[_Part, float, float]]:
    """Return which part every moment belongs to, as stretches in order of time."""
    first: dict[Process, float] = {}
    edges: set[float] = set()
    pieces: list[tuple[float, float, _Part]] = []
    for part in parts:
        for start, end in part.spans:
            if end <= start:
                continue
            pieces.append((start, end, part))
            edges |= {start, end}
            first[part.process] = min(first.get(part.process, start), start)
    pieces.sort(key=lambda piece: piece[0])
    moments = sorted(edges)
    active: list[tuple[float, float, _Part]] = []
    found: list[tuple[_Part, float, float]] = []
    at = 0
    for start, end in pairwise(moments):
        active = [piece for piece in active if piece[1] > start]
        while at < len(pieces) and pieces[at][0] <= start:
            active.append(pieces[at])
            at += 1
        if active:
            found.append((_speaker([piece[2] for piece in active], first), start, end))
    return found


def _speaker(active: Sequence[_Part], first: dict[Process, float]) -> _Part:
    """Return the part that a moment belongs to."""
    if len(active) == 1:
        return active[0]
    best = min(_place(part.phase.layer) for part in active)
    speaking = [part for part in active if _place(part.phase.layer) == best]
    speaking = [part for part in speaking if part.phase.rank is not None] or speaking
    of_rank: dict[int | None, _Part] = {}
    for part in sorted(speaking, key=lambda part: (first[part.process], part.start or 0.0)):
        of_rank.setdefault(part.phase.rank, part)
    return min(of_rank.values(), key=lambda part: (_stage(part.phase.name), part.phase.rank or 0))


def _place(layer: str) -> int:
    return LAYERS.index(layer) if layer in LAYERS else len(LAYERS)


def _stage(name: str) -> int:
    return COURSE.index(name) if name in COURSE else len(COURSE)
