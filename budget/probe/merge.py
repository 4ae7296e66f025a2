"""Writes the one file of a session that is uploaded."""

from __future__ import annotations

import os
from typing import Dict, List, NamedTuple, Tuple

from .history import order, raw_files
from .log import parse
from .session import Session, merged_path


class Merged(NamedTuple):
    """The file, how many records of each event it holds, attempts by outcome, lines left out."""

    path: str
    events: Dict[str, int]
    outcomes: Dict[str, int]
    cut_lines: int


def merge(session: Session) -> Merged:
    """Merge a session's files in the order of time; the first line is a `session.start`.

    Lines are copied as they are. A line that was cut off when its process was killed is left
    out; the files themselves stay. Raises OSError.
    """
    lines: List[Tuple[bool, Tuple[str, int], bytes]] = []
    events: Dict[str, int] = {}
    outcomes: Dict[str, int] = {}
    cut_lines = 0
    for path in raw_files(session.folder, session.id):
        with open(path, "rb") as file:
            for line in file:
                record = parse(line)
                if record is None:
                    cut_lines += bool(line.strip())
                    continue
                event = record["event"]
                events[event] = events.get(event, 0) + 1
                if event == "attempt.end":
                    outcome = str(record.get("outcome"))
                    outcomes[outcome] = outcomes.get(outcome, 0) + 1
                lines.append((event != "session.start", order(record), line.rstrip(b"\n") + b"\n"))
    lines.sort()
    first, rest = lines[:1], sorted(lines[1:], key=lambda line: line[1])
    path = merged_path(session)
    draft = path + ".part"
    with open(draft, "wb") as file:
        file.writelines(line for _, _, line in first + rest)
    os.replace(draft, path)
    return Merged(path, events, outcomes, cut_lines)
