"""What must agree inside a project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from budget.cleaning import named
from budget.messages import Message, msg
from budget.project import Project
from budget.yamltext import Path


def check(project: Project) -> Iterator[tuple[Path, Message, Message]]:
    """Yield what contradicts itself inside a project: (path, what, what to do next)."""
    lists: tuple[tuple[Path, Any], ...] = (
        (("environments",), project.environments),
        (("blocks",), project.blocks),
        (("quotes",), project.quotes),
        (("scope", "results"), project.scope.results),
        (("scope", "models"), project.scope.models),
        (("scope", "datasets"), project.scope.datasets),
    )
    for group, items in lists:
        seen: set[str] = set()
        for index, item in enumerate(items):
            if item.id in seen:
                yield (
                    (*group, index, "id"),
                    msg("the id {id} is used twice in {group}", id=item.id, group=named(group)),
                    msg("give each its own id"),
                )
            seen.add(item.id)
    environments = {item.id for item in project.environments}
    blocks = {item.id for item in project.blocks}
    for index, block in enumerate(project.blocks):
        where: Path = ("blocks", index)
        if block.status == "confirmed" and not (block.protocol_ref or "").strip():
            yield (
                (*where, "status"),
                msg(
                    "block {block} is confirmed by the protocol but says not where", block=block.id
                ),
                msg("give protocol_ref (table, section), or set the status to chosen"),
            )
        if block.environment is not None and block.environment not in environments:
            yield (
                (*where, "environment"),
                msg(
                    "block {block} names environment {environment}, which does not exist",
                    block=block.id,
                    environment=block.environment,
                ),
                msg("add the environment or choose one of those listed"),
            )
        for name in block.depends_on:
            if name not in blocks or name == block.id:
                yield (
                    (*where, "depends_on"),
                    msg(
                        "block {block} depends on {other}, which is no other block",
                        block=block.id,
                        other=name,
                    ),
                    msg("name another block of this plan"),
                )
        gpu_count = getattr(project.environment(block.environment), "gpu_count", None)
        if block.gpus is not None and gpu_count is not None and block.gpus > gpu_count:
            yield (
                (*where, "gpus"),
                msg(
                    "block {block} uses {used} GPUs, the machine has {there}",
                    block=block.id,
                    used=block.gpus,
                    there=gpu_count,
                ),
                msg("choose a larger machine or fewer GPUs"),
            )
    for index, circle in _circles(project):
        yield (
            ("blocks", index, "depends_on"),
            msg("these blocks wait for each other: {blocks}", blocks=" → ".join(circle)),
            msg("remove one of them from depends_on"),
        )
    start, end = project.campaign.start, project.campaign.end
    if start is not None and end is not None and end < start:
        yield (
            ("campaign", "end"),
            msg("the campaign ends on {end}, before it starts on {start}", start=start, end=end),
            msg("correct one of the two dates"),
        )
    for attempt, assignment in project.attempts.items():
        if assignment.block is not None and assignment.block not in blocks:
            yield (
                ("attempts", attempt),
                msg(
                    "attempt {attempt} is assigned to {block}, which does not exist",
                    attempt=attempt,
                    block=assignment.block,
                ),
                msg("assign it to a block of this plan"),
            )


def _circles(project: Project) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield each circle of ``depends_on`` once: the index of its first block, and the way round.

    A block that names itself is no circle here: it is refused by name.
    """
    places: dict[str, int] = {}
    for index, block in enumerate(project.blocks):
        places.setdefault(block.id, index)
    waits_for = {
        name: [other for other in project.blocks[index].depends_on if other in places]
        for name, index in places.items()
    }
    done: set[str] = set()
    for first in places:
        way = [first]  # the blocks from ``first`` down to the one being looked at
        rest = [iter(() if first in done else waits_for[first])]
        while way:
            other = next(rest[-1], None)
            if other is None:
                done.add(way.pop())
                rest.pop()
            elif other in way:
                circle = way[way.index(other) :]
                if len(circle) > 1:
                    start = min(range(len(circle)), key=lambda at: places[circle[at]])
                    turned = (*circle[start:], *circle[:start])
                    yield places[turned[0]], (*turned, turned[0])
            elif other not in done:
                way.append(other)
                rest.append(iter(waits_for[other]))
