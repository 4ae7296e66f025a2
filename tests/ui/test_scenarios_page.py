"""The page Scenarios: hours, totals, what is missing, and no lone bar."""

import json

from screen import opened, own, shown

from budget.ui import money_charts


def test_without_blocks_the_page_says_what_a_scenario_needs(app):
    text = shown(own(app, "scenarios"))
    assert "No scenario yet" in text
    assert not app.get("vega_lite_chart")


def test_every_scenario_shows_hours_total_lines_and_what_it_needs(app):
    text = shown(opened(app, "scenarios"))
    assert "Rent block by block" in text
    assert "Rent without a break for the whole campaign" in text
    assert "34.56 EUR example" in text
    assert "at least 1.56 EUR example" in text
    assert "Rate: 0.12 EUR per machine-hour example; quote: example-1" in text
    assert "the hours of extension-4096" in text
    assert "no machine at hand and no purchase price" in text


def test_what_cap_and_deadline_say_stands_first(app):
    text = shown(opened(app, "scenarios"))
    assert "cap: fail" in text
    assert "above the cap of 5.00 EUR (rests on an example quote)" in text
    assert "deadline: pass" in text


def test_one_total_is_never_a_lone_bar(app):
    text = shown(opened(app, "scenarios"))
    assert "no total yet for Rent block by block" in text
    spec = json.loads(app.get("vega_lite_chart")[0].proto.spec)
    assert spec["title"]["text"] == "Machine-hours per scenario"


def test_the_questions_to_a_provider_are_text_to_copy(app):
    opened(app, "scenarios")
    assert any("We look for one CPU host" in item.value for item in app.code)


def test_two_totals_are_drawn_as_cost_with_the_word_example(app):
    opened(app, "blocks")
    _drop_the_unmeasured_block(app)
    app.switch_page("pages/scenarios.py").run()
    chart = app.get("vega_lite_chart")[0].proto
    assert json.loads(chart.spec)["title"]["text"] == "Cost per scenario (example)"
    assert "1.56 EUR example" in shown(app)


def test_the_chart_is_told_in_words_too():
    bars = [
        money_charts.Bar(name="rent", value=1, low=None, high=None, text="1.00 EUR", covers="a"),
        money_charts.Bar(name="buy", value=2, low=1, high=3, text="2.00 EUR (1 to 3)", covers="b"),
    ]
    assert money_charts.described(bars, "Cost") == "Cost: rent: 1.00 EUR; buy: 2.00 EUR (1 to 3)"


def _drop_the_unmeasured_block(app):
    """Save the sample without the block that nobody measured, as another browser would."""
    import os
    from datetime import UTC, datetime

    import msgspec

    from budget import workflow
    from budget.store import open_store
    from budget.ui import sample

    store = open_store(os.environ["COMPUTE_BUDGET_DATABASE_URL"])
    opened_now = workflow.open_project(store, sample.ID)
    rest = tuple(item for item in opened_now.project.blocks if item.id != "extension-4096")
    workflow.save(
        store, opened_now, msgspec.structs.replace(opened_now.project, blocks=rest), "other",
        datetime(2026, 12, 1, tzinfo=UTC), "block dropped",
    )  # fmt: skip
