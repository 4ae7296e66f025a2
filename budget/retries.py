"""Retries: what failures like those seen would add to the runs still to come."""

from __future__ import annotations

from budget.attempts import Attempt
from budget.components import NAMES, Basis, Component
from budget.figures import Figure, Input, State, missing
from budget.messages import Quantity, msg
from budget.prediction import none_failed_bound


def contingency(
    basis: Basis,
    run_s: dict[str, list[float]],
    spent: dict[Component, Figure],
) -> Figure:
    """Return the hours that failures like those seen would add to the remaining runs.

    E = N * c_f * p / (1 - p), with p the share of failures during run under an unchanged
    condition and c_f their mean cost. A failure whose cause was removed is no retry rate.
    """
    failed = [
        attempt
        for attempt in basis.attempts
        if attempt.outcome != "ok" and attempt.reached_run and not cause_removed(attempt, basis)
    ]
    good = len(basis.ok)
    if basis.further is None or not good:
        return missing("h", msg("no successful attempt to relate failures to"))
    if not failed:
        bound = none_failed_bound(good)
        return missing(
            "h",
            msg(
                "0 of {n} failed, which still allows {share} failures; what one "
                "would cost was not seen",
                n=good,
                share=Quantity(bound, "share"),
            ),
        )
    costs = [attempt.duration_s for attempt in failed if attempt.duration_s is not None]
    if not costs:
        return missing("h", msg("the failed attempts have no duration"))
    share = len(failed) / (len(failed) + good)
    hours = basis.further * sum(costs) / len(costs) * share / (1 - share) / 3600
    return Figure(
        value=hours,
        unit="h",
        state=State.MEASURED,
        n=len(failed) + good,
        k=len(run_s) or None,
        why=msg("an expectation, no range"),
        formula=msg(
            "{runs} runs x mean cost of {failed} failures x p / (1 - p), p = {failed} of {all}",
            runs=basis.further,
            failed=len(failed),
            all=len(failed) + good,
        ),
        inputs=(Input(NAMES["retry"], spent["retry"]),),
        sources=tuple(attempt.source for attempt in failed),
    )


def cause_removed(failed: Attempt, basis: Basis) -> bool:
    """Return whether a change or a fix stands between a failure and a later success."""
    if failed.started_at is None:
        return False
    return any(
        good.started_at is not None and failed.started_at < relief < good.started_at
        for good in basis.ok
        for relief in basis.reliefs
    )
