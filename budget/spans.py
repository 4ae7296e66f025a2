"""Stretches of time as pairs of numbers, start and end: joined, cut and measured."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import TypeAlias

Span: TypeAlias = tuple[float, float]


def joined(spans: Iterable[Span], slack: float = 0.0) -> list[Span]:
    """Return the spans in order without overlap; what is at most ``slack`` apart becomes one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if end <= start:
            continue
        if found and start <= found[-1][1] + slack:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def minus(spans: Iterable[Span], covers: Iterable[Span]) -> list[Span]:
    """Return what is left of ``spans`` where none of ``covers`` lies."""
    cuts, left = joined(covers), []
    for start, end in joined(spans):
        cursor = start
        for low, high in cuts:
            if high <= cursor:
                continue
            if low >= end:
                break
            if low > cursor:
                left.append((cursor, low))
            cursor = max(cursor, high)
        if cursor < end:
            left.append((cursor, end))
    return left


def both(spans: Iterable[Span], others: Iterable[Span]) -> list[Span]:
    """Return what lies in ``spans`` and in ``others``."""
    mine = joined(spans)
    return minus(mine, minus(mine, others))


def length(spans: Iterable[Span]) -> float:
    """Return how long the spans are together; what overlaps counts once."""
    return sum(end - start for start, end in joined(spans))


def touches(span: Span, others: Sequence[Span]) -> bool:
    """Return whether a span overlaps one of ``others``, which are in order without overlap."""
    at = bisect_right(others, span[0], key=lambda other: other[1])
    return at < len(others) and others[at][0] < span[1]
