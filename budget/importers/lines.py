"""Reading JSON Lines that may be torn, glued, mutilated or hostile: good lines are never lost.

Lines end at ``\\n`` alone, because other line separators may stand inside JSON strings.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from budget.importers.findings import Findings
from budget.messages import Message, msg

MAX_DIGITS = 40
"""Digits of a whole number. Python refuses thousands of them; no quantity of a log needs 40."""

MAX_RESTARTS = 50
"""Places of one line where reading is tried again, so that a hostile line costs little time."""

MAX_DEPTH = 50
"""Levels of nesting; a record of the probe has three."""

RECORD_START = re.compile(r'\{\s*"event"')
BLANK = re.compile(r"[ \t\r\ufeff]*")
UNSAFE_ESCAPE = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
UNSAFE = re.compile("[\x00\ud800-\udfff]")

TELL_US = msg("nothing to do: everything else of the line was read")
LOST = msg("nothing to do if the rest is complete; else upload the file again as it was written")
CUT_OFF = msg("the last line is cut off: the process was killed while writing;"
              " everything before it was read")  # fmt: skip


class Line(NamedTuple):
    """One JSON object, the number of its line (1 is the first) and its text."""

    number: int
    record: dict[str, Any]
    text: str


def read_lines(data: bytes, findings: Findings) -> Iterator[Line]:
    """Yield the objects of ``data`` in their order; report what could not be read."""
    reader = _Reader(findings)
    raw_lines = data.removeprefix(codecs.BOM_UTF8).split(b"\n")
    for number, raw in enumerate(raw_lines, start=1):
        if raw and not raw.isspace():
            yield from reader.line(number, raw, last=number == len(raw_lines))


class _Reader:
    """Decodes lines; ``_odd`` holds what the decoder met in the object it is at."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._odd: list[Message] = []
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_int=self._whole,
            parse_float=self._float,
            parse_constant=self._constant,
        )

    def line(self, number: int, raw: bytes, last: bool) -> Iterator[Line]:
        try:
            text, bad_bytes = raw.decode("utf-8"), False
        except UnicodeDecodeError:
            # Bad bytes become lone surrogates, which no good text can hold, so that the objects
            # of the line that are free of them can still be told from the others.
            text, bad_bytes = raw.decode("utf-8", "surrogateescape"), True
        broken, restarts = False, 0
        position = _skip_blank(text, 0)
        while position < len(text):
            self._odd.clear()
            value, end = self._decode(text, position)
            if isinstance(value, dict) and not (bad_bytes and UNSAFE.search(text, position, end)):
                source = text[position:end]
                if UNSAFE_ESCAPE.search(source):
                    value = _cleaned(value)
                for what in self._odd:
                    self._findings.add(number, what, TELL_US)
                yield Line(number, value, source)
                position = _skip_blank(text, end)
                continue
            broken = True
            restarts += 1
            start = RECORD_START.search(text, position + 1)
            if start is None or restarts > MAX_RESTARTS:
                break
            position = start.start()
        if broken:
            self._report(number, text, last, bad_bytes)

    def _decode(self, text: str, position: int) -> tuple[Any, int]:
        try:
            value, end = self._decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return None, position
        # Counting brackets is cheap and tells for nearly every line that it cannot be too deep.
        brackets = text.count("{", position, end) + text.count("[", position, end)
        if brackets > MAX_DEPTH and _deeper_than(MAX_DEPTH, value):
            return None, end
        return value, end

    def _report(self, number: int, text: str, last: bool, bad_bytes: bool) -> None:
        if last and text.lstrip(" \t\r\ufeff\x00").startswith("{"):
            self._findings.add(number, CUT_OFF, msg("nothing to do"))
        elif bad_bytes:
            self._findings.add(
                number, msg("the line is damaged: it holds bytes that are no UTF-8 text"), LOST
            )
        else:
            self._findings.add(number, msg("the line, or a part of it, is no complete record"),
                               LOST)  # fmt: skip

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(pairs)
        if len(table) != len(pairs):
            table = {}
            for key, value in pairs:
                if key in table:
                    self._odd.append(
                        msg("the line states {key} twice; the first value is used", key=_shown(key))
                    )
                else:
                    table[key] = value
        return table

    def _whole(self, digits: str) -> int | None:
        if len(digits) > MAX_DIGITS:
            self._odd.append(msg("a number has {count} digits; it counts as missing",
                                 count=len(digits)))  # fmt: skip
            return None
        return int(digits)

    def _float(self, digits: str) -> float | None:
        value = float(digits)
        if math.isfinite(value):
            return value
        self._constant(digits)
        return None

    def _constant(self, token: str) -> None:
        self._odd.append(msg("{token} is no usable number; it counts as missing",
                             token=_shown(token)))  # fmt: skip


def _deeper_than(levels: int, value: Any) -> bool:
    if isinstance(value, dict):
        return not levels or any(_deeper_than(levels - 1, item) for item in value.values())
    if isinstance(value, list):
        return not levels or any(_deeper_than(levels - 1, item) for item in value)
    return False


def _skip_blank(text: str, position: int) -> int:
    found = BLANK.match(text, position)
    return found.end() if found else position


def _cleaned(value: Any) -> Any:
    """Replace what can be neither stored nor shown: lone surrogates and zero characters."""
    if isinstance(value, str):
        return UNSAFE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    return value


def _shown(text: str) -> str:
    text = UNSAFE.sub("\ufffd", text)
    return text if len(text) <= 60 else text[:60] + "…"
