"""What is found wrong in a log, and how much clocks may differ before it is."""

from __future__ import annotations

from typing import NamedTuple, Tuple

from .log import Record

ERROR = "error"
WARNING = "warning"

# Two readings of two clocks and rounding may differ a little; more is a wrong unit.
SLACK_SHARE = 0.02
SLACK_S = 0.5

REPORT = "report this to the probe's authors"

# A record and where it stands: file and line.
Placed = Tuple[Record, str]


class Finding(NamedTuple):
    """One line of the report."""

    place: str
    severity: str
    text: str
    todo: str

    def line(self) -> str:
        # a record's own text may hold line ends
        text = " ".join(self.text.split())
        return "{}: {}: {}; {}".format(self.place, self.severity, text, self.todo)
