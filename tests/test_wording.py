"""What people read for numbers, quantities, figures and messages."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal as D
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.figures import Figure, Source, State, missing, not_applicable
from budget.messages import Message, Quantity, msg
from budget.wording import UNITS, Wording

WORDS = Wording()


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (0, "h", "0 h"),
        (41, "h", "41.0 h"),
        (1.25, "h", "1.3 h"),  # half up
        (99.96, "h", "100 h"),
        (1234.4, "h", "1,234 h"),
        (0.5, "h", "30.0 min"),
        (0.99999, "h", "1.0 h"),  # not "60.0 min"
        (0.01, "h", "36.0 s"),  # 0.01 * 3600
        (59.96 / 3600, "h", "1.0 min"),  # not "60.0 s"
        (1e-5, "h", "0.036 s"),  # 1e-5 * 3600
        (1e-9, "h", "0.0000036 s"),
        (-1e-5, "h", "-0.036 s"),
        (-2, "h", "-2.0 h"),
        (7200, "s", "2.0 h"),
        (4.25, "s", "4.3 s"),
        (0, "bytes", "0 B"),
        (1023, "bytes", "1,023 B"),
        (2**20 - 1, "bytes", "1.0 MiB"),  # not "1,024.0 KiB"
        (982.6 * 2**20, "bytes", "982.6 MiB"),
        (85_520_809_984, "bytes", "79.6 GiB"),  # / 2**30 = 79.65, just below
        (0.05, "share", "5.0 %"),
        (0.8, "share", "80 %"),
        (0.0001, "share", "0.01 %"),
        (0, "share", "0.0 %"),
        (D("2.49"), "EUR", "2.49 EUR"),
        (D("1234567.5"), "EUR", "1,234,567.50 EUR"),
        (D("1.005"), "EUR", "1.01 EUR"),
        (D("-3"), "EUR", "-3.00 EUR"),
        (D("0.0004"), "EUR/kwh", "0.0004 EUR per kwh"),
        (D("2.49"), "EUR/machine-hour", "2.49 EUR per machine-hour"),
        (D("1E+30"), "EUR", "1" + ",000" * 10 + ".00 EUR"),
        (1, "gpu", "1 GPU"),
        (8, "gpu", "8 GPUs"),
        (1, "machine", "1 machine"),
        (1, "months", "1 month"),
        (3, "days", "3 days"),
        (0.003, "gpu-hour", "0.003 GPU-h"),
        (12, "count", "12"),
        (3, "sessions", "3 sessions"),
        (None, "h", "missing"),
        (float("nan"), "count", "not a number"),
        (D("Infinity"), "EUR", "not a number EUR"),
        (10**400, "count", ""),  # compared below
    ],
)
def test_a_quantity_reads_as_people_say_it(value: Any, unit: str, said: str) -> None:
    if value == 10**400:
        assert WORDS.quantity(value, unit).replace(",", "") == str(value)
    else:
        assert WORDS.quantity(value, unit) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0, "0"), (7, "7"), (7.0, "7"), (2.5, "2.50"), (12.34, "12.3"), (123.4, "123"),
        (1234567, "1,234,567"), (-1234567.8, "-1,234,568"), (0.05, "0.05"), (0.01234, "0.0123"),
        (D("0.00000001"), "0.00000001"), (-0.0, "0"), (D("123456789.5"), "123,456,790"),
    ],
)  # fmt: skip
def test_a_number_has_three_digits_that_count_and_thousands(value: Any, said: str) -> None:
    assert WORDS.number(value) == said


@given(
    st.floats(min_value=1e-12, max_value=1e12), st.sampled_from(["h", "s", "share", "EUR", *UNITS])
)
def test_a_value_that_is_not_zero_never_reads_as_zero(value: float, unit: str) -> None:
    assert any(digit in WORDS.quantity(value, unit) for digit in "123456789")


@given(
    st.decimals(allow_nan=False) | st.just(D("NaN")), st.sampled_from(["h", "bytes", "EUR", "x"])
)
def test_no_number_crashes_the_wording(value: D, unit: str) -> None:
    assert WORDS.quantity(value, unit)


def test_lists_are_joined_as_people_join_them() -> None:
    assert WORDS.text(()) == ""
    assert WORDS.text(("a",)) == "a"
    assert WORDS.text(("a", "b")) == "a and b"
    assert WORDS.text(("a", msg("b {n}", n=2), "c")) == "a, b 2 and c"
    assert WORDS.text({"ratio": "0.3", "seed": 0}) == "ratio = 0.3 and seed = 0"


def test_messages_nest_and_hold_any_value() -> None:
    inner = msg("{held} by {day}", held=Quantity(2, "gpu"), day=date(2027, 1, 11))
    assert WORDS.text(msg("ask for {what}: {sure}", what=inner, sure=True)) == (
        "ask for 2 GPUs by 2027-01-11: yes"
    )
    assert WORDS.text(msg("{a} {b} {c}", a=None, b=False, c=1.5)) == "not stated no 1.50"
    assert WORDS.text(datetime(2027, 1, 11, 9, 5, tzinfo=UTC)) == "2027-01-11 09:05 UTC"
    assert WORDS.text(12345) == "12345"  # a line or an id, not an amount


def test_braces_in_what_a_person_typed_are_only_text() -> None:
    assert WORDS.text(msg("{reason}", reason="{x}")) == "{x}"
    assert WORDS.text(msg("{a} {b}", a="{b}", b="{0.__class__} {{}}")) == "{b} {0.__class__} {{}}"


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (msg("a { b } {} {x} {0}"), "a { b } {} {x} {0}"),
        (msg("write {{key: value}}"), "write {key: value}"),
        (msg("write {{{key}: value}}", key="k"), "write {k: value}"),
        (msg("{here} and {gone}", here="a"), "a and {gone}"),
        (msg("{", x="a"), "{"),
    ],
)
def test_braces_in_a_text_never_crash(message: Message, said: str) -> None:
    assert WORDS.text(message) == said


@given(st.text(), st.dictionaries(st.sampled_from(["a", "b"]), st.text()))
def test_any_text_with_any_values_is_shown(text: str, values: dict[str, str]) -> None:
    assert isinstance(WORDS.text(Message(text, values)), str)


def test_a_translation_is_filled_with_the_same_values() -> None:
    german = Wording({"{n} of {m}": "{m}, davon {n}", "missing": "fehlt"}.get, "de")  # type: ignore[arg-type]
    assert german.text(msg("{n} of {m}", n=1, m=2)) == "2, davon 1"
    assert german.quantity(None, "h") == "fehlt"
    assert german.number(1234.56, 2) == "1.234,56"


def test_a_figure_reads_with_its_range_and_counts() -> None:
    figure = Figure(value=41.0, low=38.0, high=120.0, unit="h", state=State.MEASURED, n=6, k=3)
    assert WORDS.figure(figure) == "41.0 h (38.0 h to 120 h), n = 6, k = 3"
    once = Figure(value=0.5, unit="h", state=State.MEASURED, n=1, k=1)
    assert WORDS.figure(once) == "30.0 min, n = 1, k = 1"
    assert WORDS.range(once) == ""


def test_a_missing_figure_says_why_and_never_reads_as_a_number() -> None:
    why = msg("no trial yet")
    assert WORDS.figure(missing("h", why)) == "missing: no trial yet"
    assert WORDS.figure(not_applicable("h", why)) == "not applicable"
    nothing = Figure(value=0.0, unit="h", state=State.MEASURED, why=msg("without: run"))
    assert WORDS.figure(missing("h", why, nothing)) == "missing: no trial yet"
    some = Figure(value=41.0, unit="h", state=State.MEASURED, why=msg("without: run"))
    assert WORDS.figure(missing("h", why, some)) == "41.0 h (without: run)"


def test_a_source_reads_as_the_place_to_look_up() -> None:
    assert WORDS.source(Source("log", "a.jsonl", line=12)) == "log a.jsonl:12"
    quote = Source("quote", "q1", on="2026-11-28", by="N. N.")
    assert WORDS.source(quote) == "quote q1 (N. N., 2026-11-28)"
