"""The nine headlines, in the order in which they are tried; the first that applies is the answer.

Each function returns the text of its headline, or None when it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from budget.facts import Facts, Outcome, Verdict
from budget.figures import Figure
from budget.messages import Message, Quantity, msg
from budget.project import Block
from budget.readiness import DECIDING, at_hand, free_hours, known_part


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Facts, verdicts and what follows from both for the blocks."""

    facts: Facts
    verdicts: tuple[Verdict, ...]
    go: tuple[Block, ...]
    """Open blocks that pass and whose number of runs is planned."""
    need_h: Figure
    """Machine-hours still to come for the blocks in ``go``."""
    comparison: tuple[Message, ...] = ()
    """What the comparison of renting and owning says or lacks."""

    def outcome(self, rule: str, block: str | None = None) -> Outcome:
        """Return the outcome of a rule, for one block or for the project."""
        for verdict in self.verdicts:
            if verdict.rule == rule and verdict.block == block:
                return verdict.outcome
        return "unknown"

    def of(self, rule: str) -> tuple[Verdict, ...]:
        """Return all verdicts of one rule."""
        return tuple(verdict for verdict in self.verdicts if verdict.rule == rule)

    @property
    def rented(self) -> tuple[str, ...]:
        """Ids of the blocks in ``go`` whose machine is rented."""
        return tuple(block.id for block in self.go if not at_hand(self.facts, block))

    @property
    def unstable(self) -> bool:
        """Whether the amount of work is shown to be unsettled for a block that could go."""
        names = {block.id for block in self.go}
        return any(
            item.outcome == "fail" for item in self.of("load-stability") if item.block in names
        )


def campaign_closed(case: Case) -> Message | None:
    """The campaign has ended and no block is open."""
    if case.facts.open_blocks:
        return None
    end, blocks = case.facts.project.campaign.end, case.facts.project.blocks
    if end is not None and end < case.facts.as_of:
        return msg("The campaign ended on {end} and no block is open", end=end)
    if blocks and all(block.state in ("done", "dropped") for block in blocks):
        return msg("Every block is done or dropped: nothing is left to pay for")
    return None


def validate_software_first(case: Case) -> Message | None:
    """The software does not start."""
    if case.outcome("software-starts") != "fail":
        return None
    return msg("Make the software start before paying for any machine")


def choose_compatible_environment(case: Case) -> Message | None:
    """No open block can run where it is planned."""
    causes = {block.id: misfit(case, block) for block in case.facts.open_blocks}
    reasons = {name: cause for name, cause in causes.items() if cause is not None}
    if not reasons or len(reasons) < len(causes):
        return None
    memory = tuple(name for name, cause in reasons.items() if cause == "memory")
    platform = tuple(name for name, cause in reasons.items() if cause != "memory")
    if memory and platform:
        return msg(
            "Choose another environment: {platform} needs another platform, {memory} more "
            "memory or a narrower scope",
            platform=platform,
            memory=memory,
        )
    if memory:
        return msg(
            "Choose an environment with more memory for {blocks}, or narrow the scope as a "
            "new condition",
            blocks=memory,
        )
    return msg("Choose an environment with another platform for {blocks}", blocks=platform)


def misfit(case: Case, block: Block) -> str | None:
    """Return why a block cannot run where it is planned: ``platform`` or ``memory``."""
    for rule in DECIDING:
        for verdict in case.of(rule):
            if verdict.block == block.id and verdict.outcome == "fail" and verdict.cause:
                return verdict.cause
    return None


def not_enough_evidence(case: Case) -> Message | None:
    """Whether anything would run cannot be told for any open block."""
    if not case.facts.open_blocks:
        return msg("Not enough evidence: the plan has no open block yet")
    starts = case.outcome("software-starts") == "unknown"
    platforms = all(
        case.outcome("cuda-compatibility", block.id) == "unknown"
        for block in case.facts.open_blocks
    )
    if not starts and not platforms:
        return None
    first = next(item for item in case.verdicts if item.outcome == "unknown")
    return msg("Not enough evidence: {do_next}", do_next=first.do_next or first.because[0])


def run_representative_trial(case: Case) -> Message | None:
    """No open block has a representative run yet."""
    blocks = case.facts.open_blocks
    if any(case.outcome("representative-run", block.id) == "pass" for block in blocks):
        return None
    return msg(
        "Run a representative trial of {block} before anything is reserved",
        block=trial_candidate(case).id,
    )


def run_on_available_hardware(case: Case) -> Message | None:
    """The machines are owned or granted and their free hours cover the need."""
    if not case.go or case.rented:
        return None
    facts = case.facts
    machines = {item.id: item for block in case.go if (item := facts.environment(block))}
    free = sum(free_hours(facts, item) or 0.0 for item in machines.values())
    need = case.need_h
    values = {
        "blocks": tuple(block.id for block in case.go),
        "need": Quantity(known_part(need).upper, "h"),
        "free": Quantity(free, "h"),
    }
    if need.known:
        return msg("Run {blocks} on the hardware at hand: {need} of {free} free", **values)
    return msg(
        "Run {blocks} on the hardware at hand: at least {need} of {free} free, the rest of the "
        "need is missing",
        **values,
    )


def compare_durable(case: Case) -> Message | None:
    """The need is continuous and nothing shows that the work is unsettled."""
    if case.outcome("continuity") != "pass" or case.unstable:
        return None
    return msg(
        "Compare renting with owning: {lacks}; rent {blocks} until that is decided",
        lacks=case.comparison or (msg("both sides are quoted"),),
        blocks=case.rented or (msg("nothing yet"),),
    )


def rent_for_the_campaign(case: Case) -> Message | None:
    """The work is unsettled and the need ends with the campaign."""
    if not case.unstable or case.outcome("continuity") != "fail" or not need_ends(case.facts):
        return None
    return msg(
        "Rent for the campaign, in stages: {blocks}; buy nothing",
        blocks=case.rented or (msg("nothing yet"),),
    )


def rent_by_blocks(case: Case) -> Message | None:
    """Everything else: rent what passes, block by block."""
    if not case.go:
        return msg("Rent nothing yet: no block is ready, each says what it lacks")
    own = tuple(block.id for block in case.go if block.id not in case.rented)
    if own:
        return msg(
            "Rent by blocks: {blocks}; run {own} on the hardware at hand",
            blocks=case.rented,
            own=own,
        )
    return msg("Rent by blocks: {blocks}", blocks=case.rented)


HEADLINES: tuple[tuple[str, Callable[[Case], Message | None]], ...] = (
    ("campaign-closed", campaign_closed),
    ("validate-software-first", validate_software_first),
    ("choose-compatible-environment", choose_compatible_environment),
    ("not-enough-evidence", not_enough_evidence),
    ("run-representative-trial", run_representative_trial),
    ("run-on-available-hardware", run_on_available_hardware),
    ("compare-durable", compare_durable),
    ("rent-for-the-campaign", rent_for_the_campaign),
    ("rent-by-blocks", rent_by_blocks),
)
"""DESIGN order: the first that applies wins; the last always applies."""

RENTING = frozenset({"compare-durable", "rent-for-the-campaign", "rent-by-blocks"})
"""Headlines that let somebody rent, and so ask to confirm the quote again."""


def trial_candidate(case: Case) -> Block:
    """Return the open block whose trial costs least and settles most.

    A block whose machine does not fit needs another one before its trial. Then essential before
    optional, the reference first (the others are compared with it), the fewest GPUs and the
    shortest input.
    """
    blocks = [
        block
        for block in case.facts.open_blocks
        if case.outcome("representative-run", block.id) != "pass"
    ]
    fitting = [block for block in blocks if not misfit(case, block)]
    return min(
        fitting or blocks,
        key=lambda block: (
            block.need != "essential",
            block.kind != "reference",
            block.gpus or 0,
            block.condition.input_tokens or 0,
        ),
    )


def need_ends(facts: Facts) -> bool:
    """Return whether nothing is planned beyond the campaign."""
    end = facts.project.campaign.end
    for block in facts.open_blocks:
        until = block.recurs.until if block.recurs else None
        if block.recurs is not None and (until is None or end is None or until > end):
            return False
    horizon = facts.project.campaign.need_horizon_months
    return horizon is None or horizon < facts.project.policy.continuity_months
