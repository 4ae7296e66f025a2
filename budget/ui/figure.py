"""How a figure looks: the one place that draws a value, range, state and explanation."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from budget.figures import MISSING_PARTS, Figure, State
from budget.messages import Message, msg
from budget.wording import Wording

Colour = Literal["green", "blue", "orange", "violet", "red", "gray"]

STATES: dict[State, tuple[Message, str, Colour]] = {
    State.PLANNED: (msg("planned"), ":material/event:", "gray"),
    State.MEASURED: (msg("measured"), ":material/straighten:", "green"),
    State.QUOTED: (msg("quoted"), ":material/receipt_long:", "green"),
    State.DECLARED: (msg("declared"), ":material/edit_note:", "blue"),
    State.ASSUMED: (msg("assumed"), ":material/rule:", "orange"),
    State.EXAMPLE: (msg("example"), ":material/science:", "violet"),
    State.MISSING: (msg("missing"), ":material/help:", "red"),
    State.NOT_APPLICABLE: (msg("not applicable"), ":material/block:", "gray"),
}
"""Each state by word, icon and colour together: colour alone tells nobody anything."""


def draw(figure: Figure, label: str, words: Wording, *, key: str) -> None:
    """Draw a figure as a tile: label, value, range with counts, state, and its explanation."""
    with st.container(border=True, height="stretch", gap=None):
        st.markdown(f":small[{label}]")
        st.markdown(f"### {value(figure, words)}", anchors=False)
        detail = under(figure, words)
        if detail:
            st.caption(detail)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            badge(figure.state, words)
            explain(figure, label, words, key=key)


def badge(state: State, words: Wording) -> None:
    """Draw a state by icon, word and colour."""
    word, icon, colour = STATES[state]
    st.badge(words.text(word), icon=icon, color=colour)


def value(figure: Figure, words: Wording) -> str:
    """Return the value alone, as a tile or a cell shows it. A missing one says so in words."""
    if figure.state is State.NOT_APPLICABLE:
        return words.text(msg("not applicable"))
    if figure.known:
        text = words.quantity(figure.value, figure.unit)
        return words.text(msg("{amount} example", amount=text)) if _example(figure) else text
    if figure.part is not None and figure.part.known:
        return words.text(msg("{known} + missing", known=value(figure.part, words)))
    return words.text(msg("missing"))


def under(figure: Figure, words: Wording) -> str:
    """Return the line below the value: the range with n and k, or why it is missing."""
    shown = figure if figure.known or figure.part is None else figure.part
    parts = [words.range(shown)]
    parts.append(words.counts(shown))
    why = figure.why if figure.known or figure.part is None else figure.part.why
    if why is not None and figure.state is not State.NOT_APPLICABLE:
        parts.append(_escaped(words.text(shortened(why))))
    return " · ".join(part for part in parts if part)


def cell(figure: Figure, words: Wording) -> str:
    """Return a figure for a table cell: value, range and counts in one line."""
    shown = figure if figure.known or figure.part is None else figure.part
    span, counts = words.range(shown), words.counts(shown)
    return value(figure, words) + (f" ({span})" if span else "") + (f", {counts}" if counts else "")


def shortened(why: Message) -> Message:
    """Return why a sum is missing with at most three causes; its explanation holds them all."""
    causes = why.values.get("parts", ())
    if why.text != MISSING_PARTS or len(causes) <= MOST_CAUSES:
        return why
    rest = msg("{count} more", count=len(causes) - MOST_CAUSES)
    return msg("missing: {parts}", parts=(*causes[:MOST_CAUSES], rest))


def explain(figure: Figure, label: str, words: Wording, *, key: str) -> None:
    """Draw the way to a figure's explanation: formula, inputs, log lines and quotes."""
    with st.popover(
        words.text(msg("why")), icon=":material/account_tree:", type="tertiary", key=key
    ):
        st.markdown(f"**{label}**")
        st.markdown("\n".join(_lines(figure, words, 0)))


def _lines(figure: Figure, words: Wording, depth: int) -> list[str]:
    indent = "    " * depth
    lines = [f"{indent}- {_escaped(words.figure(figure))} ({words.text(STATES[figure.state][0])})"]
    inner = "    " * (depth + 1)
    if figure.formula is not None:
        lines.append(
            f"{inner}- {words.text(msg('formula'))}: {_escaped(words.text(figure.formula))}"
        )
    if figure.why is not None and figure.known:
        lines.append(f"{inner}- {_escaped(words.text(figure.why))}")
    for item in figure.inputs:
        lines.append(f"{inner}- **{_escaped(words.text(item.name))}**")
        lines.extend(_lines(item.figure, words, depth + 2))
    for source in figure.sources[:MOST_SOURCES]:
        lines.append(f"{inner}- {_escaped(words.source(source))}")
    if len(figure.sources) > MOST_SOURCES:
        rest = len(figure.sources) - MOST_SOURCES
        lines.append(f"{inner}- " + words.text(msg("and {count} more lines", count=rest)))
    return lines


MOST_CAUSES = 3
"""A tile is no list: further causes are counted."""
MOST_SOURCES = 12
"""More log lines than this are counted: a popover is no log viewer; ``--json`` lists them all."""


def _example(figure: Figure) -> bool:
    return figure.state is State.EXAMPLE


def _escaped(text: str) -> str:
    """Return text without Markdown effects."""
    for char in "\\`*_[]#|~$<>":
        text = text.replace(char, "\\" + char)
    return text
