"""Every way to get the machine, costed; when two may be compared; what is left to ask.

A scenario without a usable quote has hours and needs but no amount.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import msgspec

from budget.billing import decimal_of
from budget.costs import CostLine, Need, Scenario, distinct
from budget.estimates import Estimate
from budget.figures import Figure, Input, State, exact, worst
from budget.limits import Check, within_cap, within_deadline
from budget.messages import Message, Quantity, msg
from budget.owning import owned
from budget.project import Environment, Project, open_blocks
from budget.purchase import buy
from budget.rental import by_blocks, hours_of, rented_environments
from budget.reservation import continuous

__all__ = [
    "BreakEven",
    "Check",
    "Comparison",
    "CostLine",
    "Need",
    "Scenario",
    "break_even_rates",
    "comparison",
    "questions_to_provider",
    "scenarios",
    "within_cap",
    "within_deadline",
]

RENT_SIDE = ("blocks", "periods", "continuous", "reserved", "spot")
OWN_SIDE = ("owned", "buy")


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Renting beside owning. Without a total on both sides only ``needs`` speak."""

    possible: bool
    statements: tuple[Message, ...] = ()
    needs: tuple[Need, ...] = ()
    example: bool = False


class BreakEven(msgspec.Struct, frozen=True, kw_only=True):
    """Rates per machine-hour below which renting wins, each named by the use it assumes."""

    rates: tuple[Input, ...] = ()
    statements: tuple[Message, ...] = ()
    needs: tuple[Need, ...] = ()


def scenarios(
    project: Project, estimates: Sequence[Estimate], as_of: date
) -> tuple[Scenario, ...]:  # fmt: skip
    """Return the scenarios that the project asks for, renting first.

    *blocks* is always there. The others are left out where their question does not arise: no
    rented environment in use, no machine at hand, no purchase quote or statement on ownership.
    """
    known = {estimate.block: estimate for estimate in estimates}
    found = (
        by_blocks(project, known, as_of),
        continuous(project, known, as_of),
        owned(project, known, as_of),
        buy(project, known, as_of),
    )
    return tuple(item for item in found if item is not None)


def comparison(found: Sequence[Scenario]) -> Comparison:
    """Return renting beside owning, only when both sides have a total.

    No winner is named from totals that hold different work: a purchase lasts its life, a rental
    ends with the blocks. The hours per year from which a purchase pays are given instead.
    """
    rent = [item for item in found if item.kind in RENT_SIDE]
    own = [item for item in found if item.kind in OWN_SIDE]
    priced_rent = [item for item in rent if item.total.known]
    priced_own = [item for item in own if item.total.known]
    if not priced_rent or not priced_own:
        lacking = [
            need
            for side, priced in ((rent, priced_rent), (own, priced_own))
            if not priced
            for item in side
            for need in item.needs
        ]
        if not own:
            lacking.append(_no_own_side())
        return Comparison(possible=False, needs=distinct(lacking))
    shown = [*priced_rent, *priced_own]
    statements = [_stand(item) for item in shown]
    for purchase in priced_own:
        for rental in priced_rent:
            if purchase.kind == "buy":
                statements += _hours_that_pay(purchase, rental)
            elif set(purchase.covers) != set(rental.covers):
                statements.append(
                    msg("{rent} and {own} hold different blocks: their difference is no saving",
                        rent=rental.title, own=purchase.title)
                )  # fmt: skip
    return Comparison(
        possible=True,
        statements=tuple(dict.fromkeys(statements)),
        example=any(item.example for item in shown),
    )


def break_even_rates(
    project: Project, estimates: Sequence[Estimate], found: Sequence[Scenario]
) -> BreakEven:
    """Return below which rate per machine-hour renting beats the purchase among ``found``.

    With the stated utilisation it is the equivalent annual cost over the hours of a year; for the
    open blocks alone the whole present value over their remaining hours, as if the machine had no
    other use. Without a purchase total the needs say what is lacking.
    """
    purchase = next((item for item in found if item.kind == "buy"), None)
    if purchase is None or not purchase.total.known or purchase.yearly is None:
        return BreakEven(needs=purchase.needs if purchase else (_no_own_side(),))
    unit = f"{purchase.total.unit}/machine-hour"
    rates: list[Input] = []
    life_h = purchase.hours
    share = project.ownership.utilisation
    if share is not None:
        hours = share * 8760 * project.campaign.machines_at_once
        year_h = exact(hours, "h/year", worst((State.DECLARED, life_h.state)))
        rates += _rate(msg("in use {share} of the year", share=Quantity(share, "share")),
                       purchase.yearly, year_h, unit)  # fmt: skip
    known = {estimate.block: estimate for estimate in estimates}
    remaining = hours_of(open_blocks(project), known, "remaining_h", "h")
    rates += _rate(msg("used for the open blocks alone"), purchase.total, remaining, unit)
    needs = () if rates else _hours_needs(found)
    statements = tuple(
        msg("{use}: renting wins below {rate}", use=item.name,
            rate=Quantity(item.figure.value, unit))
        for item in rates
    )  # fmt: skip
    return BreakEven(rates=tuple(rates), statements=statements, needs=needs)


def questions_to_provider(project: Project, estimates: Sequence[Estimate]) -> tuple[Message, ...]:
    """Return what to ask a provider: a line per rented environment, then the terms to state."""
    environments = rented_environments(project)
    if not environments:
        return ()
    known = {estimate.block: estimate for estimate in estimates}
    start, end = project.campaign.start, project.campaign.end
    dates = (
        msg("Is it available from {start} to {end}, and until when can that be booked?",
            start=start, end=end)
        if start and end
        else msg("On which dates is it available? Ours are not fixed yet.")
    )  # fmt: skip
    return (
        *(_wanted(project, known, environment) for environment in environments),
        msg("What is the price, in which currency, and per what: GPU-hour, machine-hour, day,"
            " month?"),
        msg("What does one unit hold: how many GPUs, and are host, memory and disk included?"),
        msg("Is tax included, and at what rate?"),
        msg("Until when must it be accepted, and for which period does the price hold?"),
        msg("How is time rounded: billing increment and minimum per rental? Is a stopped machine"
            " charged?"),
        dates,
    )  # fmt: skip


def _wanted(
    project: Project, known: dict[str, Estimate], environment: Environment
) -> Message:  # fmt: skip
    blocks = [block for block in open_blocks(project) if block.environment == environment.id]
    hours = hours_of(blocks, known, "remaining_h", "h")
    label = environment.label or environment.id
    if environment.gpu_count == 0:
        machine = msg("{label} (no GPU needed)", label=label)
    else:
        machine = msg(
            "{label} ({gpu}, {count})",
            label=label,
            gpu=environment.gpu or msg("GPU not stated"),
            count=Quantity(environment.gpu_count, "gpu"),
        )
    if hours.upper is not None:
        return msg("We look for {machine} for up to {hours}.", machine=machine,
                   hours=Quantity(hours.upper, "h"))  # fmt: skip
    if hours.part is not None and hours.part.upper is not None:
        return msg("We look for {machine} for {hours} or more; not all of it is measured yet.",
                   machine=machine, hours=Quantity(hours.part.upper, "h"))  # fmt: skip
    return msg("We look for {machine}; the hours are not measured yet.", machine=machine)


def _stand(item: Scenario) -> Message:
    upper = Quantity(item.total.upper, item.total.unit)
    blocks = item.covers
    if item.kind == "buy":
        text = msg("{title}: {amount} in today's money over its life", title=item.title,
                   amount=upper)  # fmt: skip
    else:
        text = msg("{title}: up to {amount} for {blocks}", title=item.title, amount=upper,
                   blocks=blocks)  # fmt: skip
    return msg("{text} (example)", text=text) if item.example else text


def _hours_that_pay(purchase: Scenario, rental: Scenario) -> list[Message]:
    """Return ``EAC / p`` for every price per machine-hour of the rental."""
    if purchase.yearly is None or purchase.yearly.value is None:
        return []
    yearly = decimal_of(purchase.yearly.value)
    rates = {
        decimal_of(line.rate.value): line.rate.unit
        for line in rental.lines
        if line.rate.value and line.rate.unit.endswith("/machine-hour")
    }
    return [
        msg("at {rate} buying pays from {hours} of use a year, on all machines together",
            rate=Quantity(rate, unit), hours=Quantity(yearly / rate, "h"))
        for rate, unit in rates.items()
    ]  # fmt: skip


def _rate(name: Message, money: Figure, hours: Figure, unit: str) -> list[Input]:
    if not money.value or not hours.value:
        return []
    cost = decimal_of(money.value)
    inputs = (Input(msg("cost of owning"), money), Input(msg("hours"), hours))
    has_range = hours.ranged and bool(hours.low) and money.ranged
    figure = Figure(
        value=cost / decimal_of(hours.value),
        low=cost / decimal_of(hours.high) if has_range and hours.high else None,
        high=cost / decimal_of(hours.low) if has_range and hours.low else None,
        unit=unit,
        state=worst((money.state, hours.state)),
        n=hours.n,
        k=hours.k,
        why=None if has_range else hours.why,
        formula=msg("cost of owning divided by hours"),
        inputs=inputs,
    )
    return [Input(name, figure)]


def _no_own_side() -> Need:
    return Need(
        msg("no machine at hand and no purchase price"),
        "quotes",
        msg("Enter a purchase quote and the life of the machine, if buying is an option."),
    )


def _hours_needs(found: Sequence[Scenario]) -> tuple[Need, ...]:
    return tuple(
        need for item in found if item.kind == "blocks" for need in item.needs
        if need.where != "quotes"
    )  # fmt: skip
