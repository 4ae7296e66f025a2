"""The records of a costed scenario, and how its lines become one total."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Literal

import msgspec

from budget.figures import Figure, Input, State, missing, total
from budget.messages import Message, msg
from budget.project import Project, QuoteKind
from budget.quotes import applicable

ScenarioKind = Literal[
    "blocks", "periods", "continuous", "reserved", "spot", "owned", "buy", "mixed"
]  # fmt: skip


class Need(msgspec.Struct, frozen=True):
    """What is lacking for an amount, the page where it is given, and what to do."""

    what: Message
    where: str
    do_next: Message


class CostLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a scenario: ``quantity`` times ``rate`` is ``amount``."""

    name: Message
    quantity: Figure
    rate: Figure
    amount: Figure
    quote: str | None = None
    """Id of the quote that priced it."""
    remarks: tuple[Message, ...] = ()
    """What to show beside the amount: tax, host, age of the quote, billing terms."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One way to get the machine and what it costs."""

    kind: ScenarioKind
    title: Message
    lines: tuple[CostLine, ...]
    hours: Figure
    """Machine-hours (``h``), as planned and before rounding for the bill."""
    gpu_hours_used: Figure
    """GPU-hours that the work uses (``gpu-hour``)."""
    gpu_hours_billed: Figure
    """GPU-hours that are charged with the machine, rounded where billing terms are known."""
    total: Figure
    """Money in the project's currency; missing while any line is."""
    needs: tuple[Need, ...] = ()
    covers: tuple[str, ...] = ()
    """Ids of the blocks whose work it holds."""
    remarks: tuple[Message, ...] = ()
    """What the total does not hold or assumes."""
    example: bool = False
    """Whether any amount rests on an example quote."""
    yearly: Figure | None = None
    """The equivalent annual cost, where the scenario is a purchase (money per year)."""


def currency_of(project: Project) -> str:
    """Return the unit of money; the word ``currency`` while the project states none."""
    return project.currency or "currency"


def rests_on_example(lines: Sequence[CostLine]) -> bool:
    """Return whether an amount of ``lines`` rests on an example quote."""
    return any(line.amount.state is State.EXAMPLE for line in lines)


def sum_of(items: Sequence[Input], unit: str, formula: Message, noun: Message) -> Figure:
    """Return the sum; with parts missing its ``part`` says how many of how many it holds.

    Nothing to add is missing, not 0. A part that is itself only partly known is left out of
    ``part`` whole, so that "5 of 7" stays true.
    """
    if not items:
        return missing(unit, msg("there is nothing to add"))
    whole = [
        Input(item.name, msgspec.structs.replace(item.figure, part=None)) for item in items
    ]  # fmt: skip
    result = total(whole, unit, formula)
    if result.part is None:
        return result
    asked = [item for item in whole if item.figure.state is not State.NOT_APPLICABLE]
    lacking = tuple(item.name for item in asked if not item.figure.known)
    label = msg("{known} of {count} {noun}; without: {parts}", known=len(asked) - len(lacking),
                count=len(asked), noun=noun, parts=lacking)  # fmt: skip
    return msgspec.structs.replace(result, part=msgspec.structs.replace(result.part, why=label))


def sum_of_lines(lines: Sequence[CostLine], currency: str, noun: Message) -> Figure:
    """Return the total of cost lines in ``currency``."""
    items = [Input(line.name, line.amount) for line in lines]
    return sum_of(items, currency, msg("sum of the lines"), noun)


def quote_need(
    project: Project, environment_id: str | None, kind: QuoteKind, name: Message, as_of: date
) -> Need:
    """Return the need for a usable quote, with every reason against those that are there."""
    _, unusable = applicable(project, environment_id, kind, as_of)
    against = tuple(
        msg("{quote}: {reasons}", quote=item.quote.id, reasons=item.reasons) for item in unusable
    )
    if not against:
        return Need(
            msg("no {name}", name=name),
            "quotes",
            msg("Ask for it in writing and enter amount, unit, source and date."),
        )
    return Need(
        msg("no usable {name}: {reasons}", name=name, reasons=against),
        "quotes",
        msg("Have the quote completed or verified again."),
    )


def distinct(needs: Sequence[Need]) -> tuple[Need, ...]:
    """Return the needs without repetitions, in their order."""
    return tuple(dict.fromkeys(needs))
