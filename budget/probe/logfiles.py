"""Reads logs as a person names them: files and folders, raw files and merged ones."""

from __future__ import annotations

import glob
import os
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from .log import Record, parse
from .secrets import clean

# What one process is known by within a session: ids repeat on several nodes.
Process = Tuple[str, Optional[int], Optional[int], Optional[int]]


class Line(NamedTuple):
    """One line: its number from 1, its record if it is one, and whether it has an end."""

    number: int
    record: Optional[Record]
    ended: bool


class File(NamedTuple):
    """One file under the name to show; `problem` says why it is no log and has no lines."""

    name: str
    lines: List[Line]
    problem: Optional[str] = None


def read_files(paths: Sequence[str]) -> List[File]:
    """The files that the paths name, each once. Nothing is raised: a file's problem is said."""
    files: List[File] = []
    seen: Set[str] = set()
    for path in paths:
        found = [path]
        if os.path.isdir(path):
            found = sorted(glob.glob(os.path.join(glob.escape(path), "*.jsonl")))
            if not found:
                files.append(File(clean(path), [], "the folder holds no log"))
        for one in found:
            real = os.path.realpath(one)
            if real not in seen:
                seen.add(real)
                files.append(_file(one))
    return files


def records(files: Sequence[File]) -> List[Record]:
    """All records, those of a merged file and its raw files once, in the order of the lines."""
    return [record for record, _ in placed(files)]


def placed(files: Sequence[File]) -> List[Tuple[Record, str]]:
    """The same, each with the place to show: file and line."""
    kept: List[Tuple[Record, str]] = []
    seen: Set[str] = set()
    for file in files:
        for line in file.lines:
            if line.record is not None:
                mark = repr(sorted(line.record.items(), key=lambda item: item[0]))
                if mark not in seen:
                    seen.add(mark)
                    kept.append((line.record, "{}:{}".format(file.name, line.number)))
    return kept


def process(record: Record) -> Process:
    """Which process wrote a record."""
    return (
        str(record.get("session")),
        whole(record.get("pid")),
        whole(record.get("rank")),
        whole(record.get("node")),
    )


def boots(every: Sequence[Record]) -> Dict[Process, Optional[str]]:
    """The boot that each process stated in its `session.start`."""
    stated: Dict[Process, Optional[str]] = {}
    for record in every:
        if record["event"] == "session.start":
            boot = record.get("boot")
            stated.setdefault(process(record), boot if isinstance(boot, str) else None)
    return stated


def whole(value: object) -> Optional[int]:
    """A whole number, or None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: object) -> Optional[float]:
    """A number, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return None
    return float(value) if abs(value) < float("inf") else None


def _file(path: str) -> File:
    name = clean(path)
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as problem:
        return File(name, [], "cannot be read: {}".format(problem.strerror or problem))
    if not content.strip():
        return File(name, [], "is empty")
    texts = content.split(b"\n")
    lines = [
        Line(place, parse(text), place < len(texts))
        for place, text in enumerate(texts, 1)
        if text.strip()
    ]
    if not any(line.record is not None for line in lines):
        return File(name, [], "is no log of the probe: none of its lines is a record")
    return File(name, lines)
