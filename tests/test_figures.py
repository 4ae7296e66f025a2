"""Arithmetic of figures: states only get worse, and what is missing stays missing."""

from __future__ import annotations

from decimal import Decimal as D
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.figures import (
    ORDER,
    Figure,
    Input,
    Source,
    State,
    exact,
    missing,
    not_applicable,
    product,
    total,
    worst,
)
from budget.messages import msg
from budget.wording import Wording

WORDS = Wording()
SUM = msg("sum of the parts")
TIMES = msg("quantity times rate")


def named(name: str, figure: Figure) -> Input:
    return Input(msg(name), figure)


def measured(low: float | None, value: float, high: float | None, **more: Any) -> Figure:
    return Figure(low=low, value=value, high=high, unit="h", state=State.MEASURED, **more)


def hours(value: float, state: State = State.PLANNED) -> Figure:
    return exact(value, "h", state)


LOAD = named("load", measured(1.0, 2.0, 4.0, n=4, k=2))
RUN = named("run", measured(10.0, 20.0, 35.0, n=6, k=3))
ONCE = named("prepare", measured(None, 3.0, None, n=1, k=1))
LACK = named("wait", missing("h", msg("nobody has said")))
NONE = named("retry", not_applicable("h", msg("none is expected")))


def test_states_stand_from_best_to_worst_as_the_design_lists_them() -> None:
    assert [str(state) for state in ORDER] == [
        "planned", "measured", "quoted", "declared", "assumed", "example", "missing",
    ]  # fmt: skip


def test_the_worst_state_wins_and_not_applicable_does_not_count() -> None:
    assert worst([State.MEASURED, State.DECLARED, State.QUOTED]) is State.DECLARED
    assert worst([State.NOT_APPLICABLE, State.MEASURED]) is State.MEASURED
    assert worst([]) is State.PLANNED
    assert worst([State.NOT_APPLICABLE]) is State.PLANNED


def test_ranges_are_added_end_to_end() -> None:
    result = total([LOAD, RUN], "h", SUM)
    # low 1 + 10, value 2 + 20, high 4 + 35
    assert (result.low, result.value, result.high) == (11.0, 22.0, 39.0)
    assert result.state is State.MEASURED
    assert (result.n, result.k) == (4, 2)  # the fewest behind any part
    assert result.inputs == (LOAD, RUN)
    assert result.formula == SUM


def test_an_exact_part_moves_the_range_without_widening_it() -> None:
    result = total([LOAD, named("wait", hours(5.0, State.DECLARED))], "h", SUM)
    assert (result.low, result.value, result.high) == (6.0, 7.0, 9.0)  # 1 + 5, 2 + 5, 4 + 5
    assert result.state is State.DECLARED


def test_a_part_measured_once_leaves_the_sum_a_point_and_says_which_part() -> None:
    result = total([LOAD, ONCE], "h", SUM)
    assert (result.low, result.value, result.high) == (None, 5.0, None)  # 2 + 3
    assert not result.ranged
    assert WORDS.text(result.why) == "no range, because these have none: prepare"
    assert result.upper == 5.0


def test_a_missing_part_leaves_the_sum_missing_and_the_known_part_beside_it() -> None:
    result = total([LOAD, LACK, RUN], "h", SUM)
    assert result.value is None
    assert result.state is State.MISSING
    assert WORDS.text(result.why) == "missing: wait (nobody has said)"
    assert result.part is not None
    assert (result.part.low, result.part.value, result.part.high) == (11.0, 22.0, 39.0)
    assert result.part.state is State.MEASURED
    assert WORDS.text(result.part.why) == "without: wait (nobody has said)"


def test_parts_that_lack_the_same_thing_share_one_reason() -> None:
    why = msg("no trial yet")
    parts = [named(name, missing("h", why)) for name in ("load", "run", "unattributed")]
    result = total([*parts, LACK], "h", SUM)
    assert WORDS.text(result.why) == (
        "missing: load, run and unattributed (no trial yet) and wait (nobody has said)"
    )


def test_a_missing_sum_inside_a_sum_says_missing_once() -> None:
    inner = total([LOAD, LACK], "h", SUM)
    outer = total([named("reference", inner), RUN], "h", SUM)
    # the root cause alone: what lies between stands in the explanation of the figure
    assert WORDS.text(outer.why) == "missing: wait (nobody has said)"
    assert outer.part is not None
    assert outer.part.value == 22.0  # 2 known of the inner sum + 20
    assert WORDS.figure(missing("h", msg("no trial yet"))) == "missing: no trial yet"
    assert WORDS.figure(total([LACK], "h", SUM)) == "missing: wait (nobody has said)"


def test_only_missing_parts_leave_no_known_part() -> None:
    assert total([LACK, LACK], "h", SUM).part is None


def test_what_does_not_apply_is_skipped() -> None:
    assert total([LOAD, NONE], "h", SUM) == total([LOAD], "h", SUM)
    nothing = total([NONE, NONE], "h", SUM)
    assert nothing.state is State.NOT_APPLICABLE
    assert nothing.value is None
    assert WORDS.text(nothing.why) == "none is expected"


def test_units_are_never_mixed() -> None:
    euros = exact(D("1"), "EUR", State.QUOTED)
    with pytest.raises(ValueError, match="cannot add EUR to h"):
        total([LOAD, named("price", euros)], "h", SUM)
    with pytest.raises(ValueError, match="cannot add EUR to h"):
        total([LOAD, named("price", missing("EUR", msg("part"), euros))], "h", SUM)


def test_a_product_multiplies_the_ends_and_takes_the_worse_state() -> None:
    rate = named("rate", exact(D("2.50"), "EUR/h", State.EXAMPLE, Source("quote", "q1")))
    result = product(LOAD, rate, "EUR", TIMES)
    # 1 * 2.50, 2 * 2.50, 4 * 2.50
    assert (result.low, result.value, result.high) == (D("2.50"), D("5.00"), D("10.00"))
    assert isinstance(result.value, D)
    assert result.state is State.EXAMPLE
    assert (result.unit, result.n, result.k) == ("EUR", 4, 2)
    assert result.inputs == (LOAD, rate)


def test_a_product_with_a_point_is_a_point_with_the_points_reason() -> None:
    point = named("once", measured(None, 3.0, None, why=msg("measured once")))
    noted = named("runs", exact(4, "runs", State.PLANNED, why=msg("a note beside the plan")))
    for pair in ((point, noted), (noted, point)):
        result = product(*pair, "h", TIMES)
        assert (result.low, result.value, result.high) == (None, 12.0, None)  # 3 * 4
        assert WORDS.text(result.why) == "measured once"


def test_a_product_with_something_missing_is_missing() -> None:
    rate = named("rate", missing("EUR/h", msg("no quote")))
    result = product(LOAD, rate, "EUR", TIMES)
    assert (result.value, result.state, result.part) == (None, State.MISSING, None)
    assert WORDS.text(result.why) == "missing: rate (no quote)"


def test_the_known_part_of_a_factor_gives_the_known_part_of_the_product() -> None:
    rate = named("rate", exact(D("2.50"), "EUR/h", State.QUOTED))
    partly = named("hours", total([LOAD, LACK], "h", SUM))
    for pair in ((partly, rate), (rate, partly)):
        result = product(*pair, "EUR", TIMES)
        assert result.value is None
        assert result.part is not None
        assert result.part.value == D("5.00")  # 2 * 2.50
        assert WORDS.text(result.part.why) == "without: wait (nobody has said)"


def test_a_product_with_what_does_not_apply_does_not_apply() -> None:
    assert product(NONE, LACK, "EUR", TIMES).state is State.NOT_APPLICABLE


def test_decimals_stay_exact_beside_floats_and_whole_numbers() -> None:
    parts = [
        named("a", exact(D("0.10"), "EUR", State.QUOTED)),
        named("b", exact(0.2, "EUR", State.DECLARED)),
        named("c", exact(3, "EUR", State.DECLARED)),
    ]
    result = total(parts, "EUR", SUM)
    assert result.value == D("3.30")  # 0.10 + 0.2 + 3, not 3.3000000000000002664…
    assert isinstance(result.value, D)


STATES = st.sampled_from([state for state in ORDER if state is not State.MISSING])
NUMBERS = st.floats(min_value=0, max_value=1e9)


@st.composite
def figures(draw: st.DrawFn) -> Figure:
    kind = draw(st.sampled_from(["exact", "range", "point", "missing", "none"]))
    if kind == "missing":
        part = draw(st.none() | NUMBERS.map(lambda value: exact(value, "h", State.MEASURED)))
        return missing("h", msg("unknown"), part)
    if kind == "none":
        return not_applicable("h", msg("no"))
    low, value, high = sorted(draw(st.tuples(NUMBERS, NUMBERS, NUMBERS)))
    if kind == "exact":
        low = high = value
    ends = (None, None) if kind == "point" else (low, high)
    return Figure(low=ends[0], value=value, high=ends[1], unit="h", state=draw(STATES))


INPUTS = st.lists(figures().map(lambda figure: named("part", figure)), min_size=1, max_size=5)


def check_result(result: Figure, inputs: list[Input]) -> None:
    applicable = [i.figure for i in inputs if i.figure.state is not State.NOT_APPLICABLE]
    if result.state is not State.NOT_APPLICABLE:
        assert ORDER.index(result.state) >= max(ORDER.index(item.state) for item in applicable)
    if any(item.state is State.MISSING for item in applicable):
        assert not result.known
    assert result.known == (result.state not in (State.MISSING, State.NOT_APPLICABLE))
    if not result.known:
        assert result.why is not None
        assert (result.low, result.high) == (None, None)
    if result.ranged:
        assert result.low <= result.value <= result.high  # type: ignore[operator]


@given(INPUTS)
def test_no_sum_improves_a_state_or_fills_a_gap(inputs: list[Input]) -> None:
    result = total(inputs, "h", SUM)
    check_result(result, inputs)
    if result.known:
        assert result.value == sum(i.figure.value for i in inputs if i.figure.value is not None)
    if result.part is not None:
        assert result.part.known
        assert result.part.why is not None


@given(figures(), figures())
def test_no_product_improves_a_state_or_fills_a_gap(a: Figure, b: Figure) -> None:
    inputs = [named("a", a), named("b", b)]
    result = product(*inputs, "h", TIMES)
    if State.NOT_APPLICABLE in (a.state, b.state):
        assert result.state is State.NOT_APPLICABLE
    else:
        check_result(result, inputs)
