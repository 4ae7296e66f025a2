"""Which blocks may be paid for or run now, and why each of the others is held."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import msgspec

from budget.facts import Facts, Verdict
from budget.figures import Figure, Input, missing, total
from budget.messages import Message, Quantity, msg
from budget.project import Block, Environment

DECIDING = ("cuda-compatibility", "representative-run")
"""Rules that a block must pass before anything is paid for it."""


class Hold(msgspec.Struct, frozen=True):
    """A block that must not be paid for yet."""

    block: str
    why: Message
    do_next: Message


def ready_blocks(facts: Facts, verdicts: Sequence[Verdict]) -> tuple[Block, ...]:
    """Return the open blocks that fit, were measured, have planned runs, and a machine in time.

    A block on a machine at hand needs free hours there; a rented one is as long as one pays.
    """
    passing = _passing(facts, verdicts)
    return tuple(block for block in passing if _too_busy(facts, block, passing) is None)


def held_blocks(
    facts: Facts, verdicts: Sequence[Verdict], go: Sequence[Block], headline: Message
) -> tuple[Hold, ...]:
    """Return every block that neither goes nor is done or dropped, with the reason."""
    going = {block.id for block in go}
    passing = _passing(facts, verdicts)
    holds = []
    for block in facts.project.blocks:
        if block.id in going or block.state in ("done", "dropped"):
            continue
        against = sorted(
            (
                item
                for item in verdicts
                if item.block == block.id and item.outcome != "pass" and item.rule in DECIDING
            ),
            key=lambda item: item.outcome != "fail",
        )
        busy = _too_busy(facts, block, passing)
        if block.status == "undetermined":
            why = msg("undetermined: nobody decided what it is")
            do_next = msg("decide it on Blocks: confirmed by the protocol, or chosen")
        elif against:
            why = against[0].because[-1]
            do_next = against[0].do_next or msg("see its verdict")
        elif block.planned_runs is None:
            why = msg("nobody planned how many runs it takes")
            do_next = msg("enter the planned runs on Blocks")
        elif busy is not None:
            why = busy
            do_next = msg("say on Blocks when that machine is free, or plan a rented one")
        else:
            why = msg("it is ready, but first: {headline}", headline=headline)
            do_next = headline
        holds.append(Hold(block.id, why, do_next))
    return tuple(holds)


def remaining_of(facts: Facts, blocks: Sequence[Block]) -> Figure:
    """Return the machine-hours still to come of some blocks, saying of how many they are known.

    The hours of an undetermined block are missing whatever has been measured of it.
    """
    items = []
    for block in blocks:
        estimate = facts.estimate(block)
        figure = estimate.remaining_h
        if block.status == "undetermined":
            figure = undetermined("h")
        elif not estimate.run_s:
            # Declared waits of a block that nobody measured are no part of the hours it needs.
            figure = msgspec.structs.replace(figure, part=None)
        items.append(Input(msg("{block}", block=block.id), figure))
    return sum_of_blocks(items, "h")


def undetermined(unit: str) -> Figure:
    """Return the missing figure of an undetermined block."""
    return missing(unit, msg("undetermined"))


def sum_of_blocks(items: Sequence[Input], unit: str) -> Figure:
    """Add figures of blocks. A block known in part adds its part, and is not called complete."""
    if not items:
        return missing(unit, msg("no block is ready"))
    result = total(items, unit, msg("sum over the blocks"))
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


def known_part(figure: Figure) -> Figure:
    """Return a figure, or what is known of it where it is missing."""
    return figure if figure.known or figure.part is None else figure.part


def free_hours(facts: Facts, environment: Environment) -> float | None:
    """Return the hours a machine at hand is free until the end; None when nobody said."""
    campaign = facts.project.campaign
    last = campaign.deadline or campaign.end
    if last is None or environment.available_hours_per_week is None:
        return None
    start = max(facts.as_of, campaign.start or date.min)
    weeks = max(0, (last + timedelta(days=1) - start).days) / 7
    return environment.available_hours_per_week * weeks


def at_hand(facts: Facts, block: Block) -> bool:
    """Return whether a block is planned on a machine that is there already."""
    environment = facts.environment(block)
    return environment is not None and environment.access != "rented"


def _passing(facts: Facts, verdicts: Sequence[Verdict]) -> tuple[Block, ...]:
    passed = {(item.rule, item.block) for item in verdicts if item.outcome == "pass"}
    return tuple(
        block
        for block in facts.open_blocks
        if block.planned_runs is not None and all((rule, block.id) in passed for rule in DECIDING)
    )


def _too_busy(facts: Facts, block: Block, passing: Sequence[Block]) -> Message | None:
    """Return why the machine at hand is not known to be free for its blocks; None when it is."""
    environment = facts.environment(block)
    if environment is None or environment.access == "rented":
        return None
    label = environment.label or environment.id
    free = free_hours(facts, environment)
    if free is None:
        return msg("nobody said how many hours {label} is free until the end", label=label)
    sharing = [item for item in passing if item.environment == environment.id]
    need = known_part(remaining_of(facts, sharing)).upper
    if need is None or need <= free:
        return None
    return msg(
        "{blocks} need up to {need}, and {label} is free for {free}",
        blocks=tuple(item.id for item in sharing),
        need=Quantity(need, "h"),
        label=label,
        free=Quantity(free, "h"),
    )
