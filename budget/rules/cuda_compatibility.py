"""Can the software run on the platform each block is planned for?"""

from __future__ import annotations

from budget.attempts import Attempt
from budget.facts import Facts, Verdict, evidence
from budget.failures import NO_KERNEL, says, shows
from budget.messages import Message, msg
from budget.project import Block, Environment

ID = "cuda-compatibility"
TITLE = msg("The platform fits the software")
WHY = msg(
    "A machine whose driver, architecture or platform the software was not built for is paid "
    "for and cannot be used."
)


def judge(facts: Facts) -> tuple[Verdict, ...]:
    """Judge every open block in its environment; measured attempts outrank declarations."""
    return tuple(_judge(facts, block) for block in facts.open_blocks)


def _judge(facts: Facts, block: Block) -> Verdict:
    environment = facts.environment(block)
    needed = facts.project.requirements.accelerator
    if environment is None:
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="unknown",
            because=(msg("{block} is planned for no environment", block=block.id),),
            do_next=msg("choose an environment on Blocks"),
        )
    attempts = facts.serving(block)
    succeeded = [item for item in attempts if item.succeeded]
    if needed == "cuda" and _without_cuda(environment):
        because = [
            msg(
                "the software requires CUDA; {label} has none: {platform}",
                label=environment.label or environment.id,
                platform=_platform(environment),
            )
        ]
        do_next = msg("choose an environment with an NVIDIA GPU")
        if succeeded:
            because.append(msg("an attempt succeeded there without CUDA"))
            do_next = msg(
                "choose a CUDA machine, or set the requirement to `any` on Scope with "
                "this attempt as evidence: its results are another protocol"
            )
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="fail",
            because=tuple(because),
            do_next=do_next,
            cause="platform",
            sources=evidence(succeeded[0]) if succeeded else (),
        )
    if succeeded:
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="pass",
            because=(
                msg(
                    "{count} attempts of this condition succeeded on this machine",
                    count=len(succeeded),
                ),
            ),
            sources=evidence(succeeded[0]),
            contradiction=msg(
                "declared incompatible, yet attempt {attempt} succeeded: the log wins",
                attempt=succeeded[0].id,
            )
            if environment.cuda_compatible == "no"
            else None,
        )
    refused = [item for item in attempts if shows(item, NO_KERNEL)]
    if refused:
        failure = next(item for item in refused[0].failures if says(item, NO_KERNEL))
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="fail",
            cause="platform",
            because=(
                msg(
                    "attempt {attempt} failed: {text}",
                    attempt=refused[0].id,
                    text=failure.text or failure.kind,
                ),
            ),
            do_next=msg("choose a machine the software was built for, or another build of it"),
            sources=evidence(refused[0]),
            contradiction=msg(
                "declared compatible, yet attempt {attempt} was refused: the log wins",
                attempt=refused[0].id,
            )
            if environment.cuda_compatible == "yes"
            else None,
        )
    elsewhere = _same_software(facts, block)
    if elsewhere is not None:
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="pass",
            because=(
                msg(
                    "attempt {attempt} of another block succeeded here with the same code",
                    attempt=elsewhere.id,
                ),
            ),
            sources=evidence(elsewhere),
        )
    if needed == "any":
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="pass",
            because=(msg("the software requires no particular accelerator"),),
        )
    if environment.cuda_compatible != "unknown":
        fits = environment.cuda_compatible == "yes"
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="pass" if fits else "fail",
            cause=None if fits else "platform",
            because=(
                msg(
                    "declared for {label}; no log shows it yet",
                    label=environment.label or environment.id,
                ),
            ),
            do_next=None if fits else msg("choose another environment"),
        )
    if needed == "unknown":
        return Verdict(
            rule=ID,
            block=block.id,
            outcome="unknown",
            because=(msg("nobody said which accelerator the software requires"),),
            do_next=msg(
                "say on Scope what the software requires: its README or requirements "
                "tell, no machine is needed"
            ),
        )
    return Verdict(
        rule=ID,
        block=block.id,
        outcome="unknown",
        because=(
            msg(
                "no attempt has succeeded on {label}, and nobody declared that it fits",
                label=environment.label or environment.id,
            ),
        ),
        do_next=msg(
            "compare the software's CUDA version with the driver of the machine, and "
            "declare the answer on Scope"
        )
        if needed == "cuda"
        else msg("look up whether the software supports this machine, and declare it on Scope"),
    )


def _same_software(facts: Facts, block: Block) -> Attempt | None:
    """Return a success of another block with the same code in the same environment."""
    for other in facts.project.blocks:
        alike = other.environment == block.environment and (
            other.condition.code == block.condition.code
        )
        if other.id == block.id or not alike or block.condition.code is None:
            continue
        for attempt in facts.serving(other):
            if attempt.succeeded:
                return attempt
    return None


def _without_cuda(environment: Environment) -> bool:
    return environment.gpu_count == 0 or (environment.os or "").startswith("macos")


def _platform(environment: Environment) -> str | Message:
    if (environment.os or "").startswith("macos"):
        return "macOS"
    return msg("no GPU")
