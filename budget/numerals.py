"""Numbers as people type them: decimal comma or point, thousands, a currency behind."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from budget.messages import Message, Problem, msg

_SPACES = dict.fromkeys(map(ord, " \u00a0\u202f\u2009\u2019'_"))
_SPACED = re.compile(r"[+-]?\d{1,3}(?:[ \u00a0\u202f\u2009\u2019'_]\d{3})+(?:[.,]\d+)?")
_PLAIN = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_GROUPED = re.compile(r"[+-]?\d{1,3}([.,]\d{3})+")
_AMBIGUOUS = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
MOST_SHOWN = 60
"""A refused text is repeated up to this many characters."""


def read_number(text: str, where: str = "", unit: str | None = None) -> Decimal | Problem:
    """Read one number; a trailing ``unit`` (such as a currency) is allowed.

    "1.355,90" and "1,355.90" are read alike, "7 000" and "1'000'000,00" too. What can be read in
    two ways ("1.000") is a problem that asks, never a guess.
    """
    stripped = text.strip()
    if unit and stripped.upper().endswith(unit.upper()):
        stripped = stripped[: -len(unit)].strip()
    compact = stripped.translate(_SPACES)
    if not compact:
        return Problem(where, msg("the field is empty"), msg("type a number"))
    if compact != stripped and not _SPACED.fullmatch(stripped):
        return Problem(
            where,
            msg('"{text}" is not a number', text=shortened(text)),
            msg("group digits by three, or leave the blanks out"),
        )
    reading = _separators(compact)
    text = shortened(text)
    if isinstance(reading, Message):
        return Problem(where, msg('"{text}" is ambiguous', text=text), reading)
    if not _PLAIN.fullmatch(reading):
        return Problem(
            where,
            msg('"{text}" is not a number', text=text),
            msg("type digits with a decimal point or comma, such as 2.49"),
        )
    try:
        value = Decimal(reading)
    except InvalidOperation:
        return Problem(where, msg('"{text}" is not a number', text=text), msg("type digits"))
    if abs(value.adjusted()) > 30:
        return Problem(
            where,
            msg('"{text}" is out of any range this plan could use', text=text),
            msg("check the exponent"),
        )
    return value


def unambiguous(text: str) -> str:
    """Return a written number so that it reads back as itself: 1.125 becomes 1.1250."""
    return text + "0" if isinstance(_separators(text), Message) else text


def shortened(text: str) -> str:
    """Return a refused text for a sentence that repeats it: whole where it is short."""
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def _separators(compact: str) -> str | Message:
    """Return ``compact`` with a decimal point and no thousands, or the question to ask."""
    if (exponent := re.search(r"[eE]", compact)) is not None:
        # Before an exponent digits are not grouped: a single mark is the decimal mark.
        mantissa = compact[: exponent.start()]
        if mantissa.count(".") + mantissa.count(",") > 1:
            return compact  # refused by the caller: not a number
        return compact.replace(",", ".")
    points, commas = compact.count("."), compact.count(",")
    if points and commas:
        decimal_mark = max(".,", key=compact.rfind)
        thousands = "," if decimal_mark == "." else "."
        whole, _, fraction = compact.rpartition(decimal_mark)
        if decimal_mark in whole or not _GROUPED.fullmatch(whole):
            return compact  # refused by the caller: not a number
        return whole.replace(thousands, "") + "." + fraction
    mark = "." if points else ","
    if points + commas > 1:
        return compact.replace(mark, "") if _GROUPED.fullmatch(compact) else compact
    if points + commas == 1:
        whole, _, fraction = compact.partition(mark)
        if _AMBIGUOUS.fullmatch(compact):
            short = fraction.rstrip("0") or "0"
            return msg(
                "write {thousands} or {decimal}",
                thousands=whole + fraction,
                decimal=f"{whole}.{short if short != fraction else fraction + '0'}",
            )
        return f"{whole}.{fraction}"
    return compact
