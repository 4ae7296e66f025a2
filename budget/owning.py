"""What work costs on a machine that is there already, and what buying one costs over its life."""

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
    quote_need,
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
    product,
)
from budget.messages import Message, msg
from budget.project import Project, QuoteKind, open_blocks
from budget.quotes import Usability, price, quote_for
from budget.rental import hours_of

ITEMS = msg("items")
_MONTHS_PER_YEAR = Decimal(12)
_OWNED = msg("a machine of one's own is not billed by the hour")
NAMES: dict[QuoteKind, Message] = {
    "purchase": msg("purchase price"),
    "energy": msg("energy price"),
    "administration": msg("rate for administration"),
    "maintenance": msg("price of maintenance"),
    "resale": msg("resale value"),
}


def owned(project: Project, estimates: Mapping[str, Estimate], as_of: date) -> Scenario | None:
    """Return what the open blocks on owned or granted machines cost: energy, administration.

    None when the project has no such environment. Hours measured elsewhere are not carried over,
    so only blocks planned on these machines count.
    """
    at_hand = {item.id for item in project.environments if item.access != "rented"}
    if not at_hand:
        return None
    blocks = [block for block in open_blocks(project) if block.environment in at_hand]
    needs: list[Need] = []
    if not blocks:
        needs.append(
            Need(
                msg("no open block is planned on {environments}",
                    environments=tuple(sorted(at_hand))),
                "blocks",
                msg("Measure a trial there and plan a block on it."),
            )
        )  # fmt: skip
    hours = hours_of(blocks, estimates, "remaining_h", "h")
    if blocks and not hours.known:
        needs.append(
            Need(
                msg("the hours on the machine at hand: {why}", why=hours.why or ITEMS),
                "measurements",
                msg("Measure a representative trial there."),
            )
        )
    # The environment decides only which quotes apply; general ones hold for all of them.
    place = next((block.environment for block in blocks), None) or min(at_hand)
    energy = energy_line(project, place, hours, as_of, needs)
    lines = [energy]
    months, dates = _campaign_months(project)
    administration = administration_line(project, place, months, as_of, needs)
    remarks = []
    if administration is None:
        remarks.append(not_included("administration"))
    else:
        lines.append(administration)
        if not administration.amount.known:
            needs.extend(dates)
    return Scenario(
        kind="owned",
        title=msg("Use the machine at hand"),
        lines=tuple(lines),
        hours=hours,
        gpu_hours_used=hours_of(blocks, estimates, "gpu_hours_used", "gpu-hour"),
        gpu_hours_billed=not_applicable("gpu-hour", _OWNED),
        total=sum_of_lines(lines, currency_of(project), ITEMS),
        needs=distinct(needs),
        covers=tuple(block.id for block in blocks),
        remarks=(*remarks, msg("without what the machine draws while idle")),
        example=rests_on_example(lines),
    )


def given(project: Project, name: str, unit: str = "share") -> Figure:
    """Return a value of ``ownership`` as declared, or missing."""
    value = getattr(project.ownership, name)
    if value is None:
        return missing(unit, msg("{name} is not stated", name=f"ownership.{name}"))
    path = f"ownership.{name}"
    typed = project.declared.get(path)
    source = Source(
        kind="declared",
        name=path,
        on=typed.on.isoformat() if typed else None,
        by=typed.by if typed else None,
    )
    return exact(Decimal(value), unit, State.DECLARED, source)


def asked(project: Project, name: str, unit: str, needs: list[Need]) -> Figure:
    """Return a value of ``ownership``; what is not stated is added to ``needs``."""
    figure = given(project, name, unit)
    if not figure.known:
        needs.append(
            Need(
                msg("{name}", name=f"ownership.{name}"),
                "scenarios",
                msg("State it under ownership, or an explicit 0 where it costs nothing."),
            )
        )
    return figure


def times(a: Figure, b: Figure, unit: str, names: tuple[Message, Message]) -> Figure:
    """Return ``a`` times ``b`` with both as named inputs."""
    first, second = Input(names[0], a), Input(names[1], b)
    return product(first, second, unit, msg("{a} times {b}", a=names[0], b=names[1]))


def cost_line(
    name: Message, quantity: Figure, rate: Figure, currency: str, chosen: Usability | None
) -> CostLine:
    """Return the line whose amount is ``quantity`` times ``rate``."""
    return CostLine(
        name=name,
        quantity=quantity,
        rate=rate,
        amount=times(quantity, rate, currency, (msg("quantity"), msg("rate"))),
        quote=chosen.quote.id if chosen else None,
        remarks=chosen.remarks if chosen else (),
    )


def priced(
    project: Project, place: str | None, kind: QuoteKind, unit: str, as_of: date, needs: list[Need]
) -> tuple[Figure, Usability | None]:
    """Return the price of ``kind`` as quoted; without a usable quote a need is added."""
    chosen = quote_for(project, place, kind, as_of)
    if chosen is not None:
        return price(chosen.quote), chosen
    need = quote_need(project, place, kind, NAMES[kind], as_of)
    needs.append(need)
    return missing(unit, need.what), None


def energy_line(
    project: Project, place: str | None, hours: Figure, as_of: date, needs: list[Need]
) -> CostLine:
    """Return the line for energy: power under load x PUE x ``hours`` x price per kWh.

    A price of exactly 0 with a source costs nothing whatever the power is.
    """
    currency = currency_of(project)
    tariff, chosen = priced(project, place, "energy", f"{currency}/kwh", as_of, needs)
    name = msg("energy")
    if tariff.value == 0:
        free = not_applicable("kwh", msg("energy costs nothing here"))
        amount = msgspec.structs.replace(tariff, unit=currency)
        line = cost_line(name, free, tariff, currency, chosen)
        return msgspec.structs.replace(line, amount=amount)
    power = asked(project, "power_kw", "kw", needs)
    pue = asked(project, "pue", "", needs)
    drawn = times(power, pue, "kw", (msg("power under load"), msg("PUE")))
    energy = times(drawn, hours, "kwh", (msg("power with PUE"), msg("hours under load")))
    return cost_line(name, energy, tariff, currency, chosen)


def administration_line(
    project: Project, place: str | None, months: Figure, as_of: date, needs: list[Need]
) -> CostLine | None:
    """Return the line; None when nobody has stated hours or a rate, so that it is not included."""
    currency = currency_of(project)
    rate, chosen = priced(project, place, "administration", f"{currency}/hour", as_of, needs)
    monthly = asked(project, "admin_hours_per_month", "hour/month", needs)
    if not rate.known and not monthly.known:
        return None
    if monthly.value == 0:
        # No hours cost nothing at any rate.
        none = msgspec.structs.replace(monthly, unit=currency)
        line = cost_line(msg("administration"), monthly, rate, currency, chosen)
        return msgspec.structs.replace(line, amount=none)
    hours = times(monthly, months, "hour", (msg("hours per month"), msg("months")))
    return cost_line(msg("administration"), hours, rate, currency, chosen)


def _campaign_months(project: Project) -> tuple[Figure, list[Need]]:
    start, end = project.campaign.start, project.campaign.end
    if start is None or end is None or end < start:
        why = msg("the campaign has no planned dates")
        need = Need(why, "scope", msg("Give the first and the last day of the campaign."))
        return missing("months", why), [need]
    months = Decimal((end - start).days + 1) * _MONTHS_PER_YEAR / 365
    return exact(months, "months", State.PLANNED, Source(kind="plan", name="campaign")), []


def not_included(what: str) -> Message:
    """Return the remark that a total does not hold ``what``."""
    return msg("not included, because it is not stated or not usable: {what}", what=what)
