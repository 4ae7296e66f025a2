"""A log as tables for the terminal."""

from __future__ import annotations

import textwrap
from typing import Dict, List, NamedTuple, Optional, Sequence

from . import causes
from .log import Record
from .logfiles import read_files, records
from .spans import PHASES, Clock, Value
from .tally import PEAKS, Attempt, attempts

COLUMNS = 80
BLOCK_COLUMNS = 13
GIB = 2**30

LEGEND = (
    "-  not recorded, which is not 0",
    "≥  at least: the process was cut off, or only samples were read",
    "Times are seconds and memory is GiB. A moment counts for its innermost phase; `rest` is the "
    "time in no phase. Of several ranks the slowest gives the time.",
)


class Wait(NamedTuple):
    """The waits of one reason: how many, and how long they took together."""

    reason: str
    number: int
    seconds: Value


def summarise(paths: Sequence[str]) -> str:
    """The sessions and attempts in logs, at most 80 columns wide.

    `paths` are files or log folders; an attempt in several of them counts once. A file that is no
    log is said to be none.
    """
    files = read_files(paths)
    lines: List[str] = []
    for file in files:
        if file.problem is not None:
            lines += _wrapped("{} {}.".format(file.name, file.problem))
    every = records(files)
    sessions: Dict[str, List[Record]] = {}
    for record in every:
        sessions.setdefault(str(record.get("session")), []).append(record)
    found = attempts(every)
    for session, entries in sessions.items():
        own = [attempt for attempt in found if attempt.session == session]
        lines += ["", *_session(session, entries, own)]
    if sessions:
        lines += ["", *(line for text in LEGEND for line in _wrapped(text, indent="   "))]
    elif not lines:
        lines = ["There is no log."]
    return "\n".join(lines).strip("\n")


def _session(session: str, entries: List[Record], own: List[Attempt]) -> List[str]:
    count = "{} attempt{}".format(len(own), "" if len(own) == 1 else "s")
    lines = ["Session {}: {}".format(session, count)]
    if own:
        lines += ["", *_times(own), *_calls(own), *_memory(own), *_errors(own), *_links(own)]
    waits = waits_of(entries)
    if waits:
        lines += ["", "Waits          count    seconds"]
        lines += [
            "{:<12}{:>8}{:>11}".format(wait.reason[:12], wait.number, _seconds(wait.seconds))
            for wait in waits
        ]
    return lines


def waits_of(entries: Sequence[Record]) -> List[Wait]:
    """The waits of a session by reason; one that is still open lasts to the last record."""
    clock = Clock(entries)
    moments = clock.seconds(entries)
    totals: Dict[str, Wait] = {}
    opened: Optional[Record] = None
    began = 0.0
    ending = ("wait.start", "wait.end", "attempt.start", "session.end")
    ordered = sorted(moments, key=lambda place: moments[place])
    for place in ordered:
        entry = entries[place]
        if opened is not None and entry["event"] in ending:
            _add(totals, opened, Value(moments[place] - began))
            opened = None
        if entry["event"] == "wait.start":
            opened, began = entry, moments[place]
    if opened is not None:
        _add(totals, opened, Value(moments[ordered[-1]] - began, True))
    return list(totals.values())


def _add(totals: Dict[str, Wait], start: Record, seconds: Value) -> None:
    reason = str(start.get("reason"))
    old = totals.get(reason, Wait(reason, 0, Value(0.0)))
    total_s = (old.seconds.value or 0.0) + max(0.0, seconds.value or 0.0)
    totals[reason] = Wait(
        reason, old.number + 1, Value(total_s, old.seconds.bound or seconds.bound)
    )


def _times(own: List[Attempt]) -> List[str]:
    form = "{:<13}{:<13}{:<12}{:>9}{:>8}{:>8}{:>8}{:>9}"
    lines = [form.format("Attempt", "block", "outcome", "total", *PHASES, "rest")]
    for one in own:
        phases = [_seconds(one.phases.get(name, Value(None))) for name in PHASES]
        lines.append(
            form.format(
                one.id[:12],
                _cut(one.block or "-", BLOCK_COLUMNS - 1),
                _outcome(one),
                _seconds(one.duration),
                *phases,
                _seconds(one.unattributed),
            )
        )
    return lines


def _calls(own: List[Attempt]) -> List[str]:
    form = "{:<13}{:>8}{:>9}{:>14}{:>14}  {}"
    lines = []
    for one in own:
        calls = one.calls
        if calls is not None:
            forward = "-" if calls.forward is None else str(calls.forward)
            tokens = (_whole(calls.input_tokens), _whole(calls.output_tokens))
            row = form.format(one.id[:12], calls.number, forward, *tokens, calls.read_by)
            lines.append(row.rstrip()[:COLUMNS])
    if not lines:
        return []
    titles = form.format("Calls", "calls", "forward", "input tokens", "output tokens", "read by")
    return ["", titles, *lines]


def _memory(own: List[Attempt]) -> List[str]:
    form = "{:<13}{:<10}{:<8}{:>11}{:>12}{:>12}{:>12}"
    lines = []
    for one in own:
        for (device, layer), peaks in sorted(one.peaks.items()):
            sizes = [_gib(peaks.get(key, Value(None))) for key in PEAKS]
            lines.append(form.format(one.id[:12], _cut(device, 9), _cut(layer, 7), *sizes))
    titles = ("Peak memory", "device", "layer", "tensors", "allocator", "card", "resident")
    return ["", form.format(*titles), *lines] if lines else []


def _errors(own: List[Attempt]) -> List[str]:
    lines = []
    for one in own:
        # every rank reports an error that all of them meet
        said: Dict[str, int] = {}
        meant: Dict[str, Optional[str]] = {}
        for error in one.errors:
            phase = " in {}".format(error["phase"]) if error.get("phase") else ""
            text = "{}{}: {}: {}".format(one.id[:12], phase, error.get("kind"), _telling(error))
            said[text] = said.get(text, 0) + 1
            meant[text] = error.get("cause") or _cause_of(error)
        for text, times in said.items():
            lines += _wrapped(text + (" ({} times)".format(times) if times > 1 else ""), "  ")
            cause = causes.by_id(str(meant[text]))
            if cause is not None:
                lines += _wrapped("  {}. {}".format(cause.title, cause.advice), "  ")
    return ["", "Errors", *lines] if lines else []


def _telling(error: Record) -> str:
    """The line that decides, else the first one that holds a word."""
    lines = str(error.get("line") or error.get("message") or "").split("\n")
    return next((line.strip() for line in lines if any(map(str.isalnum, line))), "")


def _cause_of(error: Record) -> Optional[str]:
    """Of a record that says nothing of a cause, as those of older probes."""
    if "cause" in error:
        return None
    found = causes.find(str(error.get("message") or ""), str(error.get("kind") or ""))
    return found.cause_id if found else None


def _links(own: List[Attempt]) -> List[str]:
    lines = []
    for one in own:
        parts = []
        if one.retry_of:
            parts.append("tries {} again".format(one.retry_of))
        if one.repeat:
            parts.append("is repetition {}".format(one.repeat))
        if len(one.ranks) > 1:
            parts.append("ran in {} ranks".format(len(one.ranks)))
        if one.hook_why:
            parts.append("was not seen from inside ({})".format(one.hook_why))
        if parts:
            lines += _wrapped("{} {}".format(one.id[:12], ", ".join(parts)), indent="  ")
    return ["", *lines] if lines else []


def _outcome(one: Attempt) -> str:
    return "cut off" if one.outcome is None else one.outcome[:11]


def _seconds(value: Value) -> str:
    if value.value is None:
        return "-"
    text = "{:.2f}".format(value.value) if value.value < 100 else "{:.0f}".format(value.value)
    return _marked(text, value)


def _gib(value: Value) -> str:
    return "-" if value.value is None else _marked("{:.3f}".format(value.value / GIB), value)


def _whole(value: Value) -> str:
    return "-" if value.value is None else _marked("{:.0f}".format(value.value), value)


def _marked(text: str, value: Value) -> str:
    return "≥" + text if value.bound else text


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: columns - 1] + "…"


def _wrapped(text: str, indent: str = "") -> List[str]:
    return textwrap.wrap(text, COLUMNS, subsequent_indent=indent) or [""]
