"""Does the same work come back, often enough and for long enough to own a machine?"""

from __future__ import annotations

from datetime import date

from budget.components import NAMES, Component
from budget.facts import Facts, Verdict, figure_or_none
from budget.messages import Quantity, msg
from budget.project import Block

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
        ends = [block.recurs.until if block.recurs else None for block in recurring]
        # One that recurs without an end leaves the horizon unknown, not as short as the others.
        last = max((day for day in ends if day is not None), default=None)
        if last is not None and None not in ends:
            horizon = months_between(facts.as_of, last)
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
        rate = block.recurs.runs_per_week if block.recurs else None
        each = _hours_per_run(facts, block)
        if each is None or rate is None:
            unmeasured.append(block.id)
        else:
            hours += rate * each
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


def _hours_per_run(facts: Facts, block: Block) -> float | None:
    """Return what one run occupies the machine, its load too where every run loads."""
    estimate = facts.estimate(block)
    units = figure_or_none(estimate.units)
    names: list[Component] = ["run", "unattributed"]
    if block.load_per == "run":
        names.append("load")
    # What stands in ``unattributed`` is no part of the sum; a part that is missing is unmeasured.
    counted = {item.name for item in estimate.remaining_h.inputs}
    parts = [estimate.remaining[name] for name in names if NAMES[name] in counted]
    if any(not part.known for part in parts):
        return None
    hours = sum(float(part.value) for part in parts if part.value is not None)
    return hours / units if units and estimate.serving and hours else None


def months_between(start: date, end: date) -> float:
    """Return the months from ``start`` to ``end``."""
    return (end - start).days / DAYS_PER_MONTH
