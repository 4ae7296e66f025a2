"""The page Quotes: how an amount is read, why a quote may not be used, and what follows."""

import re
from datetime import date

import pytest
from screen import field, opened, own, press, project, shown

ADD = "Add the quote"


def fill(app, amount="0.50", per="machine-hour", source="quote 7", verified=date(2026, 11, 30)):
    """Fill the form for a new quote on an open page."""
    field(app, "text_input", "Amount, as it is written", -1).set_value(amount)
    if per:
        field(app, "selectbox", "Per", -1).set_value(per)
    if source:
        field(app, "text_input", "Source", -1).set_value(source)
    if verified:
        field(app, "date_input", "Verified on", -1).set_value(verified)
    app.run()
    assert not app.exception
    return app


def test_without_a_quote_the_page_says_why_no_amount_is_shown(app):
    text = shown(own(app, "quotes"))
    assert "so no amount is shown anywhere" in text
    assert "The plan rents no machine yet" in text


def test_the_sample_quote_is_marked_as_an_example(app):
    text = shown(opened(app, "quotes"))
    assert "0.12 EUR per machine-hour example" in text
    assert "1 of 1 quotes may be used" in text
    assert "tax not included" in text
    assert "verified 3 days ago: verify again at booking" in text
    assert "in steps of 1.0 h, at least 1.0 h" in text


def test_the_questions_to_a_provider_are_text_to_copy(app):
    opened(app, "quotes")
    assert any("per what: GPU-hour, machine-hour, day" in item.value for item in app.code)


@pytest.mark.parametrize(
    ("typed", "reading"),
    [
        ("1.234,50", "read as 1234.50"),
        ("7 000", "read as 7000"),
        ("0.50 EUR", "read as 0.50"),
        ("0", "(free of charge)"),
        ("1.000", '"1.000" is ambiguous: write 1000 or 1.0'),
        ("1.125", "write 1125 or 1.1250"),
        ("cheap", '"cheap" is not a number'),
    ],
)
def test_an_amount_is_read_back_before_it_is_saved(app, typed, reading):
    assert reading in shown(fill(opened(app, "quotes"), amount=typed))


def test_an_ambiguous_amount_is_not_saved(app, database):
    press(fill(opened(app, "quotes"), amount="1.000"), ADD)
    assert any('"1.000" is ambiguous' in item.value.replace("\\", "") for item in app.error)
    assert len(project(database).quotes) == 1


def test_a_new_verified_quote_changes_the_total_on_scenarios(app, database):
    opened(app, "scenarios")
    assert "34.56 EUR example" in shown(app)
    app.switch_page("pages/quotes.py").run()
    press(fill(app), ADD)
    assert [item.id for item in project(database).quotes] == ["example-1", "quote-1"]
    assert "0.50 EUR per machine-hour" in shown(app)
    text = shown(app.switch_page("pages/scenarios.py").run())
    assert "144.00 EUR" in text
    assert "34.56 EUR" not in text


def test_a_changed_amount_changes_the_card(app, database):
    opened(app, "quotes")
    app.session_state[_panel(app)] = True
    app.run()
    field(app, "text_input", "Amount, as it is written").set_value("0.24").run()
    press(app, "Save the changes")
    assert str(project(database).quotes[0].amount) == "0.24"
    assert "0.24 EUR per machine-hour example" in shown(app)


def test_deleting_every_quote_removes_every_amount_and_names_the_reason(app, database):
    opened(app, "quotes")
    app.session_state[_panel(app)] = True
    app.run()
    press(app, "Delete example-1")
    assert project(database).quotes == ()
    assert "so no amount is shown anywhere" in shown(app)
    for name in ("scenarios", "decision"):
        text = shown(app.switch_page(f"pages/{name}.py").run())
        assert not re.search(r"\d EUR", text.replace("5.00 EUR", "the cap"))
        assert "no rental price for cpu-host" in text


@pytest.mark.parametrize(
    ("left_out", "reason"),
    [
        ({"per": None}, "it states no unit: an hour, a month and a machine are far apart"),
        ({"source": None}, "it names no source"),
        ({"verified": None}, "nobody has verified it"),
        ({"verified": date(2026, 9, 1)}, "list price verified 91 days ago"),
    ],
)
def test_an_incomplete_quote_is_kept_and_says_why_it_is_not_usable(app, database, left_out, reason):
    press(fill(opened(app, "quotes"), **left_out), ADD)
    assert len(project(database).quotes) == 2
    assert reason in shown(app)
    assert "1 of 2 quotes may be used" in shown(app)


def test_a_price_per_gpu_for_a_host_without_gpus_gets_its_sentence_at_once(app):
    text = shown(fill(opened(app, "quotes"), per="gpu-hour"))
    assert "one CPU host with 2 cores has no GPU" in text
    assert "ask for a price per machine-hour" in text


def test_a_changed_example_may_become_a_price_of_ones_own(app, database):
    opened(app, "quotes")
    app.session_state[_panel(app)] = True
    app.run()
    app.checkbox[0].uncheck().run()
    press(app, "Save the changes")
    assert not project(database).quotes[0].example
    assert "0.12 EUR per machine-hour example" not in shown(app)


def test_assumptions_on_owning_are_read_like_any_number(app, database):
    opened(app, "quotes")
    field(app, "text_input", "Share of the year in use").set_value("1.5")
    press(app, "Save the assumptions")
    assert "ownership.utilisation is 1.5, but must be at most 1" in shown(app)
    field(app, "text_input", "Share of the year in use").set_value("0,5")
    press(app, "Save the assumptions")
    assert str(project(database).ownership.utilisation) == "0.5"


def test_nothing_entered_is_not_saved(app, database):
    press(opened(app, "quotes"), ADD)
    assert "Nothing is entered yet" in shown(app)
    assert len(project(database).quotes) == 1


def _panel(app):
    saved = next(item.key for item in app.button if item.key and item.key.startswith("new-save-"))
    return saved.replace("new-save-", "edit-example-1-")
