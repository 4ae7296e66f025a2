"""The page Scope: what is typed is read in one place, saved, and shown beside the logs."""

import sqlite3
from datetime import date
from pathlib import Path

import pytest
from screen import field, opened, own, press, project, saved_elsewhere, shown

SAVE = "Save the scope"


def test_an_empty_scope_says_which_answers_help_most(app):
    assert "Nothing is described yet" in shown(own(app, "scope"))
    assert "no log yet" in shown(app)


def test_the_sample_shows_what_the_logs_say_beside_what_was_declared(app):
    text = shown(opened(app, "scope"))
    assert "33 of 33 attempts ran" in text
    assert "33 attempts of commit 6f9847ec0041" in text
    assert "33 attempts with the model tiny-decoder" in text
    assert "a host without a GPU" in text


def test_the_command_names_the_document_and_every_log(app):
    text = shown(opened(app, "scope"))
    assert "compute-budget decide sample-compressed-kv-cache-on-a-small-decoder.yaml" in text
    assert ".jsonl" in text


def test_a_saved_title_and_deadline_stay(app, database):
    opened(app, "scope")
    field(app, "text_input", "Project title").set_value("Our campaign")
    field(app, "date_input", "Deadline").set_value(date(2027, 1, 15))
    press(app, SAVE)
    saved = project(database)
    assert (saved.title, saved.campaign.deadline) == ("Our campaign", date(2027, 1, 15))
    assert saved.declared["campaign.deadline"].by == "unnamed"
    assert field(app, "text_input", "Project title").value == "Our campaign"


def test_an_earlier_deadline_flips_the_check_on_scenarios(app, database):
    app.run()
    measured = tuple(item for item in project(database).blocks if item.id != "extension-4096")
    saved_elsewhere(database, blocks=measured)
    assert "deadline: pass" in shown(opened(app, "scenarios"))
    app.switch_page("pages/scope.py").run()
    field(app, "date_input", "Deadline").set_value(date(2026, 12, 6))
    press(app, SAVE)
    text = shown(app.switch_page("pages/scenarios.py").run())
    assert "deadline: fail" in text  # the campaign starts on the 7th: no hour is left
    assert "2026-12-06" in text


def test_clearing_the_pinned_day_counts_from_today_again(app, database):
    opened(app, "scope")
    field(app, "date_input", "Pin the day").set_value(None)
    press(app, SAVE)
    assert project(database).as_of is None
    assert ", pinned" not in shown(app)


def test_an_answer_of_unknown_is_kept_as_unknown(app, database):
    opened(app, "scope")
    starts = next(item for item in app.button_group if item.label == "Does it start?")
    starts.set_value("unknown")
    press(app, SAVE)
    assert project(database).scope.repository.starts == "unknown"


def test_missing_weights_are_contradicted_by_the_logs(app):
    opened(app, "scope")
    app.session_state[_table(app, "models")] = {
        "edited_rows": {0: {"weights": "missing"}},
        "added_rows": [],
        "deleted_rows": [],
    }
    press(app, SAVE)
    assert "the weights of tiny-decoder are missing" in shown(app)
    assert "the log wins" in shown(app)


def test_a_result_without_a_short_name_gets_one_from_its_place_in_the_paper(app, database):
    opened(app, "scope")
    app.session_state[_table(app, "results")] = {
        "edited_rows": {},
        "added_rows": [{"ref": "Table 2, row 3", "value": "71.2"}, {"need": "optional"}],
        "deleted_rows": [],
    }
    press(app, SAVE)
    results = project(database).scope.results
    assert [item.id for item in results] == ["agreement", "table-2-row-3"]
    assert results[1].need == "essential"


@pytest.mark.parametrize(
    ("label", "typed", "sentence"),
    [
        ("Cap: the most it may cost", "1.000", '"1.000" is ambiguous'),
        ("Cap: the most it may cost", "-5", "campaign.cap is -5, but must be at least 0"),
        ("Machines at once", "0", "campaign.machines_at_once is 0, but must be at least 1"),
        ("The need lasts (months)", "a year", '"a year" is not a number'),
        ("Currency", "euro", "currency is euro, which is not allowed here"),
        ("Project title", "", "the document needs title"),
    ],
)
def test_bad_input_gets_a_sentence_and_is_not_saved(app, database, label, typed, sentence):
    opened(app, "scope")
    before = project(database)
    field(app, "text_input", label).set_value(typed)
    press(app, SAVE)
    assert sentence in shown(app)
    assert project(database) == before
    assert field(app, "text_input", label).value == typed


def test_an_end_before_the_start_gets_a_sentence(app, database):
    opened(app, "scope")
    field(app, "date_input", "Last day").set_value(date(2026, 12, 1))
    press(app, SAVE)
    assert "the campaign ends on 2026-12-01, before it starts on 2026-12-07" in shown(app)
    assert project(database).campaign.end == date(2026, 12, 18)


def test_saving_without_a_change_adds_no_revision(app):
    press(opened(app, "scope"), SAVE)
    assert "Nothing has changed" in shown(app)


def _table(app, name):
    """The session key of a table on the open page, which no control of AppTest gives."""
    title = field(app, "text_input", "Project title")
    return title.key.replace("title-", f"{name}-", 1)


def test_what_somebody_else_saved_meanwhile_swallows_nothing(app, database):
    opened(app, "scope")
    field(app, "text_input", "Project title").set_value("TWO")
    saved_elsewhere(database, title="ONE")
    press(app, SAVE)
    assert "Your change was not saved" in shown(app)
    table = next(item.value for item in app.dataframe if "yours" in item.value)
    assert ["title", "TWO", "ONE"] in table.values.tolist()
    assert project(database).title == "ONE"


def test_a_database_that_was_removed_gets_a_sentence_instead_of_a_success(app, database):
    opened(app, "scope")
    field(app, "text_input", "Project title").set_value("nowhere")
    for path in Path(database.removeprefix("sqlite:///")).parent.glob("ui.sqlite3*"):
        path.unlink()
    press(app, SAVE)
    assert "removed or replaced" in shown(app)
    assert "Saved" not in shown(app)


def test_a_kept_document_that_cannot_be_read_shows_why_and_offers_its_revisions(app, database):
    app.run()
    with sqlite3.connect(database.removeprefix("sqlite:///")) as connection:
        connection.execute(
            "update budget_revisions set document = 'schema: compute-budget/1\nfoo: 1\n'"
        )
    text = shown(opened(app, "scope"))
    assert not app.exception
    assert "This project cannot be read" in text
    assert "the key foo is unknown here" in text
