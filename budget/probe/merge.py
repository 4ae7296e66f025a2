"""Writes the one file of a session that is uploaded."""

from __future__ import annotations

import os
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .history import WORST_FIRST, order, raw_files
from .log import parse
from .session import Session, merged_path


class Merged(NamedTuple):
    """The file and what it holds: its size, how many records of each event, each attempt's outcome.

    An outcome is None where an attempt has no end. `start` is the first `session.start`.
    """

    path: str
    size_bytes: int
    start: Dict[str, Any]
    events: Dict[str, int]
    outcomes: Dict[str, Optional[str]]
    cut_lines: int


def merge(session: Session) -> Merged:
    """Merge a session's files in the order of time; the first line is a `session.start`.

    Lines are copied as they are. A line that was cut off when its process was killed is left
    out; the files themselves stay. Raises OSError.
    """
    lines: List[Tuple[bool, Tuple[str, int], bytes]] = []
    events: Dict[str, int] = {}
    outcomes: Dict[str, List[Optional[str]]] = {}
    cut_lines = 0
    for path in raw_files(session.folder, session.id):
        # tasks of one step write one attempt, each in a file of its own
        begun: Dict[str, Optional[str]] = {}
        with open(path, "rb") as file:
            for line in file:
                record = parse(line)
                if record is None:
                    cut_lines += bool(line.strip())
                    continue
                event = record["event"]
                events[event] = events.get(event, 0) + 1
                if event == "attempt.start":
                    begun[str(record.get("attempt"))] = None
                if event == "attempt.end":
                    begun[str(record.get("attempt"))] = str(record.get("outcome"))
                lines.append((event != "session.start", order(record), line.rstrip(b"\n") + b"\n"))
        for attempt, outcome in begun.items():
            outcomes.setdefault(attempt, []).append(outcome)
    lines.sort()
    first, rest = lines[:1], sorted(lines[1:], key=lambda line: line[1])
    path = merged_path(session)
    draft = path + ".part"
    with open(draft, "wb") as file:
        file.writelines(line for _, _, line in first + rest)
    os.replace(draft, path)
    start = parse(first[0][2]) if first else None
    worst = {attempt: _worst(each) for attempt, each in outcomes.items()}
    return Merged(path, os.path.getsize(path), start or {}, events, worst, cut_lines)


def _worst(outcomes: List[Optional[str]]) -> Optional[str]:
    return next((outcome for outcome in WORST_FIRST if outcome in outcomes), outcomes[0])
