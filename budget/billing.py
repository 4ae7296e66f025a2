"""How time becomes what is charged: minimum, increments, whole days, months and years."""

from __future__ import annotations

import calendar
from datetime import date, timedelta
from decimal import ROUND_CEILING, Decimal

import msgspec

from budget.figures import Figure, Input, Number, missing
from budget.messages import Message, msg
from budget.quotes import Period, Rate

SECONDS_PER_HOUR = Decimal(3600)
HOURS_PER_DAY = Decimal(24)
SHORTEST_H: dict[Period, Decimal] = {
    "day": HOURS_PER_DAY,
    "month": 28 * HOURS_PER_DAY,
    "year": 365 * HOURS_PER_DAY,
}
"""Hours that one charged unit surely covers when its calendar place is not known."""
_MICROSECOND = Decimal("0.000001")


def decimal_of(value: Number) -> Decimal:
    """Return a number as the decimal that is printed for it (0.1 is one tenth)."""
    return value if isinstance(value, Decimal) else Decimal(repr(value))


def billed_hours(
    hours: Decimal, increment_s: int | None, minimum_s: int | None, periods: int = 1
) -> Decimal:
    """Return the hours charged for ``hours`` taken in ``periods`` equal periods.

    Each period is charged ``max(minimum, ceil(time / increment) * increment)``; a term that is
    unknown is not applied, and no time is no charge. Raises ``ValueError`` when ``periods`` is
    not above 0 or ``hours`` is negative.
    """
    if periods < 1 or hours < 0:
        raise ValueError("time and the number of periods must not be negative")
    if hours == 0 or (increment_s is None and not minimum_s):
        return hours
    # Hours come from binary fractions: a dust of 1e-12 s must not start another increment.
    seconds = (hours * SECONDS_PER_HOUR / periods).quantize(_MICROSECOND)
    if increment_s is not None:
        seconds = _ceil(seconds / increment_s) * increment_s
    return max(seconds, Decimal(minimum_s or 0)) * periods / SECONDS_PER_HOUR


def billed_units(hours: Decimal, rate: Rate, periods: int) -> Decimal:
    """Return what is charged, in the unit of ``rate``, for ``hours`` in equal ``periods``.

    Days, months and years are charged whole and counted from the start of each period. Where the
    calendar place is unknown a month covers its shortest 28 days, a year 365: on the safe side.
    """
    charged = billed_hours(hours, rate.increment_s, rate.minimum_s, periods)
    if rate.period == "hour":
        return charged
    each = (charged / periods).quantize(_MICROSECOND)
    return _ceil(each / SHORTEST_H[rate.period]) * periods


def calendar_units(start: date, end: date, period: Period) -> Decimal:
    """Return the units charged from ``start`` to ``end``, both included, for one machine.

    Hours are 24 a day; months and years that were begun count whole, from the day of ``start``.
    Raises ``ValueError`` when ``end`` is before ``start``.
    """
    if end < start:
        raise ValueError("the end is before the start")
    days = (end - start).days + 1
    if period == "hour":
        return days * HOURS_PER_DAY
    if period == "day":
        return Decimal(days)
    step = 12 if period == "year" else 1
    after = end + timedelta(days=1)
    count = 1
    while _add_months(start, count * step) < after:
        count += 1
    return Decimal(count)


def billed_figure(hours: Figure, rate: Rate, periods: int | None) -> Figure:
    """Return the charged quantity for planned ``hours``; low, mid and high are charged alike.

    It is missing when the hours are, or when the number of periods is unknown and matters. The
    part of the hours that is known is not carried: part of a block is not what a block costs.
    """
    unit = "h" if rate.period == "hour" else f"machine-{rate.period}"
    if hours.value is None:
        return missing(unit, hours.why or msg("the hours are missing"))
    rounds = rate.period != "hour" or rate.increment_s is not None or bool(rate.minimum_s)
    if periods is None and rounds:
        return missing(
            unit, msg("each session is rounded up for billing, and their number is not planned")
        )

    def charged(value: Number | None) -> Decimal | None:
        return None if value is None else billed_units(decimal_of(value), rate, periods or 1)

    return msgspec.structs.replace(
        hours,
        value=charged(hours.value),
        low=charged(hours.low),
        high=charged(hours.high),
        unit=unit,
        formula=msg("per session: max(minimum, time rounded up to the increment)"),
        inputs=(Input(msg("planned hours"), hours),),
        part=None,
    )


def billing_remarks(rate: Rate) -> tuple[Message, ...]:
    """Return what a reader must know about how the time was rounded."""
    if rate.period != "hour":
        counted = msg(
            "billed by whole units of one {period}, counted from the start of each rental: ask"
            " whether calendar units are meant",
            period=rate.period,
        )
        return (counted,)
    if rate.increment_s is None:
        return (msg("billing increment unknown: hours as they are, not rounded up"),)
    if rate.minimum_s is None:
        return (msg("minimum billed time unknown: none applied"),)
    return ()


def _ceil(value: Decimal) -> Decimal:
    return value.to_integral_value(rounding=ROUND_CEILING)


def _add_months(day: date, months: int) -> date:
    year, month = divmod(day.month - 1 + months, 12)
    year += day.year
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(day.day, last))
