"""The problems of one file while it is being read."""

from __future__ import annotations

from collections import Counter

from budget.messages import Message, Problem, msg

# A damaged file repeats one mistake on thousands of lines; nobody reads more than a few of them.
MAX_ALIKE = 20


class Findings:
    """Collects problems of one file; of problems with the same text only ``MAX_ALIKE`` are kept."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._kept: list[Problem] = []
        self._count: Counter[str] = Counter()
        self._first_left_out: dict[str, Problem] = {}

    def add(self, line: int, what: Message, do_next: Message) -> None:
        """Add a problem of line ``line`` (1 is the first)."""
        problem = Problem(f"{self.name}:{line}", what, do_next)
        self._count[what.text] += 1
        if self._count[what.text] <= MAX_ALIKE:
            self._kept.append(problem)
        else:
            self._first_left_out.setdefault(what.text, problem)

    def problems(self) -> tuple[Problem, ...]:
        """Return what was found, with one more problem for each kind that was cut short."""
        return (*self._kept, *(
            Problem(
                first.where,
                msg("from here on {count} more like this: {what}",
                    count=self._count[text] - MAX_ALIKE, what=first.what),
                first.do_next,
            )
            for text, first in self._first_left_out.items()
        ))  # fmt: skip
