"""Numbers as people type them: what is read, what is asked back, what is refused."""

from __future__ import annotations

from decimal import Decimal as D

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.messages import Problem
from budget.numerals import read_number, unambiguous
from budget.wording import Wording

WORDS = Wording()


def refused(text: str, unit: str | None = None) -> str:
    """Return the sentence about a refused text."""
    found = read_number(text, "p.yaml:7", unit)
    assert isinstance(found, Problem), f"{text!r} was read as {found}"
    assert found.where == "p.yaml:7"
    return f"{WORDS.text(found.what)}; {WORDS.text(found.do_next)}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.355,90", "1355.90"),
        ("1,355.90", "1355.90"),
        ("7 000", "7000"),
        ("7\u202f000", "7000"),
        ("7\u00a0000", "7000"),
        ("1'000'000,00", "1000000.00"),
        ("1\u2019000\u2019000.5", "1000000.5"),
        ("1_000", "1000"),
        ("0.125", "0.125"),
        ("0,125", "0.125"),
        ("1.5", "1.5"),
        ("1,5", "1.5"),
        ("1.000.000", "1000000"),
        ("1,000,000.25", "1000000.25"),
        ("1000.000", "1000.000"),  # four digits before the point: no thousands
        ("1 000.500", "1000.500"),  # the blank is the thousands mark, so the point is not
        ("-12.5", "-12.5"),
        ("+3", "3"),
        ("  42  ", "42"),
        ("1e3", "1000"),
        ("1,5e3", "1500"),  # 1.5 * 1000
        ("1.250e-2", "0.0125"),
        ("１２", "12"),  # full-width digits
        ("١٢", "12"),  # Arabic-Indic digits
    ],
)
def test_a_number_with_one_reading_is_read(text: str, value: str) -> None:
    assert read_number(text) == D(value)


@pytest.mark.parametrize("text", ["4.711,98 EUR", "4,711.98 eur", "4711.98EUR", "4 711,98 EUR"])
def test_a_currency_behind_the_number_is_allowed(text: str) -> None:
    assert read_number(text, unit="EUR") == D("4711.98")


def test_another_currency_is_not_taken_for_the_asked_one() -> None:
    assert "is not a number" in refused("5 USD", "EUR")
    assert "the field is empty" in refused("EUR", "EUR")


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("1.000", ("1000", "1.0")),
        ("1,000", ("1000", "1.0")),
        ("-2.500", ("-2500", "-2.5")),
        ("12.340", ("12340", "12.34")),
        ("12.345", ("12345", "12.3450")),
        ("999,999", ("999999", "999.9990")),
    ],
)
def test_what_has_two_readings_is_asked_and_both_are_named(
    text: str, readings: tuple[str, str]
) -> None:
    sentence = refused(text)
    assert "is ambiguous" in sentence
    assert f"write {readings[0]} or {readings[1]}" in sentence
    thousands, decimal = map(read_number, readings)  # both answers can be typed as they stand
    assert isinstance(thousands, D)
    assert isinstance(decimal, D)
    assert thousands == decimal * 1000


@pytest.mark.parametrize(
    "text",
    ["12 34", "nan", "NaN", "inf", "-inf", "--1", "1.2.3", "1,2,3", "1.25,00", "1.000.00", "1e",
     "e3", "0x10", "1/2", "1_0", "12__000", "1\n000", "€ 5", "½", "²", "1.355,90e3",
     "true", "1..5", "-"],
)  # fmt: skip
def test_what_is_no_number_is_refused(text: str) -> None:
    assert "is not a number" in refused(text)


@pytest.mark.parametrize("text", ["", " ", "\u202f", "\t"])
def test_an_empty_field_is_not_zero(text: str) -> None:
    assert "the field is empty" in refused(text)


@pytest.mark.parametrize("text", ["9" * 5000, "1e999999999", "1e-400", "1e400"])
def test_a_number_beyond_any_plan_is_refused_in_a_short_sentence(text: str) -> None:
    sentence = refused(text)
    assert "out of any range" in sentence
    assert len(sentence) < 200


def test_an_exponent_that_overflows_the_reader_is_refused() -> None:
    assert "is not a number" in refused("1e" + "9" * 40)


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_a_problem(text: str) -> None:
    found = read_number(text, "here", "EUR")
    assert isinstance(found, Problem) or found.is_finite()


@given(st.text(alphabet="0123456789.,eE+- '", max_size=12))
def test_text_that_looks_like_a_number_never_crashes(text: str) -> None:
    found = read_number(text)
    assert isinstance(found, Problem) or found.is_finite()


@given(st.decimals(min_value=-(10**12), max_value=10**12, places=3))
def test_a_written_decimal_reads_back_as_itself(value: D) -> None:
    assert read_number(unambiguous(format(value, "f"))) == value


@given(st.floats(min_value=1e-20, max_value=1e20))
def test_a_written_float_reads_back_as_itself(value: float) -> None:
    found = read_number(unambiguous(repr(value)))
    assert isinstance(found, D)
    assert float(found) == value
