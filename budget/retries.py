"""Retries: what failures like those seen would add to the runs still to come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from budget.attempts import Attempt, Session
from budget.components import NAMES, Basis, Component, units_of
from budget.figures import Figure, Input, Source, State, exact, missing
from budget.messages import Quantity, msg
from budget.prediction import none_failed_bound


def contingency(
    basis: Basis,
    run_s: dict[str, list[float]],
    spent: dict[Component, Figure],
) -> Figure:
    """Return the hours that failures like those seen would add to the remaining runs.

    E = N * c_f * p / (1 - p), with p the share of failures during run under an unchanged
    condition among all units and c_f their mean cost.
    """
    block = basis.block
    failed = rated_failures(basis.attempts, basis.reliefs)
    good = units_of(block, basis.ok)
    if basis.further is None:
        return missing("h", msg("planned runs of {block}: say how many", block=block.id))
    if basis.further == 0:
        plan = Source("plan", f"blocks.{block.id}.planned_runs")
        return exact(0.0, "h", State.PLANNED, plan, why=msg("all planned runs are done"))
    if not good:
        return missing("h", msg("no successful attempt to relate failures to"))
    if not failed:
        why = msg(
            "0 of {n} failed, which still allows {share} failures; what one would cost was not "
            "seen",
            n=good,
            share=Quantity(none_failed_bound(good), "share"),
        )
        others = sum(1 for item in basis.attempts if item.outcome != "ok")
        if others:
            why = msg(
                "{why} (not counted: {count} that failed before the run, were interrupted, or "
                "whose cause was removed)",
                why=why,
                count=others,
            )
        return missing("h", why)
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


def rated_failures(
    attempts: Sequence[Attempt], reliefs: Sequence[datetime]
) -> list[Attempt]:  # fmt: skip
    """Return the failures that say how often a run fails: during run, under one condition.

    One before the run phase is debugging; one whose cause was removed will not come back.
    """
    good = [item for item in attempts if item.outcome == "ok"]
    return [
        item
        for item in attempts
        if item.outcome == "failed" and item.reached_run and not cause_removed(item, good, reliefs)
    ]


def reliefs_of(sessions: Sequence[Session]) -> tuple[datetime, ...]:
    """Return the moments at which a person recorded a change or began to wait for a fix.

    What the hook saw change between two calls of one program removed no cause.
    """
    return tuple(
        at
        for session in sessions
        for at in (
            *(change.at for change in session.changes if change.layer is None),
            *(wait.started_at for wait in session.waits if wait.reason == "fix"),
        )
        if at is not None
    )


def cause_removed(
    failed: Attempt, good: Sequence[Attempt], reliefs: Sequence[datetime]
) -> bool:  # fmt: skip
    """Return whether a change or a fix stands between a failure and a later success."""
    began = failed.started_at
    if began is None:
        return False
    return any(
        item.started_at is not None and began < relief < item.started_at
        for item in good
        for relief in reliefs
    )
