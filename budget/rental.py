"""What renting costs block by block, and what every rental needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal

import msgspec

from budget.billing import billed_figure, billing_remarks, decimal_of
from budget.costs import (
    CostLine,
    Need,
    Scenario,
    currency_of,
    distinct,
    quote_need,
    rests_on_example,
    sum_of,
    sum_of_lines,
)
from budget.estimates import Estimate
from budget.figures import (
    Figure,
    Input,
    State,
    exact,
    missing,
    not_applicable,
    product,
)
from budget.messages import Message, msg
from budget.project import Block, Environment, Project, open_blocks
from budget.quotes import Rate, machine_rate, quote_for

BLOCKS = msg("blocks")
RATE_TIMES = msg("charged quantity times rate")
_NO_ESTIMATE = msg("its hours are not estimated")


def rented_environments(project: Project) -> tuple[Environment, ...]:
    """Return the rented environments of the open blocks, each once, in the order of use."""
    used = [project.environment(block.environment) for block in open_blocks(project)]
    rented = {item.id: item for item in used if item is not None and item.access == "rented"}
    return tuple(rented.values())


def hours_of(
    blocks: Sequence[Block], estimates: Mapping[str, Estimate], which: str, unit: str
) -> Figure:
    """Return the sum over ``blocks`` of one figure of their estimates (its field ``which``)."""
    items = [
        Input(
            msg("{block}", block=block.id),
            getattr(estimates[block.id], which)
            if block.id in estimates
            else missing(unit, _NO_ESTIMATE),
        )
        for block in blocks
    ]
    return sum_of(items, unit, msg("sum over the blocks"), BLOCKS)


def by_blocks(project: Project, estimates: Mapping[str, Estimate], as_of: date) -> Scenario:
    """Return the scenario that rents each open block for its remaining hours, by session."""
    blocks = open_blocks(project)
    lines: list[CostLine] = []
    needs: list[Need] = []
    billed: list[Input] = []
    for block in blocks:
        line, lacking, gpu_hours = _block_line(project, block, estimates.get(block.id), as_of)
        lines.append(line)
        needs.extend(lacking)
        billed.append(Input(msg("{block}", block=block.id), gpu_hours))
    if not blocks:
        needs.append(_no_open_block())
    undetermined = tuple(block.id for block in project.blocks
                         if block.status == "undetermined"
                         and block.state not in ("done", "dropped"))  # fmt: skip
    remarks = []
    if undetermined:
        remarks.append(msg("without the undetermined blocks: {blocks}", blocks=undetermined))
    if any(item.contingency_h.value for key, item in estimates.items() if project.block(key)):
        remarks.append(msg("without the contingency for retries, which stands apart"))
    return Scenario(
        kind="blocks",
        title=msg("Rent block by block"),
        lines=tuple(lines),
        hours=hours_of(blocks, estimates, "remaining_h", "h"),
        gpu_hours_used=hours_of(blocks, estimates, "gpu_hours_used", "gpu-hour"),
        gpu_hours_billed=sum_of(billed, "gpu-hour", msg("sum over the blocks"), BLOCKS),
        total=sum_of_lines(lines, currency_of(project), BLOCKS),
        needs=distinct(needs),
        covers=tuple(block.id for block in blocks),
        remarks=tuple(remarks),
        example=rests_on_example(lines),
    )


def rent_line(name: Message, quantity: Figure, rate: Figure, currency: str) -> CostLine:
    """Return the line whose amount is ``quantity`` times ``rate``."""
    amount = product(
        Input(msg("quantity"), quantity), Input(msg("rate"), rate), currency, RATE_TIMES
    )
    return CostLine(name=name, quantity=quantity, rate=rate, amount=amount)


def rent_need(project: Project, environment: Environment, as_of: date) -> Need:
    """Return the need for a usable on-demand price of ``environment``."""
    name = msg("rental price for {environment}", environment=environment.id)
    return quote_need(project, environment.id, "on-demand", name, as_of)


def scaled(figure: Figure, factor: Decimal, unit: str) -> Figure:
    """Return ``figure`` times a number of the plan."""
    return period_times(figure, exact(decimal_of(factor), "", State.PLANNED), unit)


def period_times(a: Figure, b: Figure, unit: str) -> Figure:
    """Return a period times a number of machines."""
    first, second = Input(msg("period"), a), Input(msg("machines"), b)
    return product(first, second, unit, msg("period times number"))


def _block_line(
    project: Project, block: Block, estimate: Estimate | None, as_of: date
) -> tuple[CostLine, list[Need], Figure]:
    currency = currency_of(project)
    name = msg("{block}", block=block.id)
    needs: list[Need] = []
    hours = estimate.remaining_h if estimate else missing("h", _NO_ESTIMATE)
    gpu_hours = estimate.gpu_hours_billed if estimate else missing("gpu-hour", _NO_ESTIMATE)
    hours = msgspec.structs.replace(hours, part=None)
    if hours.state is State.MISSING:
        needs.append(_hours_need(block, hours))
    environment = project.environment(block.environment)
    if environment is None:
        why = msg("the block has no environment")
        needs.append(
            Need(
                msg("the environment of {block}", block=block.id),
                "blocks",
                msg("Say on which environment it runs."),
            )
        )
        rate = missing(f"{currency}/machine-hour", why)
        return rent_line(name, hours, rate, currency), needs, gpu_hours
    if environment.access != "rented":
        free = msg("{environment} is {access}: no rent", environment=environment.id,
                   access=environment.access)  # fmt: skip
        rate = not_applicable(f"{currency}/machine-hour", free)
        return rent_line(name, hours, rate, currency), needs, not_applicable("gpu-hour", free)
    chosen = quote_for(project, environment.id, "on-demand", as_of)
    if chosen is None:
        needs.append(rent_need(project, environment, as_of))
        rate = missing(f"{currency}/machine-hour", needs[-1].what)
        return rent_line(name, hours, rate, currency), needs, gpu_hours
    charge = machine_rate(chosen.quote, environment)
    sessions = estimate.sessions if estimate and estimate.sessions else block.sessions
    quantity = billed_figure(hours, charge, sessions)
    if quantity.value is None and hours.value is not None:
        needs.append(
            Need(
                msg("the number of sessions of {block}", block=block.id),
                "blocks",
                msg("Plan its sessions: each is rounded up for billing."),
            )
        )
    line = rent_line(name, quantity, charge.price, currency)
    line = msgspec.structs.replace(
        line, quote=chosen.quote.id, remarks=(*chosen.remarks, *billing_remarks(charge))
    )
    return line, needs, _billed_gpu_hours(quantity, charge, environment, gpu_hours)


def _billed_gpu_hours(
    quantity: Figure, charge: Rate, environment: Environment, planned: Figure
) -> Figure:
    # A month's price has no number of hours to round to: the planned ones stand.
    if charge.period not in ("hour", "day") or not environment.gpu_count:
        return planned
    each = Decimal(environment.gpu_count * (24 if charge.period == "day" else 1))
    return scaled(quantity, each, "gpu-hour")


def _hours_need(block: Block, hours: Figure) -> Need:
    return Need(
        msg("the hours of {block}: {why}", block=block.id, why=hours.why or msg("unknown")),
        "measurements",
        msg("Measure a representative trial of it."),
    )


def _no_open_block() -> Need:
    return Need(
        msg("no block is open"), "blocks", msg("Confirm or choose the blocks to be paid for.")
    )
