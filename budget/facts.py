"""What the rules judge, and the form of their answers.

Stands below ``decisions`` so that rules, headlines and the decision share it without a cycle.
"""

from __future__ import annotations

from datetime import date
from typing import Literal

import msgspec

from budget.attempts import Attempt, Measurements
from budget.conditions import Service
from budget.estimates import Estimate
from budget.figures import Figure, Input, Source
from budget.messages import Message
from budget.project import Block, Environment, Project, open_blocks
from budget.spending import Spending

Outcome = Literal["pass", "fail", "unknown"]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a rule may look at. Rules read it and nothing else."""

    project: Project
    as_of: date
    measurements: Measurements
    services: tuple[Service, ...]
    estimates: tuple[Estimate, ...]
    spending: Spending

    @property
    def open_blocks(self) -> tuple[Block, ...]:
        """The blocks that vote."""
        return open_blocks(self.project)

    def estimate(self, block: Block) -> Estimate:
        """Return the estimate of a block of the plan."""
        return next(item for item in self.estimates if item.block == block.id)

    def environment(self, block: Block) -> Environment | None:
        """Return the environment a block is planned for."""
        return self.project.environment(block.environment)

    def serving(self, block: Block) -> tuple[Attempt, ...]:
        """Return the attempts that speak for a block, in order of time."""
        ids = set(self.estimate(block).serving)
        return tuple(item for item in self.measurements.attempts if item.id in ids)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A rule's answer: outcome, reasons, the cheapest action that would settle an unknown."""

    rule: str
    block: str | None = None
    outcome: Outcome
    because: tuple[Message, ...]
    do_next: Message | None = None
    cause: str | None = None
    """A word other code can rely on: ``platform``, ``memory`` … where the outcome has kinds."""
    figures: tuple[Input, ...] = ()
    sources: tuple[Source, ...] = ()
    contradiction: Message | None = None
    """What a person declared and the log refutes; the log wins."""


def evidence(attempt: Attempt) -> tuple[Source, ...]:
    """Return the log lines that show an attempt's end."""
    return (attempt.end_source or attempt.source,)


def figure_or_none(figure: Figure) -> float | None:
    """Return a figure's value as a float, None when it has none."""
    return None if figure.value is None else float(figure.value)
