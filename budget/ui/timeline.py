"""What every reserved moment of a session was: intervals from the records of the logs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, get_args

import msgspec

from budget.attempts import Attempt, Outcome, Phase, Session, Wait
from budget.figures import Source
from budget.messages import Message, msg
from budget.phases import stretches
from budget.sessions import divide
from budget.spans import Span, both, minus

Kind = Literal["prepare", "load", "run", "unattributed", "wait", "idle", "unexplained"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NAMES: dict[Kind, Message] = {
    "prepare": msg("prepare"),
    "load": msg("load"),
    "run": msg("run"),
    "unattributed": msg("unattributed"),
    "wait": msg("wait"),
    "idle": msg("idle, memory held"),
    "unexplained": msg("unexplained"),
}
OUTCOMES: dict[Outcome | None, Message] = {
    "ok": msg("ok"),
    "failed": msg("failed"),
    "interrupted": msg("interrupted"),
    None: msg("no end recorded"),
}
"""How an outcome reads; an attempt without an end was cut off with its log."""

SHORTEST_S = 0.01
"""Between the end of a phase and the start of the next lie fractions of a millisecond; shorter
rests are not drawn, they stay in the sums of the session."""


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a session, in seconds since its start."""

    kind: Kind
    start_s: float
    end_s: float
    attempt: Attempt | None = None
    wait: Wait | None = None
    source: Source | None = None
    cards: Literal["free", "used"] | None = None
    """What the samples say of the cards in an unexplained stretch, where they say anything."""


def intervals(session: Session, attempts: Iterable[Attempt]) -> tuple[Interval, ...]:
    """Return what filled a session in order of time; empty when the log has no times for it."""
    if session.started_at is None:
        return ()
    began, found, busy = session.started_at, [], []
    own = [attempt for attempt in attempts if attempt.session == session.id]
    for attempt in own:
        whole = _span(began, attempt.started_at, attempt.duration_s)
        if whole is not None:
            busy.append(whole)
            found.extend(_of_attempt(began, attempt, attempt.phases, whole))
    for wait in session.waits:
        seconds = wait.duration_s
        if seconds is None and session.ended_at is not None and wait.started_at is not None:
            seconds = (session.ended_at - wait.started_at).total_seconds()
        span = _span(began, wait.started_at, seconds)
        for start, end in minus([span], busy) if span is not None else []:
            busy.append((start, end))
            found.append(
                Interval(kind="wait", start_s=start, end_s=end, wait=wait, source=wait.source)
            )
    division = divide(session, own)
    if division is not None:
        idle = minus(division.idle, busy)
        found.extend(Interval(kind="idle", start_s=start, end_s=end) for start, end in idle)
        gaps = _rest(division.reserved, [*busy, *idle])
        used, free = both(gaps, division.gaps_used), both(gaps, division.gaps_free)
        seen: list[tuple[list[Span], Literal["free", "used"] | None]] = [
            (used, "used"),
            (free, "free"),
            (minus(gaps, [*used, *free]), None),
        ]
        found.extend(
            Interval(kind="unexplained", start_s=start, end_s=end, cards=cards)
            for spans, cards in seen
            for start, end in spans
        )
    return tuple(sorted(found, key=lambda item: item.start_s))


def ranks(attempt: Attempt) -> dict[int, tuple[Interval, ...]]:
    """Return what each rank of an attempt did, in seconds since the attempt began."""
    began, lanes = attempt.started_at, {}
    if began is None:
        return {}
    parts = {part.rank: part for part in attempt.parts}
    for rank in attempt.ranks:
        part = parts.get(rank)
        start = part.started_at if part else began
        whole = _span(began, start, part.duration_s if part else attempt.duration_s)
        phases = [phase for phase in attempt.phases if phase.rank == rank]
        if whole is not None:
            lanes[rank] = tuple(
                sorted(_of_attempt(began, attempt, phases, whole), key=lambda item: item.start_s)
            )
    return lanes


def _of_attempt(
    began: datetime, attempt: Attempt, phases: Sequence[Phase], whole: Span
) -> list[Interval]:
    """Return the course of an attempt; a phase without an end lasted until the attempt ended."""
    found: list[Interval] = []

    def add(phase: Phase, start: float, end: float) -> None:
        kind = next((item for item in KINDS if item == phase.name), None)
        if kind is not None and end > start:
            found.append(
                Interval(kind=kind, start_s=start, end_s=end, attempt=attempt, source=phase.source)
            )

    dated = [item for item in phases if item.started_at is not None and item.duration_s is not None]
    if dated:
        zero = min(item.started_at for item in dated if item.started_at is not None)
        offset_s = (zero - began).total_seconds()
        for piece in stretches(dated):
            add(piece.phase, offset_s + piece.start_s, offset_s + piece.end_s)
    for phase in phases:
        if phase.duration_s is None and phase.started_at is not None:
            start = (phase.started_at - began).total_seconds()
            for left in minus([(start, whole[1])], [(i.start_s, i.end_s) for i in found]):
                add(phase, *left)
    for start, end in _rest(whole, [(item.start_s, item.end_s) for item in found]):
        found.append(
            Interval(
                kind="unattributed",
                start_s=start,
                end_s=end,
                attempt=attempt,
                source=attempt.source,
            )
        )
    return found


def _span(began: datetime, start: datetime | None, seconds: float | None) -> Span | None:
    if start is None or seconds is None:
        return None
    offset = (start - began).total_seconds()
    return offset, offset + seconds


def _rest(whole: Span, covered: Sequence[Span]) -> list[Span]:
    """Return the parts of ``whole`` that nothing covers."""
    rest, cursor = [], whole[0]
    for start, end in sorted(covered):
        if start - cursor >= SHORTEST_S:
            rest.append((cursor, min(start, whole[1])))
        cursor = max(cursor, end)
    if whole[1] - cursor >= SHORTEST_S:
        rest.append((cursor, whole[1]))
    return [span for span in rest if span[1] > span[0]]
