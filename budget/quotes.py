"""Which quote may be used for what, why another may not, and what rate a quote gives."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Literal

import msgspec

from budget.figures import Figure, Source, State, exact, missing
from budget.messages import Message, Quantity, msg
from budget.project import Environment, Project, Quote, QuoteKind, QuoteUnit

Period = Literal["hour", "day", "month", "year"]

RENT_KINDS: tuple[QuoteKind, ...] = ("on-demand", "spot", "reserved")
PLACED_KINDS: tuple[QuoteKind, ...] = (*RENT_KINDS, "purchase")
"""Kinds whose price is for one environment's machine; the others may hold for all of them."""

MACHINE_PERIODS: dict[QuoteUnit, Period] = {
    "machine-hour": "hour",
    "machine-day": "day",
    "machine-month": "month",
    "machine-year": "year",
}
_RENT_UNITS: tuple[QuoteUnit, ...] = ("gpu-hour", *MACHINE_PERIODS)
UNITS: dict[QuoteKind, tuple[QuoteUnit, ...]] = {
    "on-demand": _RENT_UNITS,
    "spot": _RENT_UNITS,
    "reserved": _RENT_UNITS,
    "purchase": ("machine",),
    "resale": ("machine",),
    "energy": ("kwh",),
    "administration": ("hour",),
    "maintenance": ("percent-year", "machine-month", "machine-year"),
}
"""Units in which each kind can be charged; kinds that stand elsewhere are not restricted."""


VERIFIED = msg("verified {age} ago: verify again at booking").text
"""The remark that every usable quote carries."""
TAX: dict[str, Message] = {
    "included": msg("tax included"),
    "excluded": msg("tax not included"),
    "unknown": msg("whether tax is included is unknown"),
}
"""What stands beside every amount about tax."""


class Usability(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a quote may be used; every reason why not, and what to know beside its price."""

    quote: Quote
    usable: bool
    reasons: tuple[Message, ...] = ()
    remarks: tuple[Message, ...] = ()


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """The price of one whole machine for one ``period``, in the unit in which it is billed.

    ``price`` has the unit ``EUR/machine-day`` and the like. Days, months and years are charged
    whole, so they are never turned into a price per hour. The billing terms are in seconds.
    """

    price: Figure
    period: Period
    increment_s: int | None = None
    minimum_s: int | None = None


def judge(quote: Quote, project: Project, as_of: date) -> Usability:
    """Return whether ``quote`` may price anything in ``project`` on the day ``as_of``."""
    environment = project.environment(quote.environment)
    reasons = (
        *_lacking(quote, project),
        *_place(quote, project, environment),
        *_contents(quote, environment),
        *_validity(quote, project, as_of),
    )
    return Usability(
        quote=quote,
        usable=not reasons,
        reasons=reasons,
        remarks=_remarks(quote, project, as_of),
    )


def applicable(
    project: Project, environment_id: str | None, kind: QuoteKind, as_of: date
) -> tuple[list[Usability], list[Usability]]:
    """Return the usable and the unusable quotes of ``kind`` for an environment.

    Quotes that name no known environment are listed with every environment: as unusable where
    the kind needs one, else as holding for all.
    """
    judged = [
        judge(quote, project, as_of)
        for quote in project.quotes
        if quote.kind == kind
        and (
            quote.environment == environment_id
            or project.environment(quote.environment) is None
        )
    ]  # fmt: skip
    return [item for item in judged if item.usable], [item for item in judged if not item.usable]


def choose(usable: Sequence[Usability]) -> Usability | None:
    """Return the one to use, or None: no example before an example, then the one verified last.

    The id settles a tie. The others are named in a remark with their prices, because the choice
    is not by price.
    """
    if not usable:
        return None
    first, *others = sorted(usable, key=_precedence)
    if not others:
        return first
    named = tuple(
        msg("{quote} at {rate}", quote=item.quote.id, rate=as_quoted(item.quote)) for item in others
    )
    remark = msg("other usable quotes, not used here: {others}", others=named)
    return msgspec.structs.replace(first, remarks=(*first.remarks, remark))


def quote_for(
    project: Project, environment_id: str | None, kind: QuoteKind, as_of: date
) -> Usability | None:
    """Return the quote to use for an environment, or None when none is usable."""
    return choose(applicable(project, environment_id, kind, as_of)[0])


def as_quoted(quote: Quote) -> Quantity:
    """Return the price as it was given, with currency and unit (``percent/year`` has none)."""
    if quote.per == "percent-year":
        return Quantity(quote.amount, "percent/year")
    return Quantity(quote.amount, f"{quote.currency}/{quote.per}")


def price(quote: Quote) -> Figure:
    """Return the price as a figure in the unit that was quoted; missing where it is incomplete."""
    if quote.amount is None or quote.per is None:
        return missing(str(quote.per), msg("the quote {quote} is incomplete", quote=quote.id))
    return _figure(quote, quote.amount, as_quoted(quote).unit)


def machine_rate(quote: Quote, environment: Environment) -> Rate:
    """Return the price of one whole ``environment`` in the period in which it is billed.

    A price per GPU-hour is multiplied by all GPUs of the machine, since all are billed with it,
    and divided by the GPUs that one unit of the price holds.
    """
    per = quote.per or "machine-hour"
    period = MACHINE_PERIODS.get(per, "hour")
    unit = f"{quote.currency}/machine-{period}"
    value = quote.amount
    if quote.per == "gpu-hour" and value is not None:
        if environment.gpu_count and quote.holds.gpus:
            value = value * environment.gpu_count / quote.holds.gpus
        else:
            value = None
    if value is None or quote.per not in _RENT_UNITS:
        figure = missing(
            unit, msg("the quote {quote} gives no price for a machine", quote=quote.id)
        )
    else:
        figure = _figure(quote, value, unit)
    return Rate(
        price=figure,
        period=period,
        increment_s=quote.billing.increment_s,
        minimum_s=quote.billing.minimum_s,
    )


def machine_hour_rate(quote: Quote, environment: Environment) -> Figure:
    """Return the price per machine-hour; missing for one billed by day, month or year."""
    rate = machine_rate(quote, environment)
    if rate.period == "hour":
        return rate.price
    return missing(
        f"{quote.currency}/machine-hour",
        msg("the quote {quote} bills whole periods of a {period}, not hours",
            quote=quote.id, period=rate.period),
    )  # fmt: skip


def _figure(quote: Quote, value: Decimal, unit: str) -> Figure:
    verified = quote.verified_on.isoformat() if quote.verified_on else None
    return exact(
        value,
        unit,
        State.EXAMPLE if quote.example else State.QUOTED,
        Source(kind="quote", name=quote.id, on=verified, by=quote.verified_by),
    )


def _precedence(item: Usability) -> tuple[bool, int, str]:
    verified = item.quote.verified_on
    return item.quote.example, -verified.toordinal() if verified else 0, item.quote.id


def _lacking(quote: Quote, project: Project) -> list[Message]:
    reasons = []
    if quote.amount is None:
        reasons.append(msg("it states no amount"))
    if quote.per is None:
        reasons.append(msg("it states no unit: an hour, a month and a machine are far apart"))
    elif quote.kind in UNITS and quote.per not in UNITS[quote.kind]:
        reasons.append(
            msg("a price per {unit} does not fit the kind {kind}", unit=quote.per, kind=quote.kind)
        )
    if quote.per != "percent-year":
        if not quote.currency:
            reasons.append(msg("it states no currency"))
        elif project.currency is None:
            reasons.append(msg("the project states no currency"))
        elif quote.currency != project.currency:
            reasons.append(
                msg("it is in {quoted}, the project in {currency}, and exchange quotes are not"
                    " used yet: ask for a price in {currency}",
                    quoted=quote.currency, currency=project.currency)
            )  # fmt: skip
    if not quote.source:
        reasons.append(msg("it names no source"))
    if quote.verified_on is None:
        reasons.append(msg("nobody has verified it"))
    return reasons


def _place(quote: Quote, project: Project, environment: Environment | None) -> list[Message]:
    if environment is not None:
        return []
    if quote.environment is not None:
        return [msg("the project has no environment {environment}", environment=quote.environment)]
    if quote.kind in PLACED_KINDS:
        return [msg("it names no environment")]
    return []


def _contents(quote: Quote, environment: Environment | None) -> list[Message]:
    reasons: list[Message] = []
    held = quote.holds.gpus
    count = environment.gpu_count if environment else None
    if quote.per == "gpu-hour":
        if not held:
            reasons.append(msg("it does not say how many GPUs one unit of the price holds"))
        if quote.holds.host == "excluded":
            reasons.append(
                msg("the host is priced apart: the prices of host and GPU have to be summed")
            )
        if environment and count is None:
            reasons.append(
                msg("how many GPUs {environment} has is unknown", environment=environment.id)
            )
        elif environment and count == 0:
            reasons.append(
                msg("{environment} has no GPU: ask for a price per machine-hour",
                    environment=environment.id)
            )  # fmt: skip
        elif environment and held and count and count % held:
            # A part of what the provider sells as one unit is not on offer at a part of its price.
            reasons.append(_other_size(held, count, environment))
        return reasons
    placed = environment if quote.kind in PLACED_KINDS else None
    if placed and held is not None and count is not None and held != count:
        reasons.append(_other_size(held, count, placed))
    return reasons


def _other_size(held: int, count: int, environment: Environment) -> Message:
    return msg("one unit of the price holds {held} and {environment} has {count}",
               held=Quantity(held, "gpu"), count=Quantity(count, "gpu"),
               environment=environment.id)  # fmt: skip


def _validity(quote: Quote, project: Project, as_of: date) -> list[Message]:
    reasons = []
    start, end = project.campaign.start, project.campaign.end
    if quote.verified_on and quote.verified_on > as_of:
        reasons.append(msg("it was verified on {day}, in the future", day=quote.verified_on))
    if quote.accept_by and quote.accept_by < as_of:
        reasons.append(msg("it had to be accepted by {day}", day=quote.accept_by))
    if quote.price_from is None and quote.price_until is None:
        age_days = (as_of - quote.verified_on).days if quote.verified_on else 0
        limit_days = project.policy.quote_age_days
        if age_days > limit_days:
            reasons.append(
                msg("list price verified {age} ago, more than {limit}: verify it again",
                    age=Quantity(age_days, "days"), limit=Quantity(limit_days, "days"))
            )  # fmt: skip
        return reasons
    if start is None or end is None:
        reasons.append(msg("its price holds for a period, and the campaign has no planned dates"))
    if start and quote.price_until and quote.price_until < start:
        reasons.append(
            msg("its price ends on {day}, before the campaign", day=quote.price_until)
        )  # fmt: skip
    if start and quote.price_from and quote.price_from > start:
        reasons.append(
            msg("its price begins on {day}, after the campaign's start", day=quote.price_from)
        )
    return reasons


def _remarks(quote: Quote, project: Project, as_of: date) -> tuple[Message, ...]:
    remarks = []
    if quote.example:
        remarks.append(msg("example quote: not a price that anybody offered"))
    if quote.verified_on and quote.verified_on <= as_of:
        age = Quantity((as_of - quote.verified_on).days, "days")
        remarks.append(msg(VERIFIED, age=age))
    remarks.append(TAX[quote.holds.tax])
    if quote.kind in PLACED_KINDS:
        remarks.append(
            {
                "included": msg("host included"),
                "excluded": msg("host not included"),
                "unknown": msg("whether the host is included is unknown"),
            }[quote.holds.host]
        )
    end = project.campaign.end
    if quote.price_until and end and quote.price_until < end:
        remarks.append(
            msg("its price ends on {day}, before the campaign's end", day=quote.price_until)
        )
    return tuple(remarks)
