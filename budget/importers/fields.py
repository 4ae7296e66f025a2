"""Typed reading of the fields of one record; what does not fit is a problem and counts as missing.

Lengths of time are seconds, sizes bytes, times aware ``datetime`` in UTC.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from budget.importers.findings import Findings
from budget.messages import Message, msg

CLEAN_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
MAX_SECONDS = 10 * 365.25 * 86400
"""Ten years: a longer interval is a mistake, and sums of dates with it would overflow."""

YEARS = range(2000, 2200)
"""Years of a plausible clock; a machine without one says 1970."""

# Drivers report "not available" as the largest value of their type, of 32 or 64 bits.
NO_SIZE = 2**32 - 1
LIMIT = 2**63

COUNTS_AS_MISSING = msg("nothing to do unless this value is needed: it counts as missing")


class Fields:
    """A JSON object of line ``line``, read field by field. A null is missing without a problem."""

    __slots__ = ("_table", "findings", "line")

    def __init__(self, table: dict[str, Any], line: int, findings: Findings) -> None:
        self._table = table
        self.line = line
        self.findings = findings

    def reject(self, what: Message, do_next: Message = COUNTS_AS_MISSING) -> None:
        """Report a problem of this line."""
        self.findings.add(self.line, what, do_next)

    def value(self, key: str) -> Any:
        """Return the value as it stands."""
        return self._table.get(key)

    def text(self, key: str) -> str | None:
        """Return a text; a number becomes its digits."""
        value = self._table.get(key)
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self.reject(msg("{field} should be a text", field=key))
        return None

    def number(self, key: str, *, signed: bool = False) -> float | None:
        """Return a finite number; a text that is cleanly a number is used as one."""
        value = self._table.get(key)
        if value is None:
            return None
        if isinstance(value, str) and len(value) <= 40 and CLEAN_NUMBER.fullmatch(value):
            value = float(value) if re.search(r"[.eE]", value) else int(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.reject(msg("{field} should be a number and is {value}", field=key,
                            value=_shown(value)))  # fmt: skip
        elif not math.isfinite(value):
            self.reject(msg("{field} is not a finite number", field=key))
        elif value < 0 and not signed:
            self.reject(msg("{field} is negative ({value})", field=key, value=value))
        else:
            return value
        return None

    def whole(self, key: str, *, signed: bool = False) -> int | None:
        """Return a whole number."""
        value = self.number(key, signed=signed)
        if value is None:
            return None
        if value != int(value):
            self.reject(msg("{field} should be a whole number and is {value}", field=key,
                            value=value))  # fmt: skip
        elif abs(value) >= LIMIT:
            self._reject_unknown(key, int(value))
        else:
            return int(value)
        return None

    def size(self, key: str) -> int | None:
        """Return bytes; the values that drivers use for "not available" are missing."""
        value = self.whole(key)
        if value == NO_SIZE:
            self._reject_unknown(key, value)
            return None
        return value

    def seconds(self, key: str) -> float | None:
        """Return a length of time."""
        value = self.number(key)
        if value is not None and value > MAX_SECONDS:
            self.reject(msg("{field} is longer than ten years", field=key))
            return None
        return float(value) if value is not None else None

    def flag(self, key: str) -> bool | None:
        """Return true or false; anything else is no answer."""
        value = self._table.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.reject(msg("{field} should be true or false", field=key))
        return None

    def moment(self, key: str) -> datetime | None:
        """Return a time in UTC; a time without a zone could be any of 26 hours and is missing."""
        value = self._table.get(key)
        if value is None:
            return None
        try:
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                self.reject(msg("the time {value} has no time zone", value=_shown(value)))
                return None
            moment = moment.astimezone(UTC)
        except (TypeError, ValueError, OverflowError):
            self.reject(msg("{field} should be a time and is {value}", field=key,
                            value=_shown(value)))  # fmt: skip
            return None
        if moment.year not in YEARS:
            self.reject(msg("the time {value} cannot be right: the clock was not set",
                            value=_shown(value)))  # fmt: skip
            return None
        return moment

    def choice(self, key: str, allowed: tuple[str, ...]) -> str | None:
        """Return one of ``allowed``."""
        value = self.text(key)
        if value is not None and value not in allowed:
            self.reject(msg("{field} is {value}; it should be one of {allowed}", field=key,
                            value=_shown(value), allowed=allowed))  # fmt: skip
            return None
        return value

    def table(self, key: str) -> Fields:
        """Return an object; an empty one when there is none."""
        value = self._table.get(key)
        if value is not None and not isinstance(value, dict):
            self.reject(msg("{field} should be an object with names and values", field=key))
        return Fields(value if isinstance(value, dict) else {}, self.line, self.findings)

    def tables(self, key: str) -> Iterator[Fields]:
        """Yield the objects of a list."""
        for item in self._list(key):
            if isinstance(item, dict):
                yield Fields(item, self.line, self.findings)
            else:
                self.reject(msg("{field} should hold objects and holds {value}", field=key,
                                value=_shown(item)))  # fmt: skip

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(as_text(item) for item in self._list(key))

    def pairs(self, key: str) -> dict[str, str]:
        """Return an object as texts; parameters may be of any type and are compared as texts."""
        value = self._table.get(key)
        if value is not None and not isinstance(value, dict):
            self.reject(msg("{field} should be an object with names and values", field=key))
        return {k: as_text(v) for k, v in value.items()} if isinstance(value, dict) else {}

    def _reject_unknown(self, key: str, value: int) -> None:
        self.reject(msg("{field} is {value}, which programs report when they do not know it",
                        field=key, value=str(value)))  # fmt: skip

    def _list(self, key: str) -> list[Any]:
        value = self._table.get(key)
        if value is not None and not isinstance(value, list):
            self.reject(msg("{field} should be a list", field=key))
        return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return a text as it is and anything else as JSON writes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(value: Any) -> str:
    text = as_text(value)
    return text if len(text) <= 60 else text[:60] + "…"
