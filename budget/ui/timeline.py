"""What every reserved moment of a session was: intervals from the records of the logs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal, TypeAlias, get_args

import msgspec

from budget.attempts import Attempt, Outcome, Session, Wait
from budget.figures import Source
from budget.messages import Message, msg

Kind = Literal["prepare", "load", "run", "unattributed", "wait", "unexplained"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NAMES: dict[Kind, Message] = {
    "prepare": msg("prepare"),
    "load": msg("load"),
    "run": msg("run"),
    "unattributed": msg("unattributed"),
    "wait": msg("wait"),
    "unexplained": msg("unexplained"),
}
OUTCOMES: dict[Outcome | None, Message] = {
    "ok": msg("ok"),
    "failed": msg("failed"),
    "interrupted": msg("interrupted"),
    None: msg("no end recorded"),
}
"""How an outcome reads; an attempt without an end was cut off with its log."""
Span: TypeAlias = tuple[float, float]

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


def intervals(session: Session, attempts: Iterable[Attempt]) -> tuple[Interval, ...]:
    """Return what filled a session in order of time; empty when the log has no times for it."""
    if session.started_at is None:
        return ()
    began, found, busy = session.started_at, [], []
    for attempt in attempts:
        if attempt.session != session.id:
            continue
        whole = _span(began, attempt.started_at, attempt.duration_s)
        if whole is None:
            continue
        busy.append(whole)
        phases = _phases(began, attempt, whole)
        found.extend(phases)
        for start, end in _rest(whole, [(item.start_s, item.end_s) for item in phases]):
            found.append(
                Interval(
                    kind="unattributed",
                    start_s=start,
                    end_s=end,
                    attempt=attempt,
                    source=attempt.source,
                )
            )
    for wait in session.waits:
        seconds = wait.duration_s
        if seconds is None and session.ended_at is not None and wait.started_at is not None:
            seconds = (session.ended_at - wait.started_at).total_seconds()
        span = _span(began, wait.started_at, seconds)
        if span is not None:
            busy.append(span)
            found.append(
                Interval(kind="wait", start_s=span[0], end_s=span[1], wait=wait, source=wait.source)
            )
    if session.reserved_s is not None:
        found.extend(
            Interval(kind="unexplained", start_s=start, end_s=end)
            for start, end in _rest((0.0, session.reserved_s), busy)
        )
    return tuple(sorted(found, key=lambda item: item.start_s))


def _phases(began: datetime, attempt: Attempt, whole: Span) -> list[Interval]:
    """Return the phases of an attempt; one without an end lasted until the attempt ended."""
    found = []
    for phase in attempt.phases:
        if phase.name not in ("prepare", "load", "run") or phase.started_at is None:
            continue
        start = (phase.started_at - began).total_seconds()
        end = whole[1] if phase.duration_s is None else start + phase.duration_s
        if end > start:
            kind: Kind = next(item for item in KINDS if item == phase.name)
            found.append(
                Interval(kind=kind, start_s=start, end_s=end, attempt=attempt, source=phase.source)
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
