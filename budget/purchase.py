"""What buying machines costs over their life, as present value and per year."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal

import msgspec

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
from budget.figures import (
    Figure,
    Input,
    Source,
    State,
    exact,
    missing,
    not_applicable,
    worst,
)
from budget.messages import Message, Quantity, msg
from budget.ownership import HOURS_PER_YEAR, annuity_factor, discount_factor
from budget.owning import (
    ITEMS,
    administration_line,
    asked,
    cost_line,
    energy_line,
    not_included,
    priced,
    times,
)
from budget.project import Ownership, Project, open_blocks
from budget.quotes import applicable, quote_for


def buy(project: Project, estimates: Mapping[str, Estimate], as_of: date) -> Scenario | None:
    """Return the purchase of ``machines_at_once`` machines over their life, in today's money.

    ``P + O*a(r,n) - S/(1+r)^n`` (``ownership.present_cost``): every yearly line is its yearly
    cost times the annuity factor, so the lines add up to the net present value. Depreciation is
    not among them. ``ownership.power_kw`` is the power of one machine under load. None when
    nobody has asked: no purchase quote, and nothing stated under ownership.
    """
    quoted = any(quote.kind == "purchase" for quote in project.quotes)
    if not quoted and project.ownership == Ownership():
        return None
    currency, count = currency_of(project), project.campaign.machines_at_once
    place = _place(project, as_of)
    needs: list[Need] = []
    machines = exact(Decimal(count), "machine", State.PLANNED, Source(kind="plan", name="campaign"))
    purchase, chosen = priced(project, place, "purchase", f"{currency}/machine", as_of, needs)
    life = asked(project, "life_years", "years", needs)
    interest = asked(project, "discount_rate", "share/year", needs)
    annuity = _factor(life, interest, "discounted years", annuity=True)
    lines = [cost_line(msg("purchase"), machines, purchase, currency, chosen)]
    remarks: list[Message] = [
        msg("the capital is counted once: depreciation is not added"),
        msg("without what the machines draw while idle"),
    ]
    hours = _yearly_hours(project, machines, needs)
    yearly = [energy_line(project, place, hours, as_of, needs)]
    if yearly[0].rate.value == 0:
        needs = [need for need in needs if need != _utilisation_need()]
    months = exact(Decimal(12), "months/year", State.PLANNED)
    administration = administration_line(project, place, months, as_of, needs)
    maintenance = _maintenance(project, place, lines[0].amount, machines, as_of, needs)
    for what, line in (("administration", administration), ("maintenance", maintenance)):
        if line is None:
            remarks.append(not_included(what))
        else:
            yearly.append(line)
    lines += [_over_life(line, annuity, currency) for line in yearly]
    resale = _resale(project, place, machines, life, interest, as_of, needs)
    if resale is None:
        remarks.append(msg("no resale value at the end, because no usable quote states one"))
    else:
        lines.append(resale)
    uncounted = tuple(quote.id for quote in project.quotes if quote.kind == "colocation")
    if uncounted:
        remarks.append(msg("colocation is not counted: {quotes}", quotes=uncounted))
    environment = project.environment(place)
    gpus = environment.gpu_count if environment else None
    stated = project.ownership.gpu_count
    if gpus is not None and stated is not None and stated != gpus * count:
        remarks.append(
            msg("{planned} machines hold {held}, under ownership stand {stated}",
                planned=Quantity(count, "machine"), held=Quantity(gpus * count, "gpu"),
                stated=Quantity(stated, "gpu"))
        )  # fmt: skip
    total = sum_of_lines(lines, currency, ITEMS)
    life_h = times(hours, life, "h", (msg("hours under load per year"), msg("life in years")))
    return Scenario(
        kind="buy",
        title=msg("Buy {count} of {environment}", count=Quantity(count, "machine"),
                  environment=place or msg("a machine to be named")),
        lines=tuple(lines),
        hours=life_h,
        gpu_hours_used=_gpu_hours(life_h, gpus),
        gpu_hours_billed=not_applicable("gpu-hour", msg("a bought machine is not billed by time")),
        total=total,
        needs=distinct(needs),
        covers=tuple(block.id for block in open_blocks(project)),
        remarks=tuple(remarks),
        example=rests_on_example(lines),
        yearly=_per_year(total, annuity),
    )  # fmt: skip


def _place(project: Project, as_of: date) -> str | None:
    """Return the environment to buy: first one with a usable quote, else one with any quote."""
    ids = [item.id for item in project.environments]
    usable = [name for name in ids if quote_for(project, name, "purchase", as_of)]
    asked_for = [
        name for name in ids if any(q.kind == "purchase" and q.environment == name
                                    for q in project.quotes)
    ]  # fmt: skip
    return next(iter((*usable, *asked_for)), None)


def _utilisation_need() -> Need:
    return Need(
        msg("{name}", name="ownership.utilisation"),
        "scenarios",
        msg("State the share of the year in which the machine works: its energy depends on it."),
    )


def _yearly_hours(project: Project, machines: Figure, needs: list[Need]) -> Figure:
    share = asked(project, "utilisation", "share", [])
    if not share.known:
        needs.append(_utilisation_need())
    year = exact(HOURS_PER_YEAR, "h/year", State.PLANNED)
    one = times(year, share, "h/year", (msg("hours of a year"), msg("utilisation")))
    return times(one, machines, "h/year", (msg("hours under load"), msg("machines")))


def _factor(life: Figure, interest: Figure, unit: str, *, annuity: bool) -> Figure:
    inputs = (Input(msg("life in years"), life), Input(msg("discount rate"), interest))
    lacking = tuple(item.figure.why for item in inputs if item.figure.why)
    years, rate = life.value, interest.value
    if not isinstance(years, Decimal) or not isinstance(rate, Decimal):
        return missing(unit, msg("missing: {parts}", parts=lacking))
    value = annuity_factor(rate, years) if annuity else -discount_factor(rate, years)
    figure = exact(value, unit, worst((life.state, interest.state)))
    formula = msg("(1 - (1+r)^-n) / r") if annuity else msg("-(1+r)^-n")
    return msgspec.structs.replace(figure, inputs=inputs, formula=formula)


def _over_life(line: CostLine, annuity: Figure, currency: str) -> CostLine:
    """Return a yearly line as present value: yearly money times discounted years."""
    yearly = msgspec.structs.replace(line.amount, unit=f"{currency}/year")
    if line.amount.value == 0:
        return msgspec.structs.replace(line, quantity=yearly, rate=annuity)
    result = cost_line(line.name, yearly, annuity, currency, None)
    return msgspec.structs.replace(result, quote=line.quote, remarks=line.remarks)


def _maintenance(
    project: Project, place: str | None, paid: Figure, machines: Figure, as_of: date,
    needs: list[Need],
) -> CostLine | None:  # fmt: skip
    currency = currency_of(project)
    rate, chosen = priced(project, place, "maintenance", f"{currency}/year", as_of, needs)
    if chosen is None and not applicable(project, place, "maintenance", as_of)[1]:
        return None
    quantity = machines
    if chosen is None:
        return cost_line(msg("maintenance"), quantity, rate, currency, None)
    if chosen.quote.per == "percent-year":
        percent = exact(Decimal("0.01"), "share/percent", State.PLANNED)
        quantity = paid
        rate = times(rate, percent, "share/year", (msg("percent"), msg("share per percent")))
    elif chosen.quote.per == "machine-month":
        months = exact(Decimal(12), "months/year", State.PLANNED)
        rate = times(rate, months, f"{currency}/machine-year", (msg("monthly"), msg("months")))
    return cost_line(msg("maintenance"), quantity, rate, currency, chosen)


def _resale(
    project: Project, place: str | None, machines: Figure, life: Figure, interest: Figure,
    as_of: date, needs: list[Need],
) -> CostLine | None:  # fmt: skip
    currency = currency_of(project)
    value, chosen = priced(project, place, "resale", f"{currency}/machine", as_of, needs)
    if chosen is None:
        return None
    factor = _factor(life, interest, "share", annuity=False)
    names = (msg("resale value at the end"), msg("discount factor, as income"))
    today = times(value, factor, f"{currency}/machine", names)
    return cost_line(msg("resale"), machines, today, currency, chosen)


def _gpu_hours(hours: Figure, gpus: int | None) -> Figure:
    if gpus == 0:
        return not_applicable("gpu-hour", msg("the machine has no GPU"))
    if gpus is None:
        return missing("gpu-hour", msg("how many GPUs the machine has is unknown"))
    count = exact(Decimal(gpus), "gpu", State.PLANNED)
    return times(hours, count, "gpu-hour", (msg("hours under load"), msg("GPUs")))


def _per_year(total: Figure, annuity: Figure) -> Figure:
    unit = f"{total.unit}/year"
    if not isinstance(total.value, Decimal) or not isinstance(annuity.value, Decimal):
        return missing(unit, total.why or annuity.why or ITEMS)
    figure = exact(total.value / annuity.value, unit, worst((total.state, annuity.state)))
    inputs = (Input(msg("present value"), total), Input(msg("discounted years"), annuity))
    return msgspec.structs.replace(
        figure, inputs=inputs, formula=msg("equivalent annual cost: present value / annuity")
    )
