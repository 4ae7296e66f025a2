"""Sessions: which count as one allocation, and what of a session nobody explains."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from budget.attempts import Attempt, Session, moment


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
