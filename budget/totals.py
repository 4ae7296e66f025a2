"""The three totals: spent so far, still to come, and their sum."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import msgspec

from budget.billing import billed_figure
from budget.costs import Need, Scenario, currency_of, sum_of
from budget.facts import Facts
from budget.figures import Figure, Input, State, exact, missing, not_applicable, product, total
from budget.messages import msg
from budget.project import Environment
from budget.quotes import Rate, applicable, choose, machine_rate
from budget.readiness import remaining_of, sum_of_blocks, undetermined
from budget.rental import rent_need
from budget.reservation import continuous
from budget.spending import NOTHING, SessionHours


class Total(msgspec.Struct, frozen=True, kw_only=True):
    """One of the three totals. ``scenario`` names how the machine would be had."""

    machine_hours: Figure
    gpu_hours: Figure
    cost: Figure
    scenario: str | None


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Spent so far, still to come, and their sum."""

    spent: Total
    remaining: Total
    sum: Total


def totals(facts: Facts, scenario: Scenario | None) -> Totals:
    """Return the totals, the remaining one as ``scenario`` has the machine."""
    unit = currency_of(facts.project)
    kind = scenario.kind if scenario else None
    spent = Total(
        machine_hours=facts.spending.reserved_h,
        gpu_hours=facts.spending.gpu_hours,
        cost=_spent_cost(facts, unit),
        scenario=kind,
    )
    remaining = _remaining(facts, scenario, unit)
    both = [("machine_hours", "h"), ("gpu_hours", "gpu-hour"), ("cost", unit)]
    sums = {
        name: total(
            [
                Input(msg("spent"), getattr(spent, name)),
                Input(msg("remaining"), getattr(remaining, name)),
            ],
            own,
            msg("spent + remaining"),
        )
        for name, own in both
    }
    return Totals(spent=spent, remaining=remaining, sum=Total(**sums, scenario=kind))


def campaign_to_come(facts: Facts) -> Scenario | None:
    """Return renting without a break for what is left of the campaign, None when nothing is.

    It starts on the day of the decision, on the next one where a session already used that day,
    so that no hour stands both under *spent* and under *remaining*.
    """
    project = facts.project
    start, end = project.campaign.start, project.campaign.end
    used = [item.ended_at.date() for item in facts.measurements.sessions if item.ended_at]
    after = [day + timedelta(days=1) for day in used if day >= facts.as_of]
    first = max([facts.as_of, start or date.min, *after])
    if end is None or first > end:
        return None
    left = msgspec.structs.replace(
        project, campaign=msgspec.structs.replace(project.campaign, start=first)
    )
    found = continuous(left, {item.block: item for item in facts.estimates}, facts.as_of)
    if found is None:
        return None
    remark = msg("counts the campaign from {first} to {end}, nights included", first=first, end=end)
    return msgspec.structs.replace(found, remarks=(*found.remarks, remark))


def unpriced(facts: Facts) -> tuple[Need, ...]:
    """Return the quotes that are lacking to say what the sessions so far have cost."""
    lacking = {}
    for session in facts.spending.sessions:
        environment = facts.project.environment(session.environment)
        if environment is not None and environment.access == "rented":
            rate = _rate(facts, environment)
            if rate is None:
                lacking[environment.id] = rent_need(facts.project, environment, facts.as_of)
    return tuple(lacking.values())


def _remaining(facts: Facts, scenario: Scenario | None, unit: str) -> Total:
    project = facts.project
    kind = scenario.kind if scenario else None
    counted = [block for block in project.blocks if block.state not in ("done", "dropped")]
    if not counted:
        return _nothing_left(facts, unit, kind)
    if scenario is not None and scenario.kind == "continuous":
        hours, gpu_hours = scenario.hours, scenario.gpu_hours_billed
        return Total(
            machine_hours=hours, gpu_hours=gpu_hours, cost=scenario.total, scenario=kind
        )  # fmt: skip
    billed = []
    for block in counted:
        figure = facts.estimate(block).gpu_hours_billed
        if block.status == "undetermined" and figure.state is not State.NOT_APPLICABLE:
            figure = undetermined("gpu-hour")
        billed.append(Input(msg("{block}", block=block.id), figure))
    open_ones = [
        Input(msg("{block}", block=block.id), undetermined(unit))
        for block in counted
        if block.status == "undetermined"
    ]
    cost = scenario.total if scenario else missing(unit, msg("no scenario"))
    if scenario is not None and open_ones:
        lines = [Input(line.name, line.amount) for line in scenario.lines]
        noun = msg("blocks") if kind == "blocks" else msg("parts")
        cost = sum_of([*lines, *open_ones], unit, msg("sum of the lines"), noun)
    return Total(
        machine_hours=remaining_of(facts, counted),
        gpu_hours=sum_of_blocks(billed, "gpu-hour"),
        cost=cost,
        scenario=kind,
    )


def _nothing_left(facts: Facts, unit: str, kind: str | None) -> Total:
    """Return exact zeros when all blocks are done or dropped; without blocks nothing is known."""
    if not facts.project.blocks:
        why = msg("the plan has no block yet")
        return Total(
            machine_hours=missing("h", why),
            gpu_hours=missing("gpu-hour", why),
            cost=missing(unit, why),
            scenario=kind,
        )
    why = msg("every block is done or dropped")
    without = all(item.gpu_count == 0 for item in facts.project.environments)
    return Total(
        machine_hours=exact(0.0, "h", State.PLANNED, why=why),
        gpu_hours=not_applicable("gpu-hour", msg("not applicable: the machine has no GPU"))
        if without and facts.project.environments
        else exact(0.0, "gpu-hour", State.PLANNED, why=why),
        cost=exact(Decimal(0), unit, State.PLANNED, why=why),
        scenario=kind,
    )


def _spent_cost(facts: Facts, unit: str) -> Figure:
    """Return what the spent hours cost at the quoted rate; no bill has been read."""
    lines = [
        Input(msg("session {id}", id=session.session), _cost_of(facts, session, unit))
        for session in facts.spending.sessions
    ]
    if not lines:
        return missing(unit, NOTHING)
    result = total(lines, unit, msg("sum over the sessions"))
    if result.known and result.value:
        why = msg("billed time at the quoted rate; no bill has been read")
        return msgspec.structs.replace(result, why=why)
    return result


def _cost_of(facts: Facts, session: SessionHours, unit: str) -> Figure:
    environment = facts.project.environment(session.environment)
    if environment is None:
        return missing(unit, msg("its machine is not told apart among the plan's environments"))
    if environment.access != "rented":
        return not_applicable(unit, msg("not rented: {access}", access=msg(environment.access)))
    if session.reserved_h is None:
        return missing(unit, msg("the log has no times"))
    rate = _rate(facts, environment)
    if rate is None:
        return missing(
            unit, msg("no usable quote for {label}", label=environment.label or environment.id)
        )
    billed = billed_figure(exact(session.reserved_h, "h", State.MEASURED), rate, 1)
    return product(
        Input(msg("billed time"), billed),
        Input(msg("rate"), rate.price),
        unit,
        msg("billed time x rate; no bill has been read"),
    )


def _rate(facts: Facts, environment: Environment) -> Rate | None:
    usable, _ = applicable(facts.project, environment.id, "on-demand", facts.as_of)
    chosen = choose(usable)
    return machine_rate(chosen.quote, environment) if chosen else None
