"""Texts from messages and numbers: the one place where a value becomes something to read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from budget.figures import Figure, Source, State
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
    "kwh": msg("{number} kWh"),
}
"""How a number with a unit reads. Hours, bytes, shares and money have rules of their own."""


class Wording:
    """Renders messages, numbers and figures in one language."""

    def __init__(self, translate: Callable[[str], str] = str, locale: str = "en") -> None:
        self.translate = translate
        self.locale = locale

    def text(self, value: Any) -> str:
        """Return what a person reads for a message or any value inside one."""
        if isinstance(value, Message):
            places = {name: self.text(item) for name, item in value.values.items()}
            text = self.translate(value.text)
            return text.format_map(places) if places else text.replace("{{", "{")
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

        if digits is None:
            size = abs(float(value))
            digits = 0 if size >= 100 or value == int(value) else 1 if size >= 10 else 2
            if 0 < size < 0.1:
                digits = 4
        pattern = "#,##0" + ("." + "0" * digits if digits else "")
        return str(format_decimal(value, format=pattern, locale=self.locale))

    def quantity(self, value: Any, unit: str) -> str:
        """Return a number with its unit as people say it."""
        if value is None:
            return self.translate("missing")
        if unit == "h":
            return self._hours(float(value))
        if unit == "s":
            return self._hours(float(value) / 3600)
        if unit == "bytes":
            return self._bytes(float(value))
        if unit == "share":
            return f"{self.number(float(value) * 100, 0 if abs(value) >= 0.095 else 1)} %"
        if unit in UNITS:
            number = self.number(value)
            return self.translate(UNITS[unit].text).format(number=number)
        currency, _, per = unit.partition("/")
        if len(currency) == 3 and currency.isupper():
            amount = f"{self.number(Decimal(value), 2)} {currency}"
            return (
                self.translate("{amount} per {unit}").format(
                    amount=amount, unit=self.translate(per)
                )
                if per
                else amount
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
            if figure.part is not None:
                return f"{self.figure(figure.part)} ({self.text(figure.part.why)})"
            return f"{lead}: {self.text(figure.why)}" if figure.why else lead
        text = self.quantity(figure.value, figure.unit)
        if figure.ranged and figure.low != figure.high:
            text += f" ({self.range(figure)})"
        if figure.n is not None:
            counts = f"n = {figure.n}" + (f", k = {figure.k}" if figure.k is not None else "")
            text += f", {counts}"
        return text

    def range(self, figure: Figure) -> str:
        """Return the range in the unit of its upper end, or an empty text without one."""
        if not figure.ranged or figure.low == figure.high:
            return ""
        return self.translate("{low} to {high}").format(
            low=self.quantity(figure.low, figure.unit), high=self.quantity(figure.high, figure.unit)
        )

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
        if size >= 1 or size == 0:
            return f"{self.number(hours, 0 if size >= 100 or size == 0 else 1)} h"
        if size * 60 >= 1:
            return f"{self.number(hours * 60, 1)} min"
        return f"{self.number(hours * 3600, 1)} s"

    def _bytes(self, size: float) -> str:
        for name, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if abs(size) >= factor:
                return f"{self.number(size / factor, 1)} {name}"
        return f"{self.number(size, 0)} B"

    def _listed(self, items: list[str]) -> str:
        if len(items) < 2:
            return "".join(items)
        return self.translate("{some} and {last}").format(
            some=", ".join(items[:-1]), last=items[-1]
        )
