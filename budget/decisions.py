"""The decision: every rule's verdict, one headline, the totals, what may go and what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from types import ModuleType

import msgspec

from budget.costs import Need, Scenario
from budget.facts import Facts, Verdict
from budget.figures import Figure, Input, State, exact, missing, not_applicable, product, total
from budget.headlines import HEADLINES, RENTING, Case
from budget.messages import Message, Quantity, msg
from budget.needs import missing_needs
from budget.project import Block
from budget.quotes import applicable, choose, machine_hour_rate
from budget.scenarios import Check, comparison, within_cap, within_deadline


class Hold(msgspec.Struct, frozen=True):
    """A block that must not be paid for yet."""

    block: str
    why: Message
    do_next: Message


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
    go = tuple(block for block in facts.open_blocks if _ready(block, verdicts))
    need_h = _hours([item for item in facts.estimates if item.block in {b.id for b in go}], facts)
    case = Case(
        facts=facts, verdicts=verdicts, go=go, need_h=need_h, comparison=_compared(scenarios)
    )
    headline, text = next(
        (code, text) for code, applies in HEADLINES if (text := applies(case)) is not None
    )
    hold = _holds(facts, verdicts, go)
    kind = {"rent-for-the-campaign": "continuous", "run-on-available-hardware": "owned"}.get(
        headline, "blocks"
    )
    scenario = next((item for item in scenarios if item.kind == kind), None)
    totals = _totals(facts, scenario)
    renting = headline in RENTING
    checks = (
        within_deadline(totals.remaining.machine_hours, facts.project, facts.as_of),
        within_cap(totals.sum.cost, facts.project.campaign.cap, facts.project.currency or ""),
    )
    return Decision(
        as_of=facts.as_of,
        headline=headline,
        headline_text=text,
        approve=_approve(case, headline, text, hold),
        go=tuple(block.id for block in go) if _lets_go(headline) else (),
        hold=hold,
        missing=missing_needs(facts, verdicts, scenario),
        verdicts=verdicts,
        totals=totals,
        checks=checks,
        remarks=_remarks(case, scenario, renting),
        contradictions=tuple(v.contradiction for v in verdicts if v.contradiction is not None),
    )


def _compared(scenarios: Sequence[Scenario]) -> tuple[Message, ...]:
    """Return what renting beside owning says, or what is missing for a comparison."""
    result = comparison(scenarios)
    return result.statements if result.possible else tuple(need.what for need in result.needs)


def _lets_go(headline: str) -> bool:
    return headline in RENTING or headline == "run-on-available-hardware"


def _ready(block: Block, verdicts: Sequence[Verdict]) -> bool:
    """Return whether a block may be paid for: it fits, was measured, and its runs are planned."""
    outcomes = {item.rule: item.outcome for item in verdicts if item.block == block.id}
    return (
        block.planned_runs is not None
        and outcomes.get("cuda-compatibility") == "pass"
        and outcomes.get("representative-run") == "pass"
    )


def _holds(facts: Facts, verdicts: Sequence[Verdict], go: Sequence[Block]) -> tuple[Hold, ...]:
    holds = []
    going = {block.id for block in go}
    for block in facts.project.blocks:
        if block.id in going or block.state in ("done", "dropped"):
            continue
        against = [
            item
            for item in verdicts
            if item.block == block.id
            and item.outcome != "pass"
            and item.rule in ("cuda-compatibility", "representative-run")
        ]
        if block.status == "undetermined":
            holds.append(
                Hold(
                    block.id,
                    msg("undetermined: nobody decided what it is"),
                    msg("decide it on Blocks: confirmed by the protocol, or chosen"),
                )
            )
        elif against:
            first = against[0]
            holds.append(Hold(block.id, first.because[-1], first.do_next or msg("see its verdict")))
        else:
            holds.append(
                Hold(
                    block.id,
                    msg("nobody planned how many runs it takes"),
                    msg("enter the planned runs on Blocks"),
                )
            )
    return tuple(holds)


def _hours(estimates: Sequence[object], facts: Facts) -> Figure:
    """Add the remaining hours of some blocks, saying of how many they are known."""
    items = [
        Input(msg("{block}", block=item.block), item.remaining_h)
        for item in facts.estimates
        if item in estimates
    ]
    if not items:
        return missing("h", msg("no block is ready"))
    result = total(items, "h", msg("sum over the blocks"))
    if result.part is None:
        return result
    complete = sum(1 for item in items if item.figure.known)
    why = msg(
        "{complete} of {all} blocks complete; {without}",
        complete=complete,
        all=len(items),
        without=result.part.why or msg("some parts are missing"),
    )
    return msgspec.structs.replace(result, part=msgspec.structs.replace(result.part, why=why))


def _totals(facts: Facts, scenario: Scenario | None) -> Totals:
    currency = facts.project.currency or "currency"
    open_ids = {
        block.id for block in facts.project.blocks if block.state not in ("done", "dropped")
    }
    counted = [item for item in facts.estimates if item.block in open_ids]
    kind = scenario.kind if scenario else None
    spent = Total(
        machine_hours=facts.spending.reserved_h,
        gpu_hours=facts.spending.gpu_hours,
        cost=_spent_cost(facts, currency),
        scenario=kind,
    )
    remaining_gpu = (
        total(
            [Input(msg("{block}", block=item.block), item.gpu_hours_billed) for item in counted],
            "gpu-hour",
            msg("sum over the blocks"),
        )
        if counted
        else missing("gpu-hour", msg("the plan has no open block"))
    )
    remaining = Total(
        machine_hours=scenario.hours
        if scenario and scenario.kind == "continuous"
        else _hours(counted, facts)
        if counted
        else missing("h", msg("the plan has no open block")),
        gpu_hours=remaining_gpu,
        cost=scenario.total if scenario else missing(currency, msg("no scenario")),
        scenario=kind,
    )
    both = [("machine_hours", "h"), ("gpu_hours", "gpu-hour"), ("cost", currency)]
    sums = {
        name: total(
            [
                Input(msg("spent"), getattr(spent, name)),
                Input(msg("remaining"), getattr(remaining, name)),
            ],
            unit,
            msg("spent + remaining"),
        )
        for name, unit in both
    }
    return Totals(spent=spent, remaining=remaining, sum=Total(**sums, scenario=kind))


def _spent_cost(facts: Facts, currency: str) -> Figure:
    """Return what the spent hours cost at the quoted rate; no bill has been read."""
    project, lines = facts.project, []
    for session in facts.spending.sessions:
        name = msg("session {id}", id=session.session)
        environment = project.environment(session.environment)
        if environment is None:
            figure = missing(currency, msg("its machine is none of the plan's environments"))
        elif environment.access != "rented":
            figure = not_applicable(
                currency, msg("not rented: {access}", access=msg(environment.access))
            )
        elif session.reserved_h is None:
            figure = missing(currency, msg("the log has no times"))
        else:
            usable, _ = applicable(project, environment.id, "on-demand", facts.as_of)
            chosen = choose(usable)
            rate = machine_hour_rate(chosen.quote, environment) if chosen else None
            if rate is None:
                figure = missing(
                    currency,
                    msg("no usable quote for {label}", label=environment.label or environment.id),
                )
            else:
                hours = exact(session.reserved_h, "h", State.MEASURED)
                figure = product(
                    Input(msg("reserved hours"), hours),
                    Input(msg("rate"), rate),
                    currency,
                    msg("reserved hours x rate; no bill has been read"),
                )
        lines.append(Input(name, figure))
    if not lines:
        return missing(currency, msg("nothing has been measured yet"))
    return total(lines, currency, msg("sum over the sessions"))


def _approve(case: Case, headline: str, text: Message, hold: Sequence[Hold]) -> Message:
    """Return the one sentence that can be copied."""
    if not _lets_go(headline) or not case.go:
        return msg("Approve nothing yet. {headline}", headline=text)
    machines = tuple(dict.fromkeys(_label(case, block) for block in case.go))
    blocks = tuple(block.id for block in case.go)
    hours = case.need_h if case.need_h.known else case.need_h.part
    if hours is None:
        return msg("Approve nothing yet: the hours of {blocks} are missing", blocks=blocks)
    amount: Message | Quantity = Quantity(hours.upper, "h")
    if not case.need_h.known:
        amount = msg("{hours} ({why})", hours=amount, why=hours.why or msg("partly known"))
    again = tuple(item.block for item in hold)
    if again:
        return msg(
            "Approve now: up to {hours} on {machines} for {blocks}; decide again after {again}",
            hours=amount,
            machines=machines,
            blocks=blocks,
            again=again,
        )
    return msg(
        "Approve now: up to {hours} on {machines} for {blocks}",
        hours=amount,
        machines=machines,
        blocks=blocks,
    )


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
        remarks.extend(scenario.remarks)
    return tuple(dict.fromkeys(remarks))
