"""Has a run of the block's own condition succeeded, and does it fit the machine?"""

from __future__ import annotations

from budget.conditions import distance
from budget.facts import Facts, Verdict, evidence, figure_or_none
from budget.failures import OUT_OF_MEMORY, shows
from budget.figures import Input
from budget.messages import Message, Quantity, msg
from budget.project import Block

ID = "representative-run"
TITLE = msg("A representative run succeeded")
WHY = msg("Hours can be promised only for a condition that was measured, on that machine.")


def judge(facts: Facts) -> tuple[Verdict, ...]:
    """Judge every open block: measured, memory known, and it fits with the margin."""
    return tuple(_judge(facts, block) for block in facts.open_blocks)


def _judge(facts: Facts, block: Block) -> Verdict:
    # Preparation alone is no run, however well it ended.
    attempts = tuple(item for item in facts.serving(block) if not item.without_run)
    good = [item for item in attempts if item.succeeded]
    if not attempts:
        nearest = sorted(
            (item for item in facts.services if item.nearest == block.id), key=distance
        )
        if nearest and all(item.unstated is not None for item in nearest[0].differences):
            return Verdict(
                rule=ID,
                block=block.id,
                outcome="unknown",
                because=(nearest[0].why,),
                do_next=msg(
                    "state it on Blocks or in the next run, or assign the attempt with a reason on "
                    "Measurements"
                ),
                sources=tuple(
                    item.source
                    for item in facts.measurements.attempts
                    if item.id == nearest[0].attempt
                ),
            )
        because: tuple[Message, ...] = (
            msg("no attempt has the condition of {block}", block=block.id),
            *(item.why for item in nearest[:1]),
        )
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="unknown",
            because=because,
            do_next=msg("run one trial of {block} under the probe", block=block.id),
        )
    if not any(item.outcome in ("ok", "failed") for item in attempts):
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="unknown",
            because=(msg("no attempt of {block} came to an end", block=block.id),),
            do_next=msg("repeat the trial"),
            sources=evidence(attempts[-1]),
        )
    if not good:
        # A failure before the run phase that is not for want of memory was debugging.
        short = [item for item in attempts if shows(item, OUT_OF_MEMORY)]
        memory = bool(short) and all(item in short or not item.reached_run for item in attempts)
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="fail",
            cause="memory" if memory else None,
            because=(
                msg(
                    "{count} of {all} attempts ran out of memory, none succeeded",
                    count=len(short),
                    all=len(attempts),
                )
                if memory
                else msg("all {count} attempts failed", count=len(attempts)),
            ),
            do_next=msg("a machine with more memory, or a narrower scope as a new condition")
            if memory
            else msg("find the cause of the failure, then repeat the trial"),
            sources=evidence((short if memory else attempts)[-1]),
        )
    peak = facts.estimate(block).peak_bytes
    peak_bytes = figure_or_none(peak)
    succeeded = msg("{count} of {all} attempts succeeded", count=len(good), all=len(attempts))
    if peak_bytes is None:
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="unknown",
            because=(succeeded, peak.why or msg("peak memory is missing")),
            do_next=msg("repeat one run where the probe can read the memory of the device"),
            sources=evidence(good[0]),
        )
    limit = _limit_bytes(facts, block)
    figures = (Input(msg("peak memory"), peak),)
    if limit is None:
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="unknown",
            because=(succeeded, msg("the memory of the machine is not described")),
            do_next=msg("add the memory of the environment on Blocks"),
            figures=figures,
        )
    policy, environment = facts.project.policy, facts.environment(block)
    margin = max(policy.memory_margin_share * limit, policy.memory_margin_bytes)
    fit = {
        "peak": Quantity(peak_bytes, "bytes"),
        "margin": Quantity(margin, "bytes"),
        "limit": Quantity(limit, "bytes"),
    }
    if peak_bytes + margin > limit:
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="fail",
            cause="memory",
            because=(
                succeeded,
                msg("it does not fit: peak {peak} and margin {margin} exceed {limit}", **fit),
            ),
            do_next=msg("a machine with more memory, or a narrower scope as a new condition"),
            figures=figures,
            sources=evidence(good[0]),
        )
    return Verdict(
        rule=ID,
        block=block.id,
        outcome="pass",
        because=(
            succeeded,
            msg("peak {peak} and margin {margin} fit {limit} of unified memory", **fit)
            if ((environment and environment.os) or "").startswith("macos")
            else msg("peak {peak} and margin {margin} fit {limit}", **fit),
        ),
        figures=figures,
        sources=tuple(line for item in good for line in evidence(item)),
    )


def _limit_bytes(facts: Facts, block: Block) -> int | None:
    environment = facts.environment(block)
    if environment is None or environment.gpu_count is None:
        return None
    return environment.gpu_memory_bytes if environment.gpu_count else environment.ram_bytes
