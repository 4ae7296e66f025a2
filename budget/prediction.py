"""Student-t prediction of the total of further units, from units measured in sessions.

Source of the formulas: prediction interval of a sum of normal variables, and its form for units
grouped in sessions (random effects, moment estimators). For n units in k sessions with means m_j,
between-session deviation s_b, within-session deviation s_w, m units each (harmonic mean where the
sessions differ) and sigma_a^2 = max(0, s_b^2 - s_w^2/m), N further units in S sessions take

    N * mean(m_j)  +-  t(k-1) * sqrt(N^2*sigma_a^2/S + N*s_w^2 + N^2*s_b^2/k).

With one session the between-session part is unknown: N*mean +- t(n-1) * s * sqrt(N + N^2/n).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec


class Prediction(msgspec.Struct, frozen=True):
    """Total of further units, in the unit of the measured values. No range when n = 1."""

    mid: float
    low: float | None
    high: float | None
    n: int
    k: int


def predict_total(
    sessions: Sequence[Sequence[float]], further: float, planned_sessions: int, level: float
) -> Prediction | None:
    """Predict the total of ``further`` units spread over ``planned_sessions`` sessions.

    ``sessions`` holds the measured values of each session, ``level`` the two-sided coverage
    (0.95). None without any value. The low end is cut at 0: durations are not negative. Units
    cannot lie in more sessions than there are units.
    """
    groups = [list(group) for group in sessions if group]
    n, k = sum(map(len, groups)), len(groups)
    if n == 0:
        return None
    means = [sum(group) / len(group) for group in groups]
    mean = sum(means) / k
    mid = further * mean
    if n == 1:
        return Prediction(mid, None, None, n, k)
    within = sum(
        (value - own) ** 2 for group, own in zip(groups, means, strict=True) for value in group
    )
    if k == 1:
        freedom = n - 1
        variance = within / freedom * (further + further**2 / n)
    else:
        freedom = k - 1
        within_2 = within / (n - k) if n > k else 0.0
        between_2 = sum((own - mean) ** 2 for own in means) / freedom
        size = k / sum(1 / len(group) for group in groups)
        shift_2 = max(0.0, between_2 - within_2 / size)
        variance = (
            further**2 * shift_2 / max(1, min(planned_sessions, further))
            + further * within_2
            + further**2 * between_2 / k
        )
    half = _quantile(freedom, 1 - (1 - level) / 2) * math.sqrt(variance)
    return Prediction(mid, max(0.0, mid - half), mid + half, n, k)


def none_failed_bound(n: int, level: float = 0.95) -> float:
    """Return the failure share that ``n`` successes without a failure still allow: 1-0.05^(1/n)."""
    return 1.0 - float((1 - level) ** (1 / n))


def _quantile(freedom: int, probability: float) -> float:
    from scipy.special import stdtrit  # half a second to import: only where it is used

    return float(stdtrit(freedom, probability))
