"""Texts from messages and numbers: the one place where a value becomes something to read."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from budget.figures import MISSING_PARTS, Figure, Source, State
from budget.messages import Message, Quantity, msg

UNITS: dict[str, Message] = {
    "gpu-hour": msg("{number} GPU-h"),
    "machine-hour": msg("{number} machine-h"),
    "machine-day": msg("{number} machine-days"),
    "machine-month": msg("{number} machine-months"),
    "machine-year": msg("{number} machine-years"),
    "h/week": msg("{number} h per week"),
    "months": msg("{number} months"),
    "days": msg("{number} days"),
    "attempt": msg("{number} attempts"),
    "call": msg("{number} calls"),
    "gpu": msg("{number} GPUs"),
    "machine": msg("{number} machines"),
    "kwh": msg("{number} kWh"),
}
"""How a number with a unit reads. Hours, bytes, shares and money have rules of their own."""
ONE: dict[str, Message] = {
    "machine-day": msg("1 machine-day"),
    "machine-month": msg("1 machine-month"),
    "machine-year": msg("1 machine-year"),
    "months": msg("1 month"),
    "days": msg("1 day"),
    "attempt": msg("1 attempt"),
    "call": msg("1 call"),
    "gpu": msg("1 GPU"),
    "machine": msg("1 machine"),
}
"""How exactly one of a unit reads, where that differs."""
_PLACE = re.compile(r"\{\{|\}\}|\{(\w+)\}")


class Wording:
    """Renders messages, numbers and figures in one language."""

    def __init__(self, translate: Callable[[str], str] = str, locale: str = "en") -> None:
        self.translate = translate
        self.locale = locale

    def text(self, value: Any) -> str:
        """Return what a person reads for a message or any value inside one."""
        if isinstance(value, Message):
            places = {name: self.text(item) for name, item in value.values.items()}
            return filled(self.translate(value.text), places)
        if isinstance(value, Quantity):
            return self.quantity(value.value, value.unit)
        if isinstance(value, Figure):
            return self.figure(value)
        if isinstance(value, (tuple, list, frozenset, set)):
            return self._listed([self.text(item) for item in value])
        if isinstance(value, bool) or value is None:
            return self.translate({True: "yes", False: "no", None: "not stated"}[value])
        if isinstance(value, datetime):
            return value.strftime("%Y-%m-%d %H:%M UTC")
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, int):
            return str(value)
        if isinstance(value, (float, Decimal)):
            return self.number(value)
        if isinstance(value, dict):
            return self._listed([f"{key} = {self.text(item)}" for key, item in value.items()])
        return str(value)

    def number(self, value: float | int | Decimal, digits: int | None = None) -> str:
        """Return a number with three significant digits, or with ``digits`` decimals."""
        from babel.numbers import format_decimal

        exact = value if isinstance(value, Decimal) else Decimal(str(value))
        if not exact.is_finite():
            return self.translate("not a number")
        optional = 0
        if digits is None:
            size = abs(exact)
            digits = 0 if size >= 100 or exact == int(exact) else 1 if size >= 10 else 2
            if 0 < size < Decimal("0.1"):  # never shown as 0: from the first digit that is none
                digits, optional = -size.adjusted(), 2
        with localcontext() as context:
            context.prec = max(28, exact.adjusted() + digits + optional + 3)
            rounded = exact.quantize(Decimal(1).scaleb(-digits - optional), ROUND_HALF_UP)
            if not rounded:
                rounded = abs(rounded)  # "-0.0" says nothing
            fraction = "0" * digits + "#" * optional
            pattern = "#,##0" + ("." + fraction if fraction else "")
            return str(format_decimal(rounded, format=pattern, locale=self.locale))

    def quantity(self, value: Any, unit: str) -> str:
        """Return a number with its unit as people say it."""
        if value is None:
            return self.translate("missing")
        if unit == "h":
            return self._hours(float(value))
        if unit == "s":
            return self._hours(float(value) / 3600) if value else f"{self.number(0)} s"
        if unit == "bytes":
            return self._bytes(float(value))
        if unit == "share":
            return self._share(Decimal(str(value)) * 100)
        if unit in UNITS:
            if unit in ONE and value == 1:
                return self.translate(ONE[unit].text)
            return filled(self.translate(UNITS[unit].text), {"number": self.number(value)})
        currency, _, per = unit.partition("/")
        if len(currency) == 3 and currency.isupper():
            amount = f"{self._money(Decimal(str(value)))} {currency}"
            if not per:
                return amount
            return filled(
                self.translate("{amount} per {unit}"),
                {"amount": amount, "unit": self.translate(per)},
            )
        return (
            f"{self.number(value)} {self.translate(unit)}"
            if unit != "count"
            else self.number(value)
        )

    def figure(self, figure: Figure) -> str:
        """Return a figure in one line: value, range, counts; or why there is none."""
        if figure.state is State.NOT_APPLICABLE:
            return self.translate("not applicable")
        if not figure.known:
            lead = self.translate("missing")
            if figure.part is not None and figure.part.upper:  # of nothing known, say what lacks
                return f"{self.figure(figure.part)} ({self.text(figure.part.why)})"
            if figure.why is None or figure.why.text == MISSING_PARTS:
                return self.text(figure.why or lead)  # the reason itself begins with the word
            return f"{lead}: {self.text(figure.why)}"
        text = self.quantity(figure.value, figure.unit)
        if self.range(figure):
            text += f" ({self.range(figure)})"
        counts = self.counts(figure)
        return f"{text}, {counts}" if counts else text

    def counts(self, figure: Figure) -> str:
        """Return the units and sessions behind a figure, an empty text where it has none."""
        if figure.n is None:
            return ""
        if figure.k is None:
            return filled(self.translate("n = {n}"), {"n": str(figure.n)})
        return filled(self.translate("n = {n}, k = {k}"), {"n": str(figure.n), "k": str(figure.k)})

    def range(self, figure: Figure) -> str:
        """Return the range, or an empty text without one or where both ends read alike."""
        if not figure.ranged or figure.low == figure.high:
            return ""
        low, high = (self.quantity(end, figure.unit) for end in (figure.low, figure.high))
        if low == high:
            return ""
        return filled(self.translate("{low} to {high}"), {"low": low, "high": high})

    def source(self, source: Source) -> str:
        """Return where a value comes from: ``file:line``, a quote and its date, a person."""
        where = f"{source.name}:{source.line}" if source.line is not None else source.name
        kind = self.translate(
            {
                "log": "log",
                "quote": "quote",
                "declared": "declared",
                "plan": "plan",
                "policy": "threshold",
            }.get(source.kind, source.kind)
        )
        extra = ", ".join(item for item in (source.by, source.on) if item)
        return f"{kind} {where}" + (f" ({extra})" if extra else "")

    def _hours(self, hours: float) -> str:
        size = abs(hours)
        if round(size * 60, 1) >= 60 or size == 0:
            return f"{self.number(hours, 0 if round(size, 1) >= 100 or size == 0 else 1)} h"
        if round(size * 3600, 1) >= 60:
            return f"{self.number(hours * 60, 1)} min"
        return f"{self.number(hours * 3600, 1 if size * 3600 >= 0.1 else None)} s"

    def _share(self, percent: Decimal) -> str:
        size = abs(percent)
        digits = 0 if size >= Decimal("9.5") else 1
        return f"{self.number(percent, None if 0 < size < Decimal('0.1') else digits)} %"

    def _money(self, amount: Decimal) -> str:
        """Return an amount with two decimals; a price below a cent with what it has."""
        tiny = amount.is_finite() and 0 < abs(amount) < Decimal("0.005")
        return self.number(amount, None if tiny else 2)

    def _bytes(self, size: float) -> str:
        for name, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if round(abs(size) / factor * 1024, 1) >= 1024:  # not "1,024.0 MiB"
                return f"{self.number(size / factor, 1)} {name}"
        return f"{self.number(size, 0)} B"

    def _listed(self, items: list[str]) -> str:
        if len(items) < 2:
            return "".join(items)
        return filled(
            self.translate("{some} and {last}"),
            {"some": ", ".join(items[:-1]), "last": items[-1]},
        )


def filled(text: str, places: dict[str, str]) -> str:
    """Put values into the named places of a text.

    ``{{`` and ``}}`` stand for braces. A place nobody gave a value for stays as it is, so that a
    text with braces in it, or a translation with a slip, is still shown.
    """
    return _PLACE.sub(
        lambda found: found[0][0] if found[1] is None else places.get(found[1], found[0]),
        text,
    )
