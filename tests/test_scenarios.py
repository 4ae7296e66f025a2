"""Billing, cost lines, totals, comparison and limits, with the arithmetic in comments."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal as D
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.billing import billed_hours, billed_units, calendar_units
from budget.estimates import Estimate
from budget.figures import Figure, State, exact, missing, not_applicable
from budget.messages import Message, msg
from budget.ownership import npv
from budget.project import (
    Billing,
    Block,
    Campaign,
    Environment,
    Holds,
    Ownership,
    Project,
    Quote,
)
from budget.quotes import Rate
from budget.scenarios import (
    Scenario,
    break_even_rates,
    comparison,
    questions_to_provider,
    scenarios,
    within_cap,
    within_deadline,
)

AS_OF = date(2026, 12, 1)
H100 = Environment(id="h100", gpu_count=1)
NODE = Environment(id="node", gpu_count=8)
LAB = Environment(id="lab", access="owned", gpu_count=2)
CAMPAIGN = Campaign(start=date(2027, 1, 11), end=date(2027, 2, 5))  # 26 days, 624 h
RENT = Quote(
    id="rent",
    environment="h100",
    amount=D("2.50"),
    currency="EUR",
    per="gpu-hour",
    holds=Holds(gpus=1, host="included", tax="excluded"),
    source="offer",
    verified_on=date(2026, 11, 28),
)
BUY = Quote(
    id="buy", environment="node", kind="purchase", amount=D(200000), currency="EUR", per="machine",
    source="offer", verified_on=date(2026, 11, 28),
)  # fmt: skip
ENERGY = Quote(
    id="kwh", kind="energy", amount=D("0.20"), currency="EUR", per="kwh", source="tariff",
    verified_on=date(2026, 11, 28),
)  # fmt: skip
OWNERSHIP = Ownership(
    life_years=D(4), discount_rate=D("0.08"), power_kw=D("5.6"), pue=D("1.3"), utilisation=D("0.5")
)


def block(name: str = "reference", **changes: Any) -> Block:
    given_ = {"environment": "h100", "gpus": 1, "status": "confirmed", "sessions": 2, **changes}
    return Block(id=name, **given_)


def hours(value: float | None, low: float | None = None, high: float | None = None) -> Figure:
    if value is None:
        return missing("h", msg("not measured"))
    return Figure(value=value, low=low, high=high, unit="h", state=State.MEASURED, n=3, k=2)


def estimate(
    name: str, remaining: Figure, gpus: int = 1, billed: int = 1, sessions: int | None = 2
) -> Estimate:
    def times(count: int) -> Figure:
        scaled = [
            None if x is None else x * count
            for x in (remaining.value, remaining.low, remaining.high)
        ]
        return msgspec.structs.replace(
            remaining, value=scaled[0], low=scaled[1], high=scaled[2], unit="gpu-hour"
        )

    nothing = not_applicable("h", msg("not used here"))
    return Estimate(
        block=name,
        environment="h100",
        serving=(),
        units=exact(1, "attempt", State.PLANNED),
        spent={},
        remaining={},
        spent_h=nothing,
        remaining_h=remaining,
        total_h=remaining,
        gpu_hours_used=times(gpus),
        gpu_hours_billed=times(billed),
        contingency_h=nothing,
        peak_bytes=not_applicable("bytes", msg("not used here")),
        sessions=sessions,
        run_s=(),
    )


def project(
    quotes: Sequence[Quote] = (RENT,), blocks: Sequence[Block] = (block(),), **changes: Any
) -> Project:
    given_: dict[str, Any] = {
        "title": "t", "currency": "EUR", "campaign": CAMPAIGN,
        "environments": (H100, NODE, LAB), **changes,
    }  # fmt: skip
    return Project(blocks=tuple(blocks), quotes=tuple(quotes), **given_)


def of(kind: str, plan: Project, estimates: Sequence[Estimate]) -> Scenario:
    return next(item for item in scenarios(plan, estimates, AS_OF) if item.kind == kind)


def kinds(plan: Project, estimates: Sequence[Estimate]) -> list[str]:
    return [item.kind for item in scenarios(plan, estimates, AS_OF)]


def text(*messages: Message | None) -> str:
    return " | ".join(repr(item) for item in messages)


def needs(item: Scenario) -> str:
    return " | ".join(f"{need.where}: {need.what!r}" for need in item.needs)


# Billing


@pytest.mark.parametrize(
    ("rate", "seconds", "expected"),
    [("2.953", 379, "0.311"), ("2.953", 1351, "1.108"), ("0.473", 986, "0.130")],
)
def test_published_bills_by_the_second_are_met(rate: str, seconds: int, expected: str) -> None:
    billed = billed_hours(D(seconds) / 3600, 1, 0)
    assert round(billed * D(rate), 3) == D(expected)


@pytest.mark.parametrize(
    ("taken", "increment_s", "minimum_s", "periods", "expected"),
    [
        ("1", None, None, 1, "1"),
        ("1.01", 3600, 0, 1, "2"),
        ("1", 3600, 0, 1, "1"),
        ("0.1", 60, 3600, 1, "1"),  # the minimum of an hour
        ("0.1", None, 3600, 1, "1"),
        ("3", 3600, 0, 2, "4"),  # 1.5 h each, two hours each
        ("3", 3600, 7200, 3, "6"),  # 1 h each, two hours each
        ("0.30000000000000004", 1080, 0, 1, "0.3"),  # the dust of a float starts no increment
        ("0", 3600, 3600, 2, "0"),
    ],
)
def test_each_period_is_rounded_up_and_has_a_minimum(
    taken: str, increment_s: int | None, minimum_s: int | None, periods: int, expected: str
) -> None:
    assert billed_hours(D(taken), increment_s, minimum_s, periods) == D(expected)


@pytest.mark.parametrize(
    ("period", "taken", "periods", "expected"),
    [("day", 24, 1, 1), ("day", 25, 1, 2), ("day", 30, 2, 2), ("month", 672, 1, 1),
     ("month", 673, 1, 2), ("year", 1, 1, 1)],
)  # fmt: skip
def test_days_months_and_years_are_charged_whole(
    period: Any, taken: int, periods: int, expected: int
) -> None:
    rate = Rate(price=exact(D(1), "EUR", State.QUOTED), period=period)
    assert billed_units(D(taken), rate, periods) == expected


@pytest.mark.parametrize(
    ("start", "end", "period", "expected"),
    [
        (date(2027, 1, 11), date(2027, 2, 5), "hour", 624),
        (date(2027, 1, 11), date(2027, 2, 5), "day", 26),
        (date(2027, 1, 11), date(2027, 2, 10), "month", 1),
        (date(2027, 1, 11), date(2027, 2, 11), "month", 2),
        (date(2027, 1, 31), date(2027, 2, 27), "month", 1),
        (date(2027, 1, 1), date(2027, 12, 31), "year", 1),
        (date(2027, 1, 1), date(2028, 1, 1), "year", 2),
        (date(2027, 1, 1), date(2027, 1, 1), "day", 1),
    ],
)
def test_calendar_units_hold_both_first_and_last_day(
    start: date, end: date, period: Any, expected: int
) -> None:
    assert calendar_units(start, end, period) == expected


# Blocks


def test_block_is_charged_by_session_and_its_range_is_carried() -> None:
    quote = msgspec.structs.replace(RENT, billing=Billing(increment_s=3600, minimum_s=0))
    result = of("blocks", project([quote]), [estimate("reference", hours(9.0, 8.0, 10.5))])
    # Two sessions: 4.5 -> 5, 4 -> 4, 5.25 -> 6 h each; 10, 8 and 12 h at 2.50.
    assert (result.total.low, result.total.value, result.total.high) == (D(20), D(25), D(30))
    assert result.lines[0].quantity.value == 10
    assert result.hours.value == 9.0
    assert (result.gpu_hours_used.value, result.gpu_hours_billed.value) == (9.0, 10)
    assert (result.total.unit, result.total.state) == ("EUR", State.QUOTED)
    assert result.lines[0].quote == "rent"
    assert result.needs == ()


def test_unknown_billing_terms_leave_hours_as_they_are_and_say_so() -> None:
    result = of("blocks", project(), [estimate("reference", hours(9.25), sessions=None)])
    assert result.total.value == D("23.125")  # 9.25 * 2.50
    assert result.total.high is None
    assert "increment unknown" in text(*result.lines[0].remarks)
    assert "tax not included" in text(*result.lines[0].remarks)


def test_wrong_published_bill_for_48_hours_is_not_reproduced() -> None:
    quote = msgspec.structs.replace(RENT, amount=D("31.46"))
    result = of("blocks", project([quote]), [estimate("reference", hours(48.0))])
    assert result.total.value == D("1510.08")


def test_whole_machine_is_charged_where_a_block_uses_one_of_its_gpus() -> None:
    quote = msgspec.structs.replace(RENT, environment="node")
    plan = project([quote], [block(environment="node")])
    result = of("blocks", plan, [estimate("reference", hours(10.0), gpus=1, billed=8)])
    assert result.total.value == 200  # 10 h * 8 GPUs * 2.50
    assert (result.gpu_hours_used.value, result.gpu_hours_billed.value) == (10.0, 80)


def test_price_per_day_charges_whole_days_of_each_session() -> None:
    quote = msgspec.structs.replace(RENT, per="machine-day", amount=D(50))
    result = of("blocks", project([quote]), [estimate("reference", hours(30.0))])
    assert result.total.value == 100  # 15 h each of two sessions: two days
    assert result.lines[0].quantity.unit == "machine-day"
    assert result.gpu_hours_billed.value == 48


def test_rounded_sessions_of_unknown_number_have_no_price() -> None:
    quote = msgspec.structs.replace(RENT, billing=Billing(increment_s=3600))
    plan = project([quote], [block(sessions=None)])
    result = of("blocks", plan, [estimate("reference", hours(9.0), sessions=None)])
    assert not result.total.known
    assert "number of sessions" in needs(result)


def test_block_on_an_owned_machine_costs_no_rent_and_says_why() -> None:
    plan = project(blocks=[block(), block("own", environment="lab")])
    known = [estimate("reference", hours(10.0)), estimate("own", hours(5.0))]
    result = of("blocks", plan, known)
    assert result.lines[1].amount.state is State.NOT_APPLICABLE
    assert "no rent" in text(result.lines[1].amount.why)
    assert result.total.value == 25
    assert result.hours.value == 15.0
    assert result.gpu_hours_billed.value == 10


def test_missing_hours_leave_a_part_that_names_what_it_lacks() -> None:
    names = [f"b{number}" for number in range(7)]
    known = [estimate(name, hours(None if name in ("b1", "b4") else 2.0)) for name in names]
    result = of("blocks", project(blocks=[block(name) for name in names]), known)
    for figure in (result.total, result.hours):
        assert not figure.known
        assert figure.part is not None
        assert figure.part.why is not None
        assert (figure.part.why.values["known"], figure.part.why.values["count"]) == (5, 7)
        assert "b1" in text(figure.part.why)
        assert "b4" in text(figure.part.why)
    assert result.total.part is not None
    assert result.total.part.value == 25  # 5 * 2 h * 2.50
    assert "measurements" in needs(result)


def test_partly_known_block_is_not_in_the_part() -> None:
    partly = missing("h", msg("waits are missing"), part=hours(3.0))
    result = of("blocks", project(), [estimate("reference", partly)])
    assert result.total.part is None
    assert result.hours.part is None


def test_block_without_estimate_or_environment_is_missing_with_needs() -> None:
    result = of("blocks", project(blocks=[block(environment=None)]), [])
    assert not result.total.known
    assert "blocks: " in needs(result)
    assert "measurements: " in needs(result)


def test_plan_without_open_block_has_no_zero_total() -> None:
    result = of("blocks", project(blocks=[block(status="undetermined")]), [])
    assert not result.total.known
    assert "undetermined" in text(*result.remarks)
    assert "no block is open" in needs(result)


def test_example_quote_makes_the_total_an_example() -> None:
    quote = msgspec.structs.replace(RENT, example=True)
    result = of("blocks", project([quote]), [estimate("reference", hours(1.0))])
    assert result.total.state is State.EXAMPLE
    assert result.example


def test_without_quotes_there_is_no_amount_but_a_need_each() -> None:
    plan = project([], [block(), block("own", environment="lab")], ownership=OWNERSHIP)
    known = [estimate("reference", hours(10.0)), estimate("own", hours(5.0))]
    found = scenarios(plan, known, AS_OF)
    assert [item.kind for item in found] == ["blocks", "continuous", "owned", "buy"]
    for item in found:
        assert item.total.value is None
        assert item.total.part is None
        assert not any(line.amount.known for line in item.lines)
        assert any(need.where == "quotes" for need in item.needs)
    assert found[0].hours.value == 15.0


def test_unusable_quote_is_named_in_the_need_with_its_reasons() -> None:
    old = msgspec.structs.replace(RENT, verified_on=date(2026, 1, 1), source=None)
    result = of("blocks", project([old]), [estimate("reference", hours(1.0))])
    assert not result.total.known
    assert "no source" in needs(result)
    assert "list price" in needs(result)


# Continuous


def test_continuous_rental_charges_every_hour_of_every_day() -> None:
    campaign = msgspec.structs.replace(CAMPAIGN, machines_at_once=2)
    result = of("continuous", project(campaign=campaign), [estimate("reference", hours(9.0))])
    assert result.hours.value == 1248  # 26 days * 24 h * 2 machines
    assert result.total.value == 3120  # 1248 h * 2.50
    assert result.gpu_hours_billed.value == 1248
    assert result.gpu_hours_used.value == 9.0


def test_continuous_rental_by_the_month_charges_the_month_begun() -> None:
    quote = msgspec.structs.replace(RENT, per="machine-month", amount=D(1000))
    result = of("continuous", project([quote]), [estimate("reference", hours(9.0))])
    assert result.total.value == 1000
    assert result.hours.value == 624


@pytest.mark.parametrize(
    "campaign", [Campaign(), Campaign(start=date(2027, 2, 1), end=date(2027, 1, 1))]
)
def test_continuous_rental_without_sensible_dates_is_missing(campaign: Campaign) -> None:
    result = of("continuous", project(campaign=campaign), [estimate("reference", hours(9.0))])
    assert not result.total.known
    assert not result.hours.known
    assert "scope: " in needs(result)


def test_several_environments_have_a_line_each_and_ask_how_many() -> None:
    plan = project(blocks=[block(), block("big", environment="node")])
    result = of("continuous", plan, [])
    assert len(result.lines) == 2
    assert not result.total.known
    assert "how many machines of each" in needs(result)


def test_price_that_ends_early_gives_no_amount_for_the_whole_campaign() -> None:
    quote = msgspec.structs.replace(RENT, price_until=date(2027, 1, 20))
    result = of("continuous", project([quote]), [estimate("reference", hours(9.0))])
    assert not result.total.known
    assert "before the campaign's end" in needs(result)


def test_period_too_short_for_the_blocks_is_remarked() -> None:
    result = of("continuous", project(), [estimate("reference", hours(600.0, 500.0, 700.0))])
    assert "more than the period holds" in text(*result.remarks)


def test_questions_that_do_not_arise_give_no_scenario() -> None:
    plan = project([ENERGY], [block(environment="lab")])
    assert kinds(plan, []) == ["blocks", "owned"]
    assert kinds(project(environments=(H100,)), []) == ["blocks", "continuous"]


# Owned and bought


def test_machine_at_hand_costs_its_energy() -> None:
    plan = project([ENERGY], [block(environment="lab")], ownership=OWNERSHIP)
    result = of("owned", plan, [estimate("reference", hours(10.0, 9.0, 12.0), gpus=2)])
    # 5.6 kW * 1.3 * 10 h = 72.8 kWh at 0.20
    assert (result.total.low, result.total.value, result.total.high) == (
        D("13.104"), D("14.56"), D("17.472"),
    )  # fmt: skip
    assert result.total.state is State.DECLARED
    assert result.gpu_hours_billed.state is State.NOT_APPLICABLE
    assert "administration" in text(*result.remarks)
    assert "admin_hours_per_month" in needs(result)


def test_explicit_zero_for_energy_is_free_whatever_the_power() -> None:
    free = msgspec.structs.replace(ENERGY, amount=D(0))
    result = of(
        "owned", project([free], [block(environment="lab")]), [estimate("reference", hours(10.0))]
    )
    assert result.total.value == 0
    assert result.total.state is State.QUOTED


def test_stated_administration_without_a_rate_leaves_no_total() -> None:
    ownership = msgspec.structs.replace(OWNERSHIP, admin_hours_per_month=D(10))
    plan = project([ENERGY], [block(environment="lab")], ownership=ownership)
    result = of("owned", plan, [estimate("reference", hours(10.0))])
    assert not result.total.known
    assert result.total.part is not None
    assert "rate for administration" in needs(result)


def test_no_block_on_the_machine_at_hand_is_a_need_not_a_zero() -> None:
    result = of("owned", project([ENERGY], ownership=OWNERSHIP), [])
    assert not result.total.known
    assert "no open block is planned" in needs(result)


def extra(name: str, kind: Any, amount: str, per: Any) -> Quote:
    return msgspec.structs.replace(ENERGY, id=name, kind=kind, amount=D(amount), per=per)


def test_purchase_is_the_net_present_value_of_its_flows() -> None:
    quotes = [
        BUY, ENERGY, extra("adm", "administration", "60", "hour"),
        extra("upkeep", "maintenance", "10", "percent-year"),
        extra("resale", "resale", "20000", "machine"),
    ]  # fmt: skip
    ownership = msgspec.structs.replace(OWNERSHIP, admin_hours_per_month=D(10))
    result = of("buy", project(quotes, ownership=ownership), [])
    # Energy 5.6 * 1.3 * 4380 h * 0.20 = 6,377.28; administration 10 * 12 * 60 = 7,200;
    # maintenance 10 % of 200,000 = 20,000: 33,577.28 a year. No depreciation among the flows.
    yearly = D("33577.28")
    flows = [D(-200000), -yearly, -yearly, -yearly, D(20000) - yearly]
    assert isinstance(result.total.value, D)
    assert abs(result.total.value + npv(D("0.08"), flows)) < D("1e-9")
    # The printed sum: 200000 + 33577.28 * 3.3121268 - 20000 * 0.7350299 = 296511.61
    assert round(result.total.value, 1) == D("296511.6")
    assert result.yearly is not None
    assert result.needs == ()
    assert result.total.state is State.DECLARED
    assert result.hours.value == 17520  # 8760 * 0.5 * 4


@pytest.mark.parametrize(
    ("field", "page"),
    [("life_years", "scenarios"), ("discount_rate", "scenarios"), ("power_kw", "scenarios"),
     ("pue", "scenarios"), ("utilisation", "scenarios")],
)  # fmt: skip
def test_purchase_without_an_input_has_no_total_and_names_it(field: str, page: str) -> None:
    ownership = msgspec.structs.replace(OWNERSHIP, **{field: None})
    result = of("buy", project([BUY, ENERGY], ownership=ownership), [])
    assert not result.total.known
    assert f"ownership.{field}" in needs(result)
    assert page in needs(result)


@pytest.mark.parametrize("quotes", [[BUY], [ENERGY]])
def test_purchase_without_price_or_energy_quote_has_no_total(quotes: list[Quote]) -> None:
    result = of("buy", project(quotes, ownership=OWNERSHIP), [])
    assert not result.total.known
    assert "quotes: " in needs(result)


def test_purchase_with_free_energy_needs_neither_power_nor_utilisation() -> None:
    free = msgspec.structs.replace(ENERGY, amount=D(0))
    ownership = Ownership(life_years=D(4), discount_rate=D(0))
    result = of("buy", project([BUY, free], ownership=ownership), [])
    assert result.total.value == 200000
    assert "utilisation" not in needs(result)
    assert "administration" in text(*result.remarks)


# Comparison, break-even, questions


def test_comparison_needs_a_total_on_both_sides() -> None:
    known = [estimate("reference", hours(10.0))]
    alone = scenarios(project(), known, AS_OF)
    bought = scenarios(project([BUY, ENERGY], ownership=OWNERSHIP), known, AS_OF)
    for found in (alone, bought):
        assert not comparison(found).possible
        assert comparison(found).statements == ()
        assert comparison(found).needs
    both = scenarios(project([RENT, BUY, ENERGY], ownership=OWNERSHIP), known, AS_OF)
    assert comparison(both).possible
    assert "buying pays from" in text(*comparison(both).statements)


def test_comparison_without_anything_owned_says_what_is_lacking() -> None:
    plan = project(environments=(H100,))
    found = scenarios(plan, [estimate("reference", hours(10.0))], AS_OF)
    assert "no purchase price" in repr(comparison(found).needs)


def test_purchase_without_rental_quote_gives_break_even_rates() -> None:
    free = msgspec.structs.replace(ENERGY, amount=D(0))
    ownership = Ownership(life_years=D(4), discount_rate=D(0), utilisation=D("0.5"))
    plan = project([BUY, free], ownership=ownership)
    known = [estimate("reference", hours(1000.0, 800.0, 1250.0))]
    result = break_even_rates(plan, known, scenarios(plan, known, AS_OF))
    in_use, alone = (item.figure for item in result.rates)
    # 200,000 over 4 years is 50,000 a year over 4,380 h; alone 200,000 over 1,000 h.
    assert isinstance(in_use.value, D)
    assert round(in_use.value, 4) == D("11.4155")
    assert (alone.low, alone.value, alone.high) == (D(160), D(200), D(250))
    assert alone.unit == "EUR/machine-hour"
    assert "renting wins below" in text(*result.statements)


def test_break_even_without_a_purchase_names_what_is_lacking() -> None:
    plan = project([])
    result = break_even_rates(plan, [], scenarios(plan, [], AS_OF))
    assert result.rates == ()
    assert result.needs


def test_questions_name_the_machine_the_hours_and_the_terms() -> None:
    asked = text(
        *questions_to_provider(project([]), [estimate("reference", hours(9.0, 8.0, 11.0))])
    )
    for word in ("h100", "11.0", "GPU-hour", "hold", "tax", "accepted", "increment", "available"):
        assert word in asked
    assert questions_to_provider(project(blocks=[block(environment="lab")]), []) == ()


# Limits


def money(value: str, high: str | None = None, state: State = State.QUOTED) -> Figure:
    return Figure(value=D(value), low=D(value) if high else None, high=D(high) if high else None,
                  unit="EUR", state=state)  # fmt: skip


@pytest.mark.parametrize(
    ("total", "cap", "outcome"),
    [
        (money("90", "100"), D(100), "pass"),
        (money("90", "100.01"), D(100), "fail"),
        (money("90"), D(100), "pass"),
        (money("90", "95"), None, "unknown"),
        (missing("EUR", msg("no quote")), D(100), "unknown"),
        (missing("EUR", msg("no quote"), part=money("101")), D(100), "fail"),
        (missing("EUR", msg("no quote"), part=money("99")), D(100), "unknown"),
        (not_applicable("EUR", msg("owned")), D(100), "pass"),
    ],
)
def test_cap_is_held_by_the_upper_end(total: Figure, cap: D | None, outcome: str) -> None:
    check = within_cap(total, cap, "EUR")
    assert check.outcome == outcome
    assert (check.do_next is None) == (outcome == "pass")


def test_cap_in_another_currency_cannot_tell_and_an_example_is_marked() -> None:
    assert within_cap(money("1"), D(100), "USD").outcome == "unknown"
    marked = within_cap(money("1", state=State.EXAMPLE), D(100), "EUR")
    assert "example" in marked.because.text


def dated(**changes: Any) -> Project:
    campaign = Campaign(start=date(2027, 1, 11), deadline=date(2027, 1, 12), **changes)
    return project(campaign=campaign)


@pytest.mark.parametrize(
    ("needed", "plan", "as_of", "outcome"),
    [
        (hours(40.0, 30.0, 48.0), dated(), AS_OF, "pass"),  # two days of 24 h
        (hours(40.0, 30.0, 48.5), dated(), AS_OF, "fail"),
        (hours(40.0, 30.0, 96.0), dated(machines_at_once=2), AS_OF, "pass"),
        (hours(25.0), dated(), date(2027, 1, 12), "fail"),  # one day is left
        (hours(1.0), dated(), date(2027, 1, 13), "fail"),
        (hours(None), dated(), AS_OF, "unknown"),
        (hours(1.0), project(), AS_OF, "unknown"),
    ],
)
def test_deadline_is_held_by_the_upper_end(
    needed: Figure, plan: Project, as_of: date, outcome: str
) -> None:
    check = within_deadline(needed, plan, as_of)
    assert check.outcome == outcome
    assert (check.do_next is None) == (outcome == "pass")


def test_weekly_hours_of_the_environment_limit_the_deadline() -> None:
    few = msgspec.structs.replace(H100, available_hours_per_week=35.0)
    plan = msgspec.structs.replace(dated(), environments=(few, NODE))
    # 35 h a week over two of seven days: 10 h
    assert within_deadline(hours(10.0), plan, AS_OF).outcome == "pass"
    late = within_deadline(hours(10.5), plan, AS_OF)
    assert late.outcome == "fail"
    assert "available {weekly} a week" in repr(late.because)
    mixed = msgspec.structs.replace(plan, blocks=(block(), block("big", environment="node")))
    assert within_deadline(hours(10.5), mixed, AS_OF).outcome == "unknown"


# Properties

SPANS = st.floats(0, 10000, allow_nan=False)


@given(
    pair=st.tuples(SPANS, SPANS),
    increment_s=st.none() | st.integers(1, 86400),
    minimum_s=st.none() | st.integers(0, 86400),
    sessions=st.integers(1, 20),
    per=st.sampled_from(["gpu-hour", "machine-hour", "machine-day", "machine-month"]),
)
def test_cost_never_falls_when_hours_rise_at_one_rate(
    pair: tuple[float, float], increment_s: int, minimum_s: int, sessions: int, per: Any
) -> None:
    billing = Billing(increment_s=increment_s, minimum_s=minimum_s)
    quote = msgspec.structs.replace(RENT, billing=billing, per=per)
    low, high = sorted(pair)
    less, more = (
        of("blocks", project([quote]), [estimate("reference", hours(value), sessions=sessions)])
        for value in (low, high)
    )
    assert less.total.value is not None
    assert more.total.value is not None
    assert less.total.value <= more.total.value


@given(known=st.lists(st.none() | SPANS, min_size=1, max_size=6), priced=st.booleans())
def test_scenario_with_a_missing_line_has_no_total(known: list[float | None], priced: bool) -> None:
    names = [f"b{number}" for number in range(len(known))]
    plan = project([RENT, BUY] if priced else [], [block(name) for name in names])
    found = scenarios(plan, [estimate(n, hours(h)) for n, h in zip(names, known, strict=True)],
                      AS_OF)  # fmt: skip
    for item in found:
        lacking = [line for line in item.lines if line.amount.state is State.MISSING]
        assert item.total.known == (not lacking)
        if lacking:
            assert item.needs
