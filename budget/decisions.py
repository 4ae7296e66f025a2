"""The decision: every rule's verdict, one headline, the totals, what may go and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from types import ModuleType

import msgspec

from budget.billing import decimal_of
from budget.costs import Need, Scenario
from budget.facts import Facts, Verdict
from budget.figures import State
from budget.headlines import HEADLINES, RENTING, Case
from budget.messages import Message, Quantity, msg
from budget.needs import missing_needs
from budget.project import Block
from budget.quotes import TAX, VERIFIED
from budget.readiness import Hold, held_blocks, known_part, ready_blocks, remaining_of
from budget.rental import by_blocks
from budget.scenarios import Check, comparison, within_cap, within_deadline
from budget.totals import Total, Totals, campaign_to_come, totals, unpriced

__all__ = ["Check", "Decision", "Hold", "Need", "Total", "Totals", "decide"]

COSTED = {"rent-for-the-campaign": "continuous", "run-on-available-hardware": "owned"}
"""The scenario that costs a headline; the others are costed block by block."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do, why, what it costs or why no amount is shown, and what is missing from whom."""

    as_of: date
    headline: str
    headline_text: Message
    approve: Message
    go: tuple[str, ...]
    hold: tuple[Hold, ...]
    missing: tuple[Need, ...]
    verdicts: tuple[Verdict, ...]
    totals: Totals
    checks: tuple[Check, ...]
    remarks: tuple[Message, ...] = ()
    """What holds beside the headline: confirm before booking, no range, what no figure covers."""
    contradictions: tuple[Message, ...] = ()


def decide(facts: Facts, rules: Sequence[ModuleType], scenarios: Sequence[Scenario]) -> Decision:
    """Judge the facts by the rules and draw the conclusion."""
    verdicts = tuple(verdict for rule in rules for verdict in rule.judge(facts))
    ready = ready_blocks(facts, verdicts)
    case = Case(
        facts=facts,
        verdicts=verdicts,
        go=ready,
        need_h=remaining_of(facts, ready),
        comparison=_compared(scenarios),
    )
    headline, text = next(
        (code, text) for code, applies in HEADLINES if (text := applies(case)) is not None
    )
    go = ready if _lets_go(headline) else ()
    hold = held_blocks(facts, verdicts, go, text)
    scenario = _scenario(facts, scenarios, headline)
    three = totals(facts, scenario)
    needs = (*missing_needs(facts, verdicts, scenario), *unpriced(facts))
    checks = (
        within_deadline(three.remaining.machine_hours, facts.project, facts.as_of),
        within_cap(three.sum.cost, facts.project.campaign.cap, facts.project.currency or ""),
    )
    return Decision(
        as_of=facts.as_of,
        headline=headline,
        headline_text=text,
        approve=_approve(case, headline, text, hold),
        go=tuple(block.id for block in go),
        hold=hold,
        missing=tuple(dict.fromkeys(needs)),
        verdicts=verdicts,
        totals=three,
        checks=checks,
        remarks=_remarks(case, scenario, headline in RENTING),
        contradictions=tuple(v.contradiction for v in verdicts if v.contradiction is not None),
    )


def _scenario(facts: Facts, scenarios: Sequence[Scenario], headline: str) -> Scenario | None:
    """Return the scenario of a headline; of the whole campaign, what is still to come."""
    kind = COSTED.get(headline, "blocks")
    to_come = campaign_to_come(facts) if kind == "continuous" else None
    if to_come is not None:
        return to_come
    kind = "blocks" if kind == "continuous" else kind
    return next((item for item in scenarios if item.kind == kind), None)


def _compared(scenarios: Sequence[Scenario]) -> tuple[Message, ...]:
    """Return what renting beside owning says, or what is missing for a comparison."""
    result = comparison(scenarios)
    return result.statements if result.possible else tuple(need.what for need in result.needs)


def _lets_go(headline: str) -> bool:
    return headline in RENTING or headline == "run-on-available-hardware"


def _approve(case: Case, headline: str, text: Message, hold: Sequence[Hold]) -> Message:
    """Return the one sentence that can be copied."""
    if not _lets_go(headline) or not case.go:
        return msg("Approve nothing yet. {headline}", headline=text)
    blocks = tuple(block.id for block in case.go)
    hours = _approved_hours(case)
    if hours is None:
        return msg("Approve nothing yet: the hours of {blocks} are missing", blocks=blocks)
    price = _approved_cost(case)
    values = {
        "hours": hours,
        "machines": tuple(dict.fromkeys(_label(case, block) for block in case.go)),
        "blocks": blocks if price is None else msg("{blocks}: {price}", blocks=blocks, price=price),
    }
    if headline == "rent-for-the-campaign":
        return msg(
            "Approve now the first stage: {hours} on {machines} for {blocks}; decide every further "
            "stage of the campaign after it",
            **values,
        )
    again = tuple(item.block for item in hold)
    if again:
        return msg(
            "Approve now: {hours} on {machines} for {blocks}; decide again after {again}",
            again=again,
            **values,
        )
    return msg("Approve now: {hours} on {machines} for {blocks}", **values)


def _approved_hours(case: Case) -> Message | None:
    """Return the hours with what they promise: an upper end, a point, or a part of the need."""
    known = known_part(case.need_h)
    if known.upper is None:
        return None
    amount = Quantity(known.upper, "h")
    hours = msg("up to {hours}", hours=amount)
    if not known.ranged:
        hours = msg("about {hours} (no range)", hours=amount)
    if case.need_h.known:
        return hours
    lacking = [
        item.name
        for block in case.go
        for item in case.facts.estimate(block).remaining_h.inputs
        if not item.figure.known
    ]
    return msg("{hours} ({parts} not counted)", hours=hours, parts=tuple(dict.fromkeys(lacking)))


def _approved_cost(case: Case) -> Message | None:
    """Return the price of what may go, with tax in or out; None where nothing is rented.

    Without a usable quote it says that there is no amount, never a number.
    """
    facts, names = case.facts, {block.id for block in case.go}
    if not case.rented:
        return None
    chosen = msgspec.structs.replace(
        facts.project, blocks=tuple(item for item in facts.project.blocks if item.id in names)
    )
    scenario = by_blocks(chosen, {item.block: item for item in facts.estimates}, facts.as_of)
    cost = scenario.total
    if cost.upper is None:
        return msg("no amount: a usable quote or an hour is missing")
    taxes = tuple(
        dict.fromkeys(
            remark for line in scenario.lines for remark in line.remarks if remark in TAX.values()
        )
    )
    amount = msg("up to {amount}", amount=Quantity(cost.upper, cost.unit))
    if cost.state is State.EXAMPLE:
        amount = msg("{amount} (example)", amount=amount)
    return msg("{amount}, {taxes}", amount=amount, taxes=taxes) if taxes else amount


def _label(case: Case, block: Block) -> str:
    environment = case.facts.environment(block)
    return (environment.label or environment.id) if environment else block.id


def _remarks(case: Case, scenario: Scenario | None, renting: bool) -> tuple[Message, ...]:
    remarks: list[Message] = []
    singles = tuple(
        block.id
        for block in case.go
        if sum(len(group) for group in case.facts.estimate(block).run_s) == 1
    )
    if singles:
        remarks.append(
            msg(
                "{blocks} measured once: approve the next stage only, there is no range",
                blocks=singles,
            )
        )
    alike: dict[Message, list[str]] = {}
    for block in case.go:
        why = case.facts.estimate(block).remaining["run"].why
        if why is not None and block.id not in singles:
            alike.setdefault(why, []).append(block.id)
    remarks.extend(
        msg("{blocks}: {why}", blocks=tuple(blocks), why=why) for why, blocks in alike.items()
    )
    if renting:
        ages = {
            line.quote: (case.facts.as_of - quote.verified_on).days
            for line in (scenario.lines if scenario else ())
            for quote in case.facts.project.quotes
            if quote.id == line.quote and quote.verified_on is not None
        }
        for name, days in ages.items():
            remarks.append(
                msg(
                    "Before booking confirm availability, term and price again: quote "
                    "{quote} was verified {days} days ago",
                    quote=name,
                    days=days,
                )
            )
        if not ages:
            remarks.append(
                msg(
                    "Before booking confirm availability, term and price: no usable "
                    "quote stands behind this yet"
                )
            )
    if scenario is not None:
        # What an amount holds stands beside it: tax, host, rounding of the billed time.
        said: dict[Message, list[str]] = {}
        for line in scenario.lines:
            for remark in line.remarks:
                if remark.text == VERIFIED:
                    continue  # said above, for every quote that counts
                names = said.setdefault(remark, [])
                if line.quote is not None and line.quote not in names:
                    names.append(line.quote)
        rounded = _rounding(scenario)
        if rounded is not None:
            remarks.append(rounded)
        remarks.extend(
            msg("{quotes}: {remark}", quotes=tuple(names), remark=remark) if names else remark
            for remark, names in said.items()
        )
        remarks.extend(scenario.remarks)
    return tuple(dict.fromkeys(remarks))


def _rounding(scenario: Scenario) -> Message | None:
    """Return how much time the price counts beyond what is planned; None where it counts none."""
    billed, planned = Decimal(0), Decimal(0)
    for line in scenario.lines:
        given = [item.figure.upper for item in line.quantity.inputs]
        upper = line.quantity.upper
        if line.quantity.unit == "h" and len(given) == 1 and given[0] is not None and upper:
            billed += decimal_of(upper)
            planned += decimal_of(given[0])
    if billed <= planned:
        return None
    return msg(
        "the price counts up to {billed} for up to {planned}: each session is rounded up as it is "
        "billed",
        billed=Quantity(billed, "h"),
        planned=Quantity(planned, "h"),
    )
