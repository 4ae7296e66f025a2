"""What renting without a break costs, from the campaign's first to its last day."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal

import msgspec

from budget.billing import billing_remarks, calendar_units
from budget.costs import (
    CostLine,
    Need,
    Scenario,
    currency_of,
    distinct,
    rests_on_example,
    sum_of_lines,
)
from budget.estimates import Estimate
from budget.figures import Figure, Source, State, exact, missing, not_applicable
from budget.messages import Quantity, msg
from budget.project import Environment, Project, open_blocks
from budget.quotes import machine_rate, quote_for
from budget.rental import (
    hours_of,
    period_times,
    rent_line,
    rent_need,
    rented_environments,
    scaled,
)


def continuous(
    project: Project, estimates: Mapping[str, Estimate], as_of: date
) -> Scenario | None:  # fmt: skip
    """Return the scenario that rents from the campaign's first to its last day, nights included.

    None when no open block uses a rented environment: the question does not arise.
    """
    environments = rented_environments(project)
    if not environments:
        return None
    ids = {environment.id for environment in environments}
    blocks = [block for block in open_blocks(project) if block.environment in ids]
    one = len(environments) == 1
    days, needs = _campaign_days(project)
    if not one:
        needs.append(
            Need(
                msg("how many machines of each: {environments}", environments=tuple(
                    item.id for item in environments)),
                "blocks",
                msg("Plan one environment, or rent these blocks one by one."),
            )
        )  # fmt: skip
    lines = []
    for environment in environments:
        line, lacking = _continuous_line(project, environment, days, one, as_of)
        lines.append(line)
        needs.extend(lacking)
    machines = project.campaign.machines_at_once
    hours = days if days.value is None else scaled(days, Decimal(24 * machines), "h")
    count = environments[0].gpu_count
    if not one:
        gpu_hours = missing("gpu-hour", msg("how many machines of each is not said"))
    elif count == 0:
        gpu_hours = not_applicable("gpu-hour", msg("the machine has no GPU"))
    elif count is None:
        gpu_hours = missing("gpu-hour", msg("how many GPUs the machine has is unknown"))
    else:
        gpu_hours = scaled(hours, Decimal(count), "gpu-hour")
    needed = hours_of(blocks, estimates, "remaining_h", "h")
    remarks = []
    if hours.value is not None and needed.upper is not None and needed.upper > hours.value:
        remarks.append(msg("the blocks need up to {needed}, more than the period holds",
                           needed=Quantity(needed.upper, "h")))  # fmt: skip
    start = project.campaign.start
    if start is not None and as_of > start:
        remarks.append(msg("counts the whole campaign, also the days before {day}", day=as_of))
    return Scenario(
        kind="continuous",
        title=msg("Rent without a break for the whole campaign"),
        lines=tuple(lines),
        hours=msgspec.structs.replace(hours, unit="h"),
        gpu_hours_used=hours_of(blocks, estimates, "gpu_hours_used", "gpu-hour"),
        gpu_hours_billed=msgspec.structs.replace(gpu_hours, unit="gpu-hour"),
        total=sum_of_lines(lines, currency_of(project), msg("environments")),
        needs=distinct(needs),
        covers=tuple(block.id for block in blocks),
        remarks=tuple(remarks),
        example=rests_on_example(lines),
    )


def _continuous_line(
    project: Project, environment: Environment, days: Figure, one: bool, as_of: date
) -> tuple[CostLine, list[Need]]:
    currency = currency_of(project)
    name = msg("{environment} from start to end", environment=environment.id)
    machines = project.campaign.machines_at_once
    unknown = missing("machine", msg("how many machines of each is not said"))
    count = exact(Decimal(machines), "machine", State.PLANNED) if one else unknown
    chosen = quote_for(project, environment.id, "on-demand", as_of)
    start, end = project.campaign.start, project.campaign.end
    if chosen is None:
        need = rent_need(project, environment, as_of)
        rate = missing(f"{currency}/machine-hour", need.what)
        period = days if days.value is None else scaled(days, Decimal(24), "h")
        return rent_line(name, period_times(period, count, "h"), rate, currency), [need]
    charge = machine_rate(chosen.quote, environment)
    unit = "h" if charge.period == "hour" else f"machine-{charge.period}"
    period = days
    if days.value is not None and start and end:
        units = calendar_units(start, end, charge.period)
        period = exact(units, unit, State.PLANNED, _campaign_source())
    needs = []
    until = chosen.quote.price_until
    rate = charge.price
    if until and end and until < end:
        why = msg("the price of {quote} ends on {day}, before the campaign's end",
                  quote=chosen.quote.id, day=until)  # fmt: skip
        needs.append(Need(why, "quotes", msg("Ask for a price for the whole campaign.")))
        rate = missing(rate.unit, why)
    line = rent_line(name, period_times(period, count, unit), rate, currency)
    remarks = chosen.remarks if charge.period == "hour" else (*chosen.remarks, *billing_remarks(
        charge))  # fmt: skip
    return msgspec.structs.replace(line, quote=chosen.quote.id, remarks=remarks), needs


def _campaign_days(project: Project) -> tuple[Figure, list[Need]]:
    start, end = project.campaign.start, project.campaign.end
    if start is None or end is None:
        why = msg("the campaign has no planned dates")
    elif end < start:
        why = msg("the campaign ends before it starts")
    else:
        days = exact(Decimal((end - start).days + 1), "days", State.PLANNED, _campaign_source())
        return days, []
    return missing("days", why), [
        Need(why, "scope", msg("Give the first and the last day of the campaign."))
    ]


def _campaign_source() -> Source:
    return Source(kind="plan", name="campaign")
