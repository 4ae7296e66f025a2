"""Does the same work come back, often enough and for long enough to own a machine?"""

from __future__ import annotations

from datetime import date

from budget.facts import Facts, Verdict, figure_or_none
from budget.messages import Quantity, msg

ID = "continuity"
TITLE = msg("The need is continuous")
WHY = msg("A machine of one's own pays only while the same conditions recur.")

DAYS_PER_MONTH = 30.44
"""Mean length of a month in the Gregorian calendar: 365.2425 / 12."""


def judge(facts: Facts) -> tuple[Verdict, ...]:
    """Pass only for a long, busy need that somebody can administer a machine for."""
    policy, project = facts.project.policy, facts.project
    recurring = [block for block in facts.open_blocks if block.recurs is not None]
    horizon = project.campaign.need_horizon_months
    if horizon is None:
        ends = [
            block.recurs.until
            for block in recurring
            if block.recurs is not None and block.recurs.until is not None
        ]
        horizon = months_between(facts.as_of, max(ends)) if ends else None
    if not recurring and (horizon is None or horizon >= policy.continuity_months):
        return (
            Verdict(
                rule=ID,
                outcome="unknown",
                because=(msg("nobody said whether work comes back after the campaign"),),
                do_next=msg(
                    "say on Blocks which runs recur, or on Scope for how many months the need lasts"
                ),
            ),
        )
    if horizon is not None and horizon < policy.continuity_months:
        because = msg(
            "the need lasts {months}, less than {limit}",
            months=Quantity(horizon, "months"),
            limit=Quantity(policy.continuity_months, "months"),
        )
        return (Verdict(rule=ID, outcome="fail", because=(because,)),)
    hours, unmeasured = 0.0, []
    for block in recurring:
        estimate = facts.estimate(block)
        units, run_h = figure_or_none(estimate.units), figure_or_none(estimate.remaining["run"])
        rate = block.recurs.runs_per_week if block.recurs else None
        if not units or run_h is None or rate is None:
            unmeasured.append(block.id)
        else:
            hours += rate * run_h / units
    if hours < policy.continuity_hours_per_week and not unmeasured:
        because = msg(
            "recurring runs take {hours}, less than {limit}",
            hours=Quantity(hours, "h/week"),
            limit=Quantity(policy.continuity_hours_per_week, "h/week"),
        )
        return (Verdict(rule=ID, outcome="fail", because=(because,)),)
    if project.durable.can_administer == "no":
        because = msg("nobody can administer a machine of one's own")
        return (Verdict(rule=ID, outcome="fail", because=(because,)),)
    lacking = []
    if unmeasured:
        lacking.append(msg("hours per week of {blocks} are unknown", blocks=tuple(unmeasured)))
    if horizon is None:
        lacking.append(msg("nobody said for how many months the need lasts"))
    if project.durable.can_administer == "unknown":
        lacking.append(msg("nobody said who would administer the machine"))
    if lacking:
        return (
            Verdict(
                rule=ID,
                outcome="unknown",
                because=tuple(lacking),
                do_next=msg("answer these on Scope and Blocks"),
            ),
        )
    because = msg(
        "recurring runs take {hours} for {months}",
        hours=Quantity(hours, "h/week"),
        months=Quantity(horizon, "months"),
    )
    return (Verdict(rule=ID, outcome="pass", because=(because,)),)


def months_between(start: date, end: date) -> float:
    """Return the months from ``start`` to ``end``."""
    return (end - start).days / DAYS_PER_MONTH
