"""Which attempts speak for which block: the same condition, field by field.

The condition decides; the label of an attempt only breaks a tie between blocks of one condition,
and a person may assign or exclude an attempt with a reason. A field that one side does not state
makes the answer *cannot tell*, never a match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from budget.agreement import near, same_code, same_release, same_text
from budget.attempts import Attempt, Measurements
from budget.messages import Message, Quantity, msg
from budget.project import Block, Environment, Policy, Project

Outcome = Literal["match", "differs", "unknown"]
Values: TypeAlias = tuple[Any, Any]


class Difference(msgspec.Struct, frozen=True):
    """One field on which a block and an attempt do not agree, or on which one is silent."""

    field: str
    wanted: Any
    found: Any
    unstated: Literal["block", "attempt"] | None = None

    @property
    def text(self) -> Message:
        """Say it in words."""
        if self.unstated == "block" and self.found is None:
            return msg("{field}: neither the plan nor the log says", field=msg(self.field))
        if self.unstated == "block":
            return msg(
                "{field}: the plan does not say (measured {found})",
                field=msg(self.field),
                found=self.found,
            )
        if self.unstated == "attempt":
            return msg(
                "{field}: the log does not say (planned {wanted})",
                field=msg(self.field),
                wanted=self.wanted,
            )
        return msg(
            "{field}: planned {wanted}, measured {found}",
            field=msg(self.field),
            wanted=self.wanted,
            found=self.found,
        )


class Match(msgspec.Struct, frozen=True):
    """Whether an attempt has the condition of a block, and every field that is in the way."""

    outcome: Outcome
    differences: tuple[Difference, ...] = ()


class Field(msgspec.Struct, frozen=True):
    """One thing that must agree. ``values`` returns (wanted, found); None means unstated."""

    name: str
    values: Callable[[Block, Environment | None, Attempt], Values | None]
    """None instead of a pair: the question does not arise on this host."""
    agree: Callable[[Any, Any], bool] = lambda wanted, found: bool(wanted == found)
    dispensable: bool = False
    """Whether a program may do without it. Then silence on both sides is no obstacle: nobody can
    state the torch of code that uses none."""


class Service(msgspec.Struct, frozen=True):
    """What became of one attempt: the block it serves, or why it serves none."""

    attempt: str
    block: str | None
    by: Literal["condition", "person", "nobody"]
    why: Message
    nearest: str | None = None
    """The block that comes closest, where none is served."""
    differences: tuple[Difference, ...] = ()


def version_text(attempt: Attempt) -> str | None:
    """Return the code version as a block states it: commit, and ``+hash`` for a dirty tree."""
    code = attempt.code
    if code.commit is None or code.dirty is None:
        return None
    if not code.dirty:
        return code.commit[:12]
    return f"{code.commit[:12]}+{code.diff_hash[:12]}" if code.diff_hash else None


def _has_gpus(environment: Environment | None, attempt: Attempt) -> bool:
    return bool(attempt.host.gpus) or bool(environment and environment.gpu_count)


def _gpu_names(attempt: Attempt) -> str | None:
    names = sorted({gpu.name for gpu in attempt.host.gpus if gpu.name})
    return ", ".join(names) or None


def _cuda(attempt: Attempt) -> str | None:
    """Return the CUDA the process had; a torch that names none was built without it."""
    if attempt.software is None or attempt.software.torch is None:
        return None
    return attempt.software.cuda or "none"


def _memory(environment: Environment | None, attempt: Attempt) -> Values:
    if _has_gpus(environment, attempt):
        host = attempt.host
        sizes = [size for gpu in host.gpus if (size := host.size_of(gpu)) is not None]
        return environment and environment.gpu_memory_bytes, min(sizes, default=None)
    return environment and environment.ram_bytes, attempt.host.ram_bytes


def _gpu_only(values: Callable[[Block, Environment | None, Attempt], Values]) -> Any:
    return lambda b, e, a: values(b, e, a) if _has_gpus(e, a) else None


def _mig(_: Block, environment: Environment | None, attempt: Attempt) -> Values:
    wanted = environment.mig_profile if environment else None
    return wanted, next((gpu.mig_profile for gpu in attempt.host.gpus if gpu.mig_profile), None)


MUST_AGREE: tuple[Field, ...] = (
    Field("code version", lambda b, e, a: (b.condition.code, version_text(a)), same_code),
    Field("model", lambda b, e, a: (b.condition.model, a.intended.model)),
    Field("input tokens", lambda b, e, a: (b.condition.input_tokens, a.intended.input_tokens)),
    Field("output tokens", lambda b, e, a: (b.condition.output_tokens, a.intended.output_tokens)),
    Field("batch size", lambda b, e, a: (b.condition.batch_size, a.intended.batch_size)),
    Field("number of GPUs", lambda b, e, a: (e and e.gpu_count, a.host.gpu_count)),
    Field("GPU", _gpu_only(lambda b, e, a: (e and e.gpu, _gpu_names(a)))),
    Field("MIG profile", _mig, dispensable=True),
    Field("memory in bytes", lambda b, e, a: _memory(e, a), near),
    Field(
        "torch",
        lambda b, e, a: (e and e.torch, a.software and a.software.torch),
        same_release,
        dispensable=True,
    ),
    Field(
        "CUDA",
        _gpu_only(lambda b, e, a: (e and e.cuda, _cuda(a))),
        same_release,
        dispensable=True,
    ),
)
"""What must agree besides the parameters and the method's own libraries, which are compared name
by name, and the sizes really processed."""


def match(block: Block, environment: Environment | None, attempt: Attempt, policy: Policy) -> Match:
    """Compare the condition of an attempt with the one a block plans for."""
    found: list[Difference] = []
    for field in MUST_AGREE:
        pair = field.values(block, environment, attempt)
        if pair is None or (field.dispensable and pair == (None, None)):
            continue
        found.extend(_compare(field.name, *pair, field.agree))
    wanted_parameters, parameters = block.condition.parameters, attempt.intended.parameters
    for name in sorted({*wanted_parameters, *parameters}):
        found.extend(_compare(name, wanted_parameters.get(name), parameters.get(name), same_text))
    libraries = attempt.software.libraries if attempt.software else {}
    for name, wanted in (environment.libraries if environment else {}).items():
        found.extend(_compare(name, wanted, libraries.get(name), same_release))
    found.extend(_really_processed(block, attempt, policy.size_tolerance))
    if any(item.unstated is None for item in found):
        return Match("differs", tuple(found))
    return Match("unknown" if found else "match", tuple(found))


def disagreement(attempts: Sequence[Attempt]) -> str | None:
    """Return the first field in which attempts contradict each other so that no mean is theirs.

    A field that an attempt does not state is left to the person who assigned it; one that is
    stated differently is not: unlike attempts are never averaged.
    """
    anything = Block(id="any")
    for field in MUST_AGREE:
        pairs = [field.values(anything, None, item) for item in attempts]
        stated = [pair[1] for pair in pairs if pair is not None and pair[1] is not None]
        if any(not field.agree(stated[0], value) for value in stated[1:]):
            return field.name
    for name in sorted({name for item in attempts for name in item.intended.parameters}):
        values = [item.intended.parameters.get(name, "") for item in attempts]
        if any(not same_text(values[0], value) for value in values[1:]):
            return name
    return None


def serve(project: Project, measurements: Measurements) -> tuple[Service, ...]:
    """Say for every attempt which block it serves or why none, in the order of the attempts."""
    return tuple(_service(project, attempt) for attempt in measurements.attempts)


def _service(project: Project, attempt: Attempt) -> Service:
    word = project.attempts.get(attempt.id)
    if word is not None:
        reason = msg("{reason}", reason=word.reason)
        return Service(attempt.id, word.block, "person", reason)
    if not project.blocks:
        return Service(attempt.id, None, "nobody", msg("the plan has no blocks yet"))
    matches = {
        block.id: match(block, project.environment(block.environment), attempt, project.policy)
        for block in project.blocks
    }
    matching = [name for name, item in matches.items() if item.outcome == "match"]
    # A dropped block takes no attempt from one that is still planned.
    dropped = {block.id for block in project.blocks if block.state == "dropped"}
    serving = [name for name in matching if name not in dropped] or matching
    if attempt.block in serving or len(serving) == 1:
        name = attempt.block if attempt.block in serving else serving[0]
        return Service(attempt.id, name, "condition", msg("same condition"))
    if serving:
        why = msg("its condition is that of {blocks}: assign it to one", blocks=tuple(serving))
        return Service(attempt.id, None, "nobody", why, serving[0])
    # A block from which nothing stated differs comes before the label a person gave.
    closest = min(matches, key=lambda name: distance(matches[name]))
    nearest = (
        attempt.block
        if attempt.block in matches and matches[closest].outcome == "differs"
        else closest
    )
    best = matches[nearest]
    head = (
        msg(
            "it differs from {block} in {fields}",
            block=nearest,
            fields=tuple(item.text for item in best.differences if item.unstated is None),
        )
        if best.outcome == "differs"
        else msg(
            "cannot tell whether it serves {block}: {fields}",
            block=nearest,
            fields=tuple(item.text for item in best.differences),
        )
    )
    return Service(attempt.id, None, "nobody", head, nearest, best.differences)


def distance(item: Match | Service) -> tuple[int, int]:
    """Return how far a condition is off: fields that differ, then all that are in the way."""
    differing = sum(1 for difference in item.differences if difference.unstated is None)
    return differing, len(item.differences)


def _compare(
    name: str,
    wanted: Any,
    found: Any,
    agree: Callable[[Any, Any], bool],
) -> list[Difference]:
    if wanted is None and found is None:
        return [Difference(name, None, None, "block")]
    if wanted is None:
        return [Difference(name, None, found, "block")]
    if found is None:
        return [Difference(name, wanted, None, "attempt")]
    return [] if agree(wanted, found) else [Difference(name, wanted, found)]


def _really_processed(block: Block, attempt: Attempt, tolerance: float) -> list[Difference]:
    """Compare the sizes of the calls, where the log has them, with the planned ones."""
    differences = []
    for name, field in (
        ("input tokens", "input_tokens"),
        ("output tokens", "output_tokens"),
        ("batch size", "batch_size"),
    ):
        wanted = getattr(block.condition, field)
        sizes = [getattr(call, field) for call in attempt.calls]
        off = [
            (abs(size - wanted), size)
            for size in sizes
            if size is not None and wanted is not None and abs(size - wanted) > tolerance * wanted
        ]
        if off:
            found = msg("{size} really processed", size=Quantity(max(off)[1], "count"))
            differences.append(Difference(name, wanted, found))
    return differences
