"""Which quotes may be used, each reason why not, and the rates they give."""

from __future__ import annotations

from datetime import date
from decimal import Decimal as D
from typing import Any

import msgspec
import pytest

from budget.figures import State
from budget.messages import Message
from budget.project import Billing, Campaign, Environment, Holds, Policy, Project, Quote
from budget.quotes import (
    Usability,
    applicable,
    choose,
    judge,
    machine_hour_rate,
    machine_rate,
    quote_for,
)

AS_OF = date(2026, 12, 1)
ONE = Environment(id="h100", gpu_count=1)
EIGHT = Environment(id="node", gpu_count=8)
CPU = Environment(id="cpu", gpu_count=0)
VAGUE = Environment(id="vague")
CAMPAIGN = Campaign(start=date(2027, 1, 11), end=date(2027, 2, 5))
PROJECT = Project(
    title="t", currency="EUR", campaign=CAMPAIGN, environments=(ONE, EIGHT, CPU, VAGUE)
)
GOOD = Quote(
    id="q1",
    environment="h100",
    amount=D("2.49"),
    currency="EUR",
    per="gpu-hour",
    holds=Holds(gpus=1, host="included", tax="excluded"),
    source="quote 2026-118",
    verified_on=date(2026, 11, 28),
    verified_by="N. N.",
)


def with_(quote: Quote = GOOD, **changes: Any) -> Quote:
    return msgspec.structs.replace(quote, **changes)


def texts(messages: tuple[Message, ...]) -> str:
    return " | ".join(f"{item.text} {item.values}" for item in messages)


def test_complete_fresh_quote_is_usable() -> None:
    result = judge(GOOD, PROJECT, AS_OF)
    assert result.usable
    assert result.reasons == ()
    assert "value=3, unit='days'" in texts(result.remarks)
    assert "tax not included" in texts(result.remarks)
    assert "host included" in texts(result.remarks)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"amount": None}, "no amount"),
        ({"per": None}, "no unit"),
        ({"per": "kwh"}, "does not fit the kind"),
        ({"currency": None}, "no currency"),
        ({"currency": "USD"}, "exchange quotes are not used yet"),
        ({"source": None}, "no source"),
        ({"verified_on": None}, "nobody has verified it"),
        ({"verified_on": date(2026, 12, 2)}, "in the future"),
        ({"verified_on": date(2026, 10, 31)}, "list price verified"),  # 31 days
        ({"accept_by": date(2026, 11, 30)}, "had to be accepted by"),
        ({"price_until": date(2027, 1, 10)}, "before the campaign"),
        ({"price_from": date(2027, 1, 12)}, "after the campaign's start"),
        ({"environment": None}, "names no environment"),
        ({"environment": "a100"}, "has no environment"),
        ({"environment": "cpu"}, "ask for a price per machine-hour"),
        ({"environment": "vague"}, "is unknown"),
        ({"holds": Holds(host="included")}, "how many GPUs one unit"),
        ({"holds": Holds(gpus=0)}, "how many GPUs one unit"),
        ({"holds": Holds(gpus=1, host="excluded")}, "have to be summed"),
        ({"holds": Holds(gpus=8)}, "one unit of the price holds"),
        ({"per": "machine-hour", "holds": Holds(gpus=8)}, "one unit of the price holds"),
    ],
)
def test_each_defect_refuses_the_quote_with_its_reason(
    changes: dict[str, Any], reason: str
) -> None:
    result = judge(with_(**changes), PROJECT, AS_OF)
    assert not result.usable
    assert len(result.reasons) == 1
    assert reason in texts(result.reasons)


@pytest.mark.parametrize(
    "changes",
    [
        {"verified_on": date(2026, 11, 1)},  # exactly 30 days
        {"verified_on": AS_OF},
        {"accept_by": AS_OF},
        {"price_until": date(2027, 1, 11)},
        {"price_from": date(2027, 1, 11)},
        # A price with a period is no list price, however long ago it was verified.
        {"verified_on": date(2026, 1, 1), "price_until": date(2027, 12, 31)},
        {"amount": D(0)},
        {"holds": Holds(gpus=1)},
        {"per": "machine-hour", "holds": Holds()},
        {"per": "machine-hour", "environment": "cpu", "holds": Holds()},
        {"per": "machine-day", "environment": "vague", "holds": Holds()},
        {"verified_by": None},
    ],
)
def test_what_is_just_enough_is_usable(changes: dict[str, Any]) -> None:
    result = judge(with_(**changes), PROJECT, AS_OF)
    assert result.reasons == ()
    assert result.usable


def test_all_reasons_are_given_not_only_the_first() -> None:
    result = judge(Quote(id="empty"), PROJECT, AS_OF)
    assert len(result.reasons) == 6  # amount, unit, currency, source, verification, environment


def test_price_period_needs_planned_dates() -> None:
    project = msgspec.structs.replace(PROJECT, campaign=Campaign(start=CAMPAIGN.start))
    result = judge(with_(price_until=date(2027, 3, 1)), project, AS_OF)
    assert "no planned dates" in texts(result.reasons)
    assert judge(GOOD, project, AS_OF).usable


def test_price_that_ends_within_the_campaign_is_remarked() -> None:
    result = judge(with_(price_until=date(2027, 1, 20)), PROJECT, AS_OF)
    assert result.usable
    assert "before the campaign's end" in texts(result.remarks)


def test_project_without_currency_uses_no_quote() -> None:
    project = msgspec.structs.replace(PROJECT, currency=None)
    assert "project states no currency" in texts(judge(GOOD, project, AS_OF).reasons)


def test_age_limit_follows_the_policy() -> None:
    project = msgspec.structs.replace(PROJECT, policy=Policy(quote_age_days=2))
    assert not judge(GOOD, project, AS_OF).usable


def test_unknown_tax_and_an_example_are_remarks_not_refusals() -> None:
    result = judge(with_(example=True, holds=Holds(gpus=1)), PROJECT, AS_OF)
    assert result.usable
    assert "example quote" in texts(result.remarks)
    assert "whether tax is included is unknown" in texts(result.remarks)
    assert "whether the host is included is unknown" in texts(result.remarks)


def test_general_prices_need_no_environment_and_percent_no_currency() -> None:
    energy = with_(kind="energy", per="kwh", environment=None, holds=Holds())
    upkeep = with_(kind="maintenance", per="percent-year", environment=None, currency=None)
    assert judge(energy, PROJECT, AS_OF).usable
    assert judge(upkeep, PROJECT, AS_OF).usable


def test_quotes_of_another_environment_or_kind_are_not_listed() -> None:
    quotes = (GOOD, with_(id="q2", environment="node"), with_(id="q3", kind="spot"))
    lost = with_(id="q4", environment=None)
    project = msgspec.structs.replace(PROJECT, quotes=(*quotes, lost))
    usable, unusable = applicable(project, "h100", "on-demand", AS_OF)
    assert [item.quote.id for item in usable] == ["q1"]
    assert [item.quote.id for item in unusable] == ["q4"]


def chosen_among(*quotes: Quote) -> Usability:
    project = msgspec.structs.replace(PROJECT, quotes=quotes)
    chosen = quote_for(project, "h100", "on-demand", AS_OF)
    assert chosen is not None
    return chosen


def test_latest_verified_quote_is_chosen_and_the_others_named_with_their_price() -> None:
    newer = with_(id="q9", amount=D("2.99"), verified_on=date(2026, 11, 30))
    chosen = chosen_among(GOOD, newer)
    assert chosen.quote.id == "q9"
    assert "q1" in texts(chosen.remarks)
    assert "Decimal('2.49'), unit='EUR/gpu-hour'" in texts(chosen.remarks)


def test_id_settles_a_tie_and_an_example_never_outranks_an_offer() -> None:
    assert chosen_among(with_(id="b"), with_(id="a")).quote.id == "a"
    example = with_(id="a", example=True, verified_on=AS_OF)
    assert chosen_among(GOOD, example).quote.id == "q1"


def test_nothing_usable_chooses_nothing() -> None:
    assert choose([]) is None


@pytest.mark.parametrize(
    ("environment", "held", "expected"),
    [
        (ONE, 1, D("2.49")),
        (EIGHT, 1, D("19.92")),  # 2.49 * 8: all eight are billed
        (EIGHT, 8, D("2.49")),
        (EIGHT, 2, D("9.96")),  # 2.49 * 8 / 2
    ],
)
def test_price_per_gpu_hour_is_charged_for_the_whole_machine(
    environment: Environment, held: int, expected: D
) -> None:
    figure = machine_hour_rate(with_(holds=Holds(gpus=held)), environment)
    assert figure.value == figure.low == figure.high == expected
    assert figure.unit == "EUR/machine-hour"
    assert figure.state is State.QUOTED
    source = figure.sources[0]
    assert (source.kind, source.name, source.on) == ("quote", "q1", "2026-11-28")
    assert source.by == "N. N."


def test_price_per_day_is_not_turned_into_hours() -> None:
    quote = with_(per="machine-day", amount=D(48), billing=Billing(increment_s=60, minimum_s=0))
    figure = machine_hour_rate(quote, ONE)
    assert figure.value is None
    assert figure.why is not None
    rate = machine_rate(quote, ONE)
    assert (rate.price.value, rate.price.unit, rate.period) == (D(48), "EUR/machine-day", "day")
    assert (rate.increment_s, rate.minimum_s) == (60, 0)


def test_example_quote_gives_an_example_rate() -> None:
    assert machine_hour_rate(with_(example=True), ONE).state is State.EXAMPLE


def test_rate_without_gpus_is_missing_not_zero() -> None:
    assert machine_hour_rate(GOOD, CPU).value is None
    assert machine_hour_rate(with_(amount=None), ONE).value is None
