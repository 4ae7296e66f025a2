"""Is the amount of work settled?"""

from __future__ import annotations

import statistics

from budget.facts import Facts, Verdict
from budget.messages import Quantity, msg
from budget.project import Block
from budget.retries import rated_failures, reliefs_of

ID = "load-stability"
TITLE = msg("The amount of work is settled")
WHY = msg("A long commitment for work that still changes is paid for and not used.")

LEAST_FOR_DRIFT = 5
"""With four runs or fewer no order of values is rare enough (exact Mann-Kendall, p = 0.083)."""


def judge(facts: Facts) -> tuple[Verdict, ...]:
    """Judge every open block; fails on positive evidence only."""
    return tuple(_judge(facts, block) for block in facts.open_blocks)


def _judge(facts: Facts, block: Block) -> Verdict:
    policy = facts.project.policy
    against = []
    planned = [item for item in facts.project.blocks if item.state not in ("done", "dropped")]
    undetermined = [item.id for item in planned if item.status == "undetermined"]
    unmeasured = [
        item.id
        for item in planned
        if item.id not in undetermined and not facts.estimate(item).run_s
    ]
    limit = policy.undetermined_share * len(planned)
    if len(undetermined) > limit:
        against.append(
            msg(
                "{count} of {all} blocks are undetermined ({blocks}), more than {limit}; their "
                "hours are unknown, so blocks are counted",
                count=len(undetermined),
                all=len(planned),
                blocks=tuple(undetermined),
                limit=Quantity(policy.undetermined_share, "share"),
            )
        )
    attempts = facts.serving(block)
    good = sum(1 for item in attempts if item.succeeded)
    bad = len(rated_failures(attempts, reliefs_of(facts.measurements.sessions)))
    if good + bad >= policy.decision_grade_units:
        success = good / (good + bad)
        if success < policy.success_share:
            against.append(
                msg(
                    "{good} of {all} attempts that ran succeeded, fewer than {limit}",
                    good=good,
                    all=good + bad,
                    limit=Quantity(policy.success_share, "share"),
                )
            )
    sessions = facts.estimate(block).run_s
    values = [value for session in sessions for value in session]
    timed = len(values) > 1 and min(values) > 0
    spread = statistics.stdev(values) / statistics.fmean(values) if timed else None
    if (
        spread is not None
        and len(values) >= policy.decision_grade_units
        and spread > policy.spread_share
    ):
        against.append(
            msg(
                "run time spreads by {spread} of its mean (n = {n}), more than {limit}",
                spread=Quantity(spread, "share"),
                n=len(values),
                limit=Quantity(policy.spread_share, "share"),
            )
        )
    if timed and len(sessions) > 1 and len(values) >= LEAST_FOR_DRIFT:
        drift = statistics.fmean(sessions[-1]) / statistics.fmean(sessions[0]) - 1
        if abs(drift) > policy.drift_share:
            against.append(
                msg(
                    "run time moved by {drift} from the first to the last session, more "
                    "than {limit}",
                    drift=Quantity(drift, "share"),
                    limit=Quantity(policy.drift_share, "share"),
                )
            )
    if against:
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="fail",
            because=tuple(against),
            do_next=msg("commit in stages; decide again when this has settled"),
        )
    if len(undetermined) + len(unmeasured) > limit:
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="unknown",
            cause="unmeasured",
            because=(
                msg(
                    "{count} of {all} blocks are undetermined or unmeasured: {blocks}",
                    count=len(undetermined) + len(unmeasured),
                    all=len(planned),
                    blocks=(*undetermined, *unmeasured),
                ),
            ),
            do_next=msg("measure one trial of each, or drop what will not be done"),
        )
    if spread is None or len(values) < policy.decision_grade_units or len(sessions) < 2:
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="unknown",
            because=(
                msg(
                    "{n} measured units in {k} sessions are too few to tell",
                    n=len(values),
                    k=len(sessions),
                ),
            ),
            do_next=msg("measure again in another session"),
        )
    because = msg(
        "{n} units in {k} sessions spread by {spread} of their mean",
        n=len(values),
        k=len(sessions),
        spread=Quantity(spread, "share"),
    )
    return Verdict(rule=ID, block=block.id, outcome="pass", because=(because,))
