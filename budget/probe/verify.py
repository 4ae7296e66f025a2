"""Is a log whole and consistent? Each finding is one line with its place and what to do."""

from __future__ import annotations

import re
from typing import Dict, Iterator, Sequence, Tuple

from . import contract
from .attempt_checks import of_attempts
from .findings import ERROR, REPORT, WARNING, Finding, Placed
from .log import EVENTS, SCHEMA, Record
from .logfiles import File, number, placed, read_files
from .process_checks import of_processes, of_sessions
from .spans import PHASES

COMMON = ("t", "mono_ns", "session", "pid")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
NEEDED: Dict[str, Tuple[str, ...]] = {
    "session.start": ("schema", "layer"),
    "attempt.start": ("attempt",),
    "attempt.end": ("attempt", "outcome", "duration_s"),
    "phase.start": ("phase",),
    "phase.end": ("phase", "duration_s"),
    "call": ("duration_s",),
    "sample": ("window_s", "device"),
    "wait.start": ("reason",),
    "result": ("name", "value"),
}
CHOICES: Dict[Tuple[str, str], Tuple[str, ...]] = {
    ("attempt.end", "outcome"): ("ok", "failed", "interrupted"),
    ("attempt.start", "role"): ("trial", "campaign"),
    ("phase.start", "phase"): PHASES,
    ("phase.end", "phase"): PHASES,
    ("wait.start", "reason"): ("decision", "fix", "files", "queue", "other"),
}


def verify(paths: Sequence[str]) -> Tuple[str, bool]:
    """The findings about logs as text, and whether there is no error.

    `paths` are files or log folders. A warning is something that a run may bring with it, such as
    the last line of a killed process; an error something that a reader would count wrongly.
    """
    files = read_files(paths)
    every = placed(files)
    findings = [finding for file in files for finding in _lines(file)]
    findings += _records(every)
    findings += of_processes(every)
    findings += of_attempts(every)
    findings += of_sessions(every)
    lines = [finding.line() for finding in findings]
    errors = sum(finding.severity == ERROR for finding in findings)
    warnings = len(findings) - errors
    read = "{} in {}".format(_counted(len(every), "record"), _counted(len(files), "file"))
    if not files:
        return "There is no log.", False
    if not findings:
        lines.append("{}: whole and consistent.".format(read))
    else:
        found = "{}, {}".format(_counted(errors, "error"), _counted(warnings, "warning"))
        lines.append("{}: {}.".format(read, found))
    return "\n".join(lines), errors == 0


def _lines(file: File) -> Iterator[Finding]:
    if file.problem is not None:
        yield Finding(file.name, ERROR, file.problem, "name a log or a log folder")
        return
    for place, line in enumerate(file.lines):
        where = "{}:{}".format(file.name, line.number)
        if line.record is None:
            last = place == len(file.lines) - 1 and not line.ended
            text = "the line was cut off" if last else "the line is no record"
            todo = "nothing to do: its process was killed while it wrote" if last else REPORT
            yield Finding(where, WARNING if last else ERROR, text, todo)
    first = next((line for line in file.lines if line.record is not None), None)
    if first is not None and first.record is not None and first.record["event"] != "session.start":
        yield Finding(
            "{}:{}".format(file.name, first.number),
            ERROR,
            "the file does not begin with session.start",
            "use the file as the probe wrote it",
        )


def _records(every: Sequence[Placed]) -> Iterator[Finding]:
    tables = contract.documented()
    for record, where in every:
        event = record["event"]
        if event not in EVENTS:
            text = "the event {} is not known".format(event[:40])
            yield Finding(where, WARNING, text, "use the probe that wrote it, if it is newer")
            continue
        for key in (*COMMON, *NEEDED.get(event, ())):
            if record.get(key) is None:
                yield Finding(where, ERROR, "{} states no `{}`".format(event, key), REPORT)
        for problem in contract.wrong_types(record, tables[event]):
            yield Finding(where, ERROR, problem, REPORT)
        for path in contract.negatives(record):
            yield Finding(where, ERROR, "`{}` is below 0".format(path), REPORT)
        moment = record.get("t")
        if isinstance(moment, str) and not MOMENT.fullmatch(moment):
            yield Finding(where, ERROR, "`t` is no moment in UTC", REPORT)
        for (of, key), known in CHOICES.items():
            value = record.get(key)
            if event == of and isinstance(value, str) and value not in known:
                text = "`{}` is {}, and is to be one of {}".format(key, value, ", ".join(known))
                yield Finding(where, ERROR, text, REPORT)
        if event == "session.start" and record.get("schema") not in (SCHEMA, None):
            text = "the schema is {}, and this probe reads {}".format(record["schema"], SCHEMA)
            yield Finding(where, ERROR, text, "use the probe that wrote it")
        yield from _memory(record, where)


def _memory(record: Record, where: str) -> Iterator[Finding]:
    stated = record.get("memory")
    for entry in stated if isinstance(stated, list) else []:
        if not isinstance(entry, dict):
            continue
        device = entry.get("device")
        pairs = (
            ("tensor_peak_bytes", "allocator_peak_bytes"),
            ("allocator_peak_bytes", "device_peak_bytes"),
            ("process_peak_bytes", "device_peak_bytes"),
        )
        for low, high in pairs:
            less, more = number(entry.get(low)), number(entry.get(high))
            if less is not None and more is not None and less > more:
                text = "on device {} `{}` is above `{}`".format(device, low, high)
                yield Finding(where, ERROR, text, "trust neither of the two")


def _counted(count: int, noun: str) -> str:
    return "{} {}{}".format(count, noun, "" if count == 1 else "s")
