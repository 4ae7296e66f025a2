"""Figures: a value with its unit, range, state and provenance, and arithmetic that keeps them.

A figure is *exact* when ``low == value == high`` (a plan, a quote, a declaration), a *point* when
it has a value and no range (measured once), and *missing* when it has no value: then ``why`` says
what is lacking. Arithmetic never turns a missing value into a number; what is known of a sum with
missing parts stands in ``part``.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TypeAlias

import msgspec

from budget.messages import Message, msg

Number: TypeAlias = float | int | Decimal


class State(enum.StrEnum):
    """How well a value is known. The order of the members is from best to worst.

    ``planned`` (runs, sessions, dates) stands first because decisions of the plan do not degrade
    a figure; ``not-applicable`` is outside the order and is skipped by arithmetic.
    """

    PLANNED = "planned"
    MEASURED = "measured"
    QUOTED = "quoted"
    DECLARED = "declared"
    ASSUMED = "assumed"
    EXAMPLE = "example"
    MISSING = "missing"
    NOT_APPLICABLE = "not-applicable"


ORDER: tuple[State, ...] = tuple(state for state in State if state is not State.NOT_APPLICABLE)
"""The states that a result can inherit, best first."""


def worst(states: Iterable[State]) -> State:
    """Return the worst of ``states``; ``planned`` when there is none."""
    ranked = [state for state in states if state is not State.NOT_APPLICABLE]
    return max(ranked, key=ORDER.index, default=State.PLANNED)


class Source(msgspec.Struct, frozen=True):
    """Where a value comes from, at the very bottom: a log line, a quote, a person, the policy."""

    kind: str
    """``log``, ``quote``, ``declared``, ``plan`` or ``policy``."""
    name: str
    """File name, quote id, path in the project document or name of a threshold."""
    line: int | None = None
    on: str | None = None
    by: str | None = None


class Input(msgspec.Struct, frozen=True):
    """One named figure that another was computed from."""

    name: Message
    figure: Figure


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One value as a person may defend it. ``low``, ``value`` and ``high`` share ``unit``."""

    value: Number | None
    unit: str
    state: State
    low: Number | None = None
    high: Number | None = None
    n: int | None = None
    """Units (attempts or calls) behind the value, where it rests on measurements."""
    k: int | None = None
    """Sessions those units come from."""
    why: Message | None = None
    """Why there is no value, or no range, or what a reader must know beside it."""
    formula: Message | None = None
    inputs: tuple[Input, ...] = ()
    sources: tuple[Source, ...] = ()
    part: Figure | None = None
    """The known part of a sum that misses other parts; its ``why`` names what it covers."""

    @property
    def known(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    @property
    def ranged(self) -> bool:
        """Whether there is a value with a range (an exact value has the range of one point)."""
        return self.value is not None and self.low is not None and self.high is not None

    @property
    def upper(self) -> Number | None:
        """The upper end of the range, or the value where there is no range."""
        return self.high if self.high is not None else self.value


def exact(
    value: Number,
    unit: str,
    state: State,
    *sources: Source,
    why: Message | None = None,
) -> Figure:
    """Return a value without uncertainty of its own: planned, quoted, declared or assumed."""
    return Figure(
        value=value, low=value, high=value, unit=unit, state=state, sources=sources, why=why
    )


def missing(unit: str, why: Message, part: Figure | None = None) -> Figure:
    """Return a figure without a value; ``why`` says what is missing and what to do."""
    return Figure(value=None, unit=unit, state=State.MISSING, why=why, part=part)


def not_applicable(unit: str, why: Message) -> Figure:
    """Return a figure for a question that does not arise (GPU-hours of a host without GPUs)."""
    return Figure(value=None, unit=unit, state=State.NOT_APPLICABLE, why=why)


def total(inputs: Sequence[Input], unit: str, formula: Message) -> Figure:
    """Add figures of one unit.

    Ranges are added end to end: the low ends and the high ends. That covers the case that all
    parts are off in the same direction, so the range is on the safe side. A part without a range
    leaves the sum without one. A missing part leaves the sum missing; ``part`` then holds the sum
    of the others. Parts that do not apply are skipped.

    Raises ``ValueError`` when a known part has another unit.
    """
    applicable = [item for item in inputs if item.figure.state is not State.NOT_APPLICABLE]
    if inputs and not applicable:
        return not_applicable(unit, inputs[0].figure.why or msg("does not apply"))
    for item in applicable:
        counted = item.figure if item.figure.known else item.figure.part
        if counted is not None and counted.unit != unit:
            raise ValueError(f"cannot add {counted.unit} to {unit}")
    known = [item for item in applicable if item.figure.known]
    lacking = [item for item in applicable if not item.figure.known]
    covered = _sum_known(known, unit, formula)
    if not lacking:
        return covered
    reasons = _reasons(lacking)
    why = _missing_parts(reasons)
    # A part that is itself a partial sum still contributes what it knows.
    partial = known + [
        Input(item.name, item.figure.part) for item in lacking if item.figure.part is not None
    ]
    part = None
    # A credit without what it is taken from says nothing (a resale without the purchase).
    credit = any(item.figure.value is not None and item.figure.value < 0 for item in partial)
    if partial and not credit:
        part = msgspec.structs.replace(
            _sum_known(partial, unit, formula),
            why=msg("without: {parts}", parts=reasons),
        )
    return msgspec.structs.replace(
        missing(unit, why, part), formula=formula, inputs=tuple(applicable)
    )


def product(a: Input, b: Input, unit: str, formula: Message) -> Figure:
    """Multiply two figures that are not negative; missing or not applicable when one is.

    The range is low times low to high times high.
    """
    for item in (a, b):
        if item.figure.state is State.NOT_APPLICABLE:
            return not_applicable(unit, item.figure.why or msg("does not apply"))
    lacking = [item for item in (a, b) if not item.figure.known]
    if lacking:
        part = None
        if len(lacking) == 1 and lacking[0].figure.part is not None:
            other = b if lacking[0] is a else a
            part = msgspec.structs.replace(
                product(Input(lacking[0].name, lacking[0].figure.part), other, unit, formula),
                why=lacking[0].figure.part.why,
            )
        why = _missing_parts(_reasons(lacking))
        return msgspec.structs.replace(missing(unit, why, part), formula=formula, inputs=(a, b))
    x, y = a.figure, b.figure
    has_range = x.ranged and y.ranged
    return Figure(
        value=_times(x.value, y.value),
        low=_times(x.low, y.low) if has_range else None,
        high=_times(x.high, y.high) if has_range else None,
        unit=unit,
        state=worst((x.state, y.state)),
        n=_least(x.n, y.n),
        k=_least(x.k, y.k),
        why=next((item.why for item in (x, y) if not item.ranged), None),
        formula=formula,
        inputs=(a, b),
    )


def _sum_known(known: Sequence[Input], unit: str, formula: Message) -> Figure:
    figures = [item.figure for item in known]
    has_range = all(figure.ranged for figure in figures)
    unranged = tuple(item.name for item in known if not item.figure.ranged)
    return Figure(
        value=_plus(figure.value for figure in figures),
        low=_plus(figure.low for figure in figures) if has_range else None,
        high=_plus(figure.high for figure in figures) if has_range else None,
        unit=unit,
        state=worst(figure.state for figure in figures),
        n=_least(*(figure.n for figure in figures)),
        k=_least(*(figure.k for figure in figures)),
        why=None
        if has_range
        else msg("no range, because these have none: {parts}", parts=unranged),
        formula=formula,
        inputs=tuple(known),
    )


def _missing_parts(reasons: tuple[Message, ...]) -> Message:
    return msg("missing: {parts}", parts=reasons)


MISSING_PARTS = _missing_parts(()).text
"""The text of a sum's or product's ``why`` when parts of it are missing."""


def _reasons(lacking: Sequence[Input]) -> tuple[Message, ...]:
    """Return the root causes of missing parts, each once.

    A cause that names what it is about stands alone; a general one ("nobody has said") is put
    behind the names of the parts that lack it. What lies between a sum and a cause is left out:
    the explanation of the figure shows it.
    """
    causes: dict[Message, list[Message]] = {}
    for item in lacking:
        why = item.figure.why
        if why is None:
            causes.setdefault(item.name, [])
        elif why.text == MISSING_PARTS:
            for cause in why.values["parts"]:
                causes.setdefault(cause, [])
        else:
            causes.setdefault(why, [])
            if not why.values:
                causes[why].append(item.name)
    return tuple(
        msg("{name} ({why})", name=names[0] if len(names) == 1 else tuple(names), why=cause)
        if names
        else cause
        for cause, names in causes.items()
    )


def _least(*counts: int | None) -> int | None:
    given = [count for count in counts if count is not None]
    return min(given, default=None)


def _plus(values: Iterable[Number | None]) -> Number:
    given = [value for value in values if value is not None]
    if any(isinstance(value, Decimal) for value in given):
        return sum((_decimal(value) for value in given), Decimal(0))
    return sum(given)


def _times(a: Number | None, b: Number | None) -> Number:
    assert a is not None  # callers have checked that both are known
    assert b is not None
    if isinstance(a, Decimal) or isinstance(b, Decimal):
        return _decimal(a) * _decimal(b)
    return a * b


def _decimal(value: Number) -> Decimal:
    if isinstance(value, (Decimal, int)):
        return Decimal(value)
    return Decimal(repr(float(value)))  # what people read of a float, not its binary digits
