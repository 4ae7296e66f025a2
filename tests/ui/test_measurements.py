"""The page Measurements: what was read, what it serves, and a person's word on it."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
from screen import field, opened, own, press, project, shown

from budget import workflow
from budget.joining import combine
from budget.store import open_store
from budget.ui import chart_parts, measured_charts, measured_timeline, page, sample, timeline

LOG = next(iter(sample.logs()))
LINES = LOG.read_text().splitlines(keepends=True)
FAILED = "6cb1dd872d99"
SERVING = "c8f622537973"


def dropped(app, data, name="trial.jsonl"):
    """The page of a fresh project after dropping a log."""
    own(app, "measurements")
    app.file_uploader[0].upload(name, data).run()
    assert not app.exception
    return app


def picked(app, attempt):
    """The page of the sample with one row of the table of attempts picked."""
    app.run()
    app.session_state[page.PICKED] = attempt
    return opened(app, "measurements")


def chart(app):
    found = app.get("vega_lite_chart")
    assert len(found) == 1, "only the chart on the screen is built"
    return found[0].proto


def said(app, tab):
    """What the chart of a tab says to those who do not see it."""
    app.session_state[measured_charts.TABS] = tab
    app.run()
    assert not app.exception
    return chart(app).alt


def removable(app, label):
    return [item for item in app.button if item.label == label]


def test_an_empty_project_shows_how_to_measure_and_nothing_else(app):
    text = shown(own(app, "measurements"))
    assert not app.exception
    assert "How to measure" in text
    assert "python3 probe.pyz run" in text
    assert "python3 probe.pyz wait decision" in text
    assert "python3 probe.pyz watch --detach" in text
    assert "python3 probe.pyz end" in text
    assert not app.get("vega_lite_chart")
    assert "Sessions" not in text


def test_the_sample_shows_sessions_attempts_and_the_file(app):
    text = shown(opened(app, "measurements"))
    assert not app.exception
    assert "**4.8 min** reserved = **4.4 min** attempts + **20.1 s** wait for decision" in text
    assert "unexplained" in text
    assert "Counts as one session of its own." in text
    assert "induced failure: the next run gets a memory limit" in text
    assert LOG.name in text
    table = app.dataframe[-1].value
    assert len(table) == 33  # 17 of the first session, 16 of the second
    assert list(table["serves"])[:5] == ["reference"] * 4 + ["comparison-0.7"]
    assert list(table["prepare"])[:2] == ["0.6 s", "not recorded"]


def test_the_timeline_marks_a_failure_by_a_frame_and_the_word(app):
    alt = chart(opened(app, "measurements")).alt
    assert "4.8 min reserved; " in alt
    assert "attempt failed" in alt


def test_peaks_stand_against_the_memory_of_the_host_and_name_their_layer(app):
    opened(app, "measurements")
    alt = said(app, "Peak memory")
    assert "extension-full, 1.2 GiB, n = 4, k = 2 of 23.5 GiB (5.2 %)" in alt
    assert "Measured by the layer parent." in shown(app)


def test_durations_carry_range_and_counts(app):
    opened(app, "measurements")
    alt = said(app, "Duration per condition")
    assert "per attempt: 5.4 s (0 s to 11.0 s), n = 8, k = 2" in alt
    assert "Not measured: extension-4096" in shown(app)


def test_a_dropped_log_says_what_was_read_and_proposes_a_plan(app, database):
    app = dropped(app, LOG.read_bytes())
    text = shown(app)
    assert "17 attempts read" in text
    assert "Propose environment and blocks from these logs" in text
    assert "**1 environment**" in text
    assert "**7 blocks**" in text
    press(app, "Add to the plan")
    saved = project(database, app.session_state[page.PROJECT])
    assert len(saved.blocks) == 7
    assert "Propose environment" not in shown(app)
    assert "Saved" in app.toast[0].value


def test_excluding_an_attempt_changes_the_figure_and_undo_restores_it(app, database):
    picked(app, SERVING)
    assert "n = 8, k = 2" in said(app, "Duration per condition")
    field(app, "text_input", "Reason, kept and shown").set_value("the disk was busy")
    press(app, "Exclude")
    assert "reference, 3" not in chart(app).alt
    assert "n = 7, k = 2" in chart(app).alt
    assert "A person excluded it: the disk was busy" in shown(app)
    assert project(database).attempts[SERVING].reason == "the disk was busy"
    assert next(iter(app.dataframe[-1].value["serves"])) == "excluded"
    press(app, "Undo")
    assert "n = 8, k = 2" in chart(app).alt
    assert not project(database).attempts


def test_an_attempt_is_assigned_only_with_a_reason(app, database):
    picked(app, SERVING)
    press(app, "Assign to this block")
    assert "Say why" in shown(app)
    assert not project(database).attempts
    field(app, "selectbox", "Block").set_value("verification")
    field(app, "text_input", "Reason, kept and shown").set_value("same prompts")
    press(app, "Assign to this block")
    assert "assigned it to **verification**: same prompts" in shown(app)
    assert "It has the condition of reference." in shown(app)
    assert project(database).attempts[SERVING].block == "verification"


def test_a_failed_attempt_quotes_its_error_and_line(app):
    text = shown(picked(app, FAILED))
    assert not app.exception
    assert "can't allocate memory" in text
    assert f"{LOG.name}:202" in text


def test_an_attempt_that_serves_nothing_shows_every_field_in_the_way(app, database):
    app.run()
    with open_store(database) as store:
        now = workflow.open_project(store, sample.ID)
        text = now.revision.document.replace("input_tokens: 512", "input_tokens: 600", 1)
        store.save(sample.ID, text, 1, "other", page.now(), "changed")
    shown_text = shown(picked(app, SERVING))
    assert not app.exception
    assert "The nearest block is reference" in shown_text
    assert "600" in shown_text
    assert "serves nothing" in said(app, "Peak memory")


def test_a_removed_file_counts_no_longer_until_it_is_restored(app):
    opened(app, "measurements")
    removable(app, "Remove")[0].click().run()
    assert not app.exception
    assert "it counts no longer" in shown(app)
    assert len(app.dataframe[-1].value) == 16
    removable(app, "Remove")[0].click().run()
    assert "How to measure" in shown(app)
    for left in (1, 0):
        removable(app, "Restore")[left].click().run()
        assert not app.exception
    assert "How to measure" not in shown(app)
    assert len(app.dataframe[-1].value) == 33


@pytest.mark.parametrize(
    ("damage", "line"),
    [(lambda lines: [*lines[:5], "{broken\n", *lines[5:]], 6), (lambda lines: lines[:-1], None)],
)
def test_a_damaged_log_shows_its_lines_and_keeps_the_rest(app, damage, line):
    app = dropped(app, "".join(damage(LINES)).encode())
    assert "17 attempts read" in shown(app)
    if line:
        where = list(app.dataframe[0].value["where"])
        assert f"trial.jsonl:{line}" in where
    else:
        assert "open: a lower bound" in shown(app)
        assert "at least **4" in shown(app)


def test_a_file_that_is_no_log_is_refused_in_words(app):
    app = dropped(app, b"")
    assert "How to measure" in shown(app)
    assert "it was not kept" in shown(app)


def test_the_parts_of_a_session_cover_its_reserved_time_without_overlap():
    log = combine(workflow.read_logs([(LOG.name, LOG.read_bytes())]))
    session = log.sessions[0]
    parts = timeline.intervals(session, log.attempts)
    assert {part.kind for part in parts} == set(timeline.KINDS) - {"idle"}  # no card was sampled
    length_s = sum(part.end_s - part.start_s for part in parts)
    assert length_s == pytest.approx(session.reserved_s, rel=0.001)
    for before, after in pairwise(parts):
        assert after.start_s >= before.end_s - 0.001


def test_neighbouring_failures_share_one_word():
    view = SimpleNamespace(
        t=lambda text, **values: text.format(**values),
        words=SimpleNamespace(text=lambda message: message.text),
    )
    log = combine(workflow.read_logs([(LOG.name, LOG.read_bytes())]))
    failed = next(item for item in log.attempts if item.id == FAILED)
    parts = [
        timeline.Interval(kind="run", start_s=start, end_s=start + 1, attempt=attempt)
        for start, attempt in ((1, failed), (95, failed))
    ]
    flags = measured_timeline._flags(view, "lane", parts, 60, 100)
    assert [flag.word for flag in flags] == ["failed"]


def test_every_kind_has_a_colour_in_both_themes():
    assert set(chart_parts.LIGHT) == set(chart_parts.DARK) == set(timeline.KINDS)
