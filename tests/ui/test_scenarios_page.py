"""The page Scenarios: hours, totals, what is missing, and no lone bar."""

import json
from datetime import date
from decimal import Decimal

import msgspec
from screen import opened, own, project, saved_elsewhere, shown

from budget.project import Holds, Ownership, Quote
from budget.ui import money_charts

PURCHASE = Quote(
    id="server", environment="cpu-host", kind="purchase", amount=Decimal(1000), currency="EUR",
    per="machine", holds=Holds(gpus=0, host="included", tax="included"), source="quote 9",
    verified_on=date(2026, 11, 30), verified_by="A. Person", accept_by=date(2026, 12, 31),
)  # fmt: skip


def measured(database):
    """The blocks of the sample without the one that nobody measured."""
    return tuple(item for item in project(database).blocks if item.id != "extension-4096")


def test_without_blocks_the_page_says_what_a_scenario_needs(app):
    text = shown(own(app, "scenarios"))
    assert "No scenario yet" in text
    assert not app.get("vega_lite_chart")


def test_every_scenario_shows_hours_total_lines_and_what_it_needs(app):
    text = shown(opened(app, "scenarios"))
    assert "Rent block by block" in text
    assert "Rent without a break for the whole campaign" in text
    assert "34.56 EUR example" in text
    assert "1.56 EUR example + missing" in text
    assert "Rate: 0.12 EUR per machine-hour example; quote: example-1" in text
    assert "the hours of extension-4096" in text
    assert "no machine at hand and no purchase price" in text


def test_what_cap_and_deadline_say_stands_first(app):
    text = shown(opened(app, "scenarios"))
    # 7 of 8 blocks are measured: what is known fits, the whole cannot be told
    assert "cap: cannot tell" in text
    assert "is within the cap of 5.00 EUR" in text
    assert "deadline: cannot tell" in text
    assert "fits into 384 h" in text  # 16 days of 24 h from 7 to 22 December


def test_one_total_is_never_a_lone_bar(app):
    text = shown(opened(app, "scenarios"))
    assert "no total yet for Rent block by block" in text
    spec = json.loads(app.get("vega_lite_chart")[0].proto.spec)
    assert spec["title"]["text"] == "Machine-hours per scenario"


def test_the_questions_to_a_provider_are_text_to_copy(app):
    opened(app, "scenarios")
    assert any("We look for one CPU host" in item.value for item in app.code)


def test_two_totals_are_drawn_as_cost_with_the_word_example(app, database):
    app.run()
    saved_elsewhere(database, blocks=measured(database))
    opened(app, "scenarios")
    chart = app.get("vega_lite_chart")[0].proto
    assert json.loads(chart.spec)["title"]["text"] == "Cost per scenario (example)"
    assert "1.56 EUR example" in shown(app)


def test_the_chart_is_told_in_words_too():
    bars = [
        money_charts.Bar(name="rent", value=1, low=None, high=None, text="1.00 EUR", covers="a"),
        money_charts.Bar(name="buy", value=2, low=1, high=3, text="2.00 EUR (1 to 3)", covers="b"),
    ]
    assert money_charts.described(bars, "Cost") == "Cost: rent: 1.00 EUR; buy: 2.00 EUR (1 to 3)"


def test_a_purchase_without_its_running_costs_is_not_compared(app, database):
    app.run()
    quotes = (*project(database).quotes, PURCHASE)
    saved_elsewhere(database, blocks=measured(database), quotes=quotes)
    text = shown(opened(app, "scenarios"))
    assert not app.exception
    assert "Buy 1 machine of cpu-host" in text
    assert "No comparison yet" in text
    assert "Not drawn, because it has no total yet: Buy 1 machine of cpu-host" in text


def test_a_complete_purchase_stands_beside_renting_with_the_rate_between_them(app, database):
    app.run()
    energy = msgspec.structs.replace(
        PURCHASE, id="power", kind="energy", amount=Decimal("0.20"), per="kwh", environment=None
    )
    resale = msgspec.structs.replace(PURCHASE, id="resale", kind="resale", amount=Decimal(100))
    admin = msgspec.structs.replace(
        PURCHASE, id="admin", kind="administration", amount=Decimal(50), per="hour"
    )
    upkeep = msgspec.structs.replace(
        PURCHASE, id="upkeep", kind="maintenance", amount=Decimal(5), per="percent-year"
    )
    saved_elsewhere(
        database,
        blocks=measured(database),
        quotes=(*project(database).quotes, PURCHASE, energy, resale, admin, upkeep),
        ownership=Ownership(
            gpu_count=1, life_years=Decimal(4), discount_rate=Decimal("0.08"),
            power_kw=Decimal("0.2"), pue=Decimal("1.2"), admin_hours_per_month=Decimal(1),
            utilisation=Decimal("0.5"),
        ),
    )  # fmt: skip
    text = shown(opened(app, "scenarios"))
    assert not app.exception
    assert "Renting wins below this rate" in text
    assert "in use 50 % of the year" in text
    assert "pays from" in text
