"""Reserved time in which the cards did nothing, found in the samples of a session.

A window of samples says of one card whether a kernel ran in it (utilisation above 0) and whether
memory was held: above the least that the session ever saw in use there by more than 500 MiB and
2 % of the card. What it says of the whole reservation:

- *used*: a kernel ran on some card;
- *held*: no kernel ran on any, and memory was held, for at least 60 s together: somebody kept the
  machine without using it;
- *free*: no kernel ran on any, and nothing was held.

Of a card that holds memory and does not tell its utilisation (an instance of a card, some
drivers), nothing is said. Times are seconds since the session began.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from budget.attempts import Attempt, Sample, Session
from budget.spans import Span, joined, minus

HELD_BYTES = 500 * 2**20
HELD_SHARE = 0.02
"""Memory above the baseline that counts as held: a context of CUDA without data is smaller."""

IDLE_S = 60.0
"""Shorter pauses belong to work: reading data, writing results, a person's next command."""

JOIN_S = 5.0
"""Windows of two processes leave up to one interval of ``watch`` between them."""

HOST = "host"
Card: TypeAlias = tuple[int | None, str]


class Activity(NamedTuple):
    """What the cards did; whatever is in none of the three was not sampled or not told.

    ``used`` keeps its windows apart: a kernel ran somewhere in each.
    """

    used: list[Span]
    held: list[Span]
    free: list[Span]


def activity(session: Session, attempts: Iterable[Attempt]) -> Activity:
    """Return what the samples say of the session's cards; empty without samples of a card."""
    began = session.started_at
    windows = [item for item in session.samples if item.device != HOST and item.at is not None]
    if began is None or not windows:
        return Activity([], [], [])
    floors = _floors(windows, [item for item in attempts if item.session == session.id])
    used: list[Span] = []
    held: list[Span] = []
    untold: list[Span] = []
    free: list[Span] = []
    for item in windows:
        end = (item.at - began).total_seconds() if item.at else 0.0
        span = (max(0.0, end - item.window_s), end)
        if item.utilisation_percent is not None and item.utilisation_percent.high > 0:
            used.append(span)
        elif not _holds(item, floors.get(_card(item)), session):
            free.append(span)
        elif item.utilisation_percent is None:
            untold.append(span)
        else:
            held.append(span)
    busy = joined([*used, *untold])
    idle = [span for span in joined(minus(held, busy), JOIN_S) if span[1] - span[0] >= IDLE_S]
    return Activity(sorted(used), minus(idle, busy), minus(free, [*busy, *held]))


def _holds(item: Sample, floor: float | None, session: Session) -> bool:
    if item.memory_bytes is None or floor is None:
        return False
    size = session.host.memory_of(item.device) or 0
    return item.memory_bytes.low - floor > max(HELD_BYTES, HELD_SHARE * size)


def _floors(windows: Iterable[Sample], attempts: Iterable[Attempt]) -> dict[Card, float]:
    """Return the least memory ever seen in use on each card, before or in any window."""
    floors: dict[Card, float] = {}
    for item in windows:
        if item.memory_bytes is not None:
            card = _card(item)
            floors[card] = min(floors.get(card, item.memory_bytes.low), item.memory_bytes.low)
    for attempt in attempts:
        for memory in attempt.memory:
            if memory.baseline_bytes is not None and memory.layer == "parent":
                card = (memory.node, memory.device)
                floors[card] = min(
                    floors.get(card, memory.baseline_bytes), float(memory.baseline_bytes)
                )
    return floors


def _card(item: Sample) -> Card:
    return item.node, item.device
