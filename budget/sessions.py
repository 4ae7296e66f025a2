"""Sessions: which count as one allocation, and what of a session nobody explains."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from budget.attempts import Attempt, Session, moment
from budget.idle import activity
from budget.spans import Span, both, joined, length, minus, touches


def allocations(sessions: Iterable[Session], merge_h: float) -> dict[str, str]:
    """Return for each session id the id of the session it counts as.

    Sessions of one boot whose gap is at most ``merge_h`` hours are one allocation: they share
    caches, neighbours and clocks, so they are no independent replication.
    """
    counted: dict[str, str] = {}
    last: dict[str, Session] = {}
    gap = timedelta(hours=merge_h)
    for session in sorted(sessions, key=lambda item: (moment(item.started_at), item.id)):
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


class Division(NamedTuple):
    """Where the reserved time of a session went, in seconds since it began, without overlap.

    reserved = attempts + waits + idle + gaps. Each moment goes to the first of these that claims
    it: what was measured, then what a person declared, then what the samples saw:

    - ``waits``: declared with ``probe wait``, by reason;
    - ``idle``: nobody declared a wait, and the cards held memory and ran nothing (``idle.held``);
    - ``gaps``: nobody explains them. Samples may still tell what a gap was: ``gaps_free``, the
      cards ran and held nothing; ``gaps_used``, something ran that was not measured. They stay
      gaps, since nobody says why the machine was kept, and the rest of a gap was not sampled.

    ``idle_inside`` is what the samples saw idle within attempts; it is the attempts' own time.
    """

    reserved: Span
    attempts: list[Span]
    waits: dict[str, list[Span]]
    idle: list[Span]
    gaps: list[Span]
    gaps_free: list[Span]
    gaps_used: list[Span]
    idle_inside: list[Span]


def divide(session: Session, attempts: Iterable[Attempt]) -> Division | None:
    """Return where the reserved time went; None when the session has no length."""
    if session.started_at is None or session.reserved_s is None:
        return None
    began = session.started_at
    whole = (0.0, session.reserved_s)

    def clipped(start: datetime | None, length_s: float | None) -> list[Span]:
        if start is None or length_s is None:
            return []
        offset_s = (start - began).total_seconds()
        return both([(offset_s, offset_s + length_s)], [whole])

    own = [item for item in attempts if item.session == session.id]
    measured = joined(span for item in own for span in clipped(item.started_at, item.duration_s))
    waits: dict[str, list[Span]] = {}
    taken = list(measured)
    for wait in session.waits:
        left = minus(clipped(wait.started_at, wait.duration_s), taken)
        waits[wait.reason] = joined([*waits.get(wait.reason, []), *left])
        taken += left
    seen = activity(session, own)
    idle = minus(both(seen.held, [whole]), taken)
    gaps = minus([whole], [*taken, *idle])
    # What ran in a window that reaches into an attempt was most likely the attempt.
    outside = [window for window in seen.used if not touches(window, measured)]
    return Division(
        reserved=whole,
        attempts=measured,
        waits={reason: spans for reason, spans in waits.items() if spans},
        idle=idle,
        gaps=gaps,
        gaps_free=both(gaps, seen.free),
        gaps_used=both(gaps, outside),
        idle_inside=both(measured, seen.held),
    )


def gaps_s(session: Session, attempts: Iterable[Attempt]) -> float | None:
    """Return the reserved seconds that nothing explains; None when the session has no length."""
    division = divide(session, attempts)
    return None if division is None else length(division.gaps)
