"""The page *Blocks*: how to begin, and what each block takes by what was measured."""

from __future__ import annotations

import msgspec
import streamlit as st

from budget import conditions
from budget.attempts import Attempt
from budget.components import COMPONENTS, NAMES
from budget.conditions import Difference
from budget.estimates import Estimate
from budget.figures import Figure, State
from budget.messages import Message, msg
from budget.project import Block
from budget.ui import figure, page, plan_charts
from budget.ui.page import View
from budget.ui.plan_charts import Bar

OPEN_FIRST = 2
"""So many blocks are open at first; the others are a line each until somebody opens them."""
STATUSES: dict[str, tuple[Message, str, figure.Colour]] = {
    "confirmed": (msg("confirmed"), ":material/verified:", "green"),
    "chosen": (msg("chosen"), ":material/groups:", "blue"),
    "undetermined": (msg("undetermined"), ":material/help:", "orange"),
}


def guard(view: View) -> bool:
    """Draw the two ways to begin where the plan is empty; return whether it is."""
    if view.project.blocks:
        return False
    st.subheader(view.t("The plan has no blocks yet"), anchor=False)
    st.markdown(
        view.t(
            "A block is a piece of the work with one condition: the same code, model, sizes and "
            "parameters. There are two ways to begin."
        )
    )
    left, right = st.columns(2)
    with left.container(border=True, height="stretch"):
        st.markdown(view.t("**From a measurement**"))
        st.markdown(
            view.t(
                "Drop the log of a trial on *Measurements*: it knows the machine and the "
                "condition, and proposes the blocks."
            )
        )
        st.page_link(
            "pages/measurements.py",
            label=view.t("Go to Measurements"),
            icon=":material/straighten:",
        )
    with right.container(border=True, height="stretch"):
        st.markdown(view.t("**By hand**"))
        st.markdown(
            view.t(
                "Start with one block and complete it in the tables. Nothing you leave empty is "
                "guessed: it is shown as missing."
            )
        )
        if st.button(
            view.t("Add a first block"),
            type="primary",
            icon=":material/add:",
            key="first-block",
        ):
            block = Block(id="reference")
            view.save(
                msgspec.structs.replace(view.project, blocks=(block,)), view.t("first block added")
            )
    return True


@st.fragment
def estimates(view: View) -> None:
    """Draw the estimate of every block of the saved plan: the first ones open."""
    st.subheader(view.t("What each block takes"), anchor=False)
    st.caption(
        view.t(
            "Hours of the machine, from attempts of the same condition. n counts runs, k sessions."
        )
    )
    for number, block in enumerate(view.project.blocks):
        box = st.expander(
            _line(view, block),
            expanded=number < OPEN_FIRST,
            key=f"block-{view.opened.id}-{block.id}",
            on_change="rerun",
        )
        if box.open:
            with box:
                _block(view, block, key=f"estimate-{number}")


def _line(view: View, block: Block) -> str:
    """Return one block in one line: id, title, what is still to come."""
    item = view.result.estimate(block.id)
    parts = [f"**{page.plain(block.id)}**"]
    if block.title and block.title != block.id:
        parts.append(page.plain(block.title))
    if not item.serving:
        parts.append(f":orange[:material/labs: {view.t('needs its own trial')}]")
    else:
        hours = figure.value(item.remaining_h, view.words)
        shown = (view.words.range(item.remaining_h), view.words.counts(item.remaining_h))
        text = view.t("{hours} to come", hours=hours)
        detail = ", ".join(part for part in shown if part)
        parts.append(f"**{text}**" + (f" ({detail})" if detail else ""))
    return " · ".join(parts)


def _block(view: View, block: Block, *, key: str) -> None:
    item = view.result.estimate(block.id)
    word, icon, colour = STATUSES[block.status]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(view.words.text(word), icon=icon, color=colour)
        if block.protocol_ref:
            st.markdown(f":small[{page.plain(block.protocol_ref)}]", width="content")
    if not item.serving:
        _trial(view, block)
    tiles = (
        (view.t("Still to run"), item.units),
        (view.t("Still to come"), item.remaining_h),
        (view.t("Spent and still to come"), item.total_h),
        (view.t("Retries, apart"), item.contingency_h),
        (view.t("Peak memory"), item.peak_bytes),
    )
    drawn = tiles if item.serving else tiles[:2]
    for number, (column, (label, shown)) in enumerate(
        zip(st.columns(len(drawn)), drawn, strict=True)
    ):
        with column:
            figure.draw(shown, label, view.words, key=f"{key}-{number}")
    _components(view, item, key=key)
    for note in item.notes:
        st.caption(page.plain(view.words.text(note)))


def _components(view: View, item: Estimate, *, key: str) -> None:
    applicable = [
        name
        for name in COMPONENTS
        if item.remaining[name].state is not State.NOT_APPLICABLE
        or (item.spent[name].known and item.spent[name].value)
    ]
    if not item.serving:  # that all of them wait for the trial is said once, above
        applicable = [name for name in applicable if item.remaining[name].known]
    if not applicable:
        return
    left, right = st.columns([2, 3], gap="medium")
    with left:
        if item.serving:
            _chart(view, item, key=key)
    with right, st.container(gap="small"):
        for name in applicable:
            remaining, spent = item.remaining[name], item.spent[name]
            label = view.words.text(NAMES[name])
            text = view.t("to come: {hours}", hours=_counted(view, remaining))
            if spent.known:
                text += " · " + view.t("spent: {hours}", hours=figure.cell(spent, view.words))
            word, icon, colour = figure.STATES[remaining.state]
            badge = f":{colour}-badge[{icon} {view.words.text(word)}]"
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown(f"**{label}** {badge}  \n{text}", width="stretch")
                figure.explain(remaining, label, view.words, key=f"{key}-{name}")


def _counted(view: View, shown: Figure) -> str:
    """Return a figure in one line with its counts; a missing one with what is missing."""
    if not shown.known and shown.state is State.MISSING and shown.part is None:
        return page.plain(view.words.figure(shown))
    return figure.cell(shown, view.words)


def _chart(view: View, item: Estimate, *, key: str) -> None:
    bars = []
    for name in COMPONENTS:
        shown = item.remaining[name]
        if shown.state is State.NOT_APPLICABLE:
            continue
        part = shown if shown.known else shown.part
        hours, low, high = (
            (part.value, part.low, part.high) if part is not None else (None, None, None)
        )
        bars.append(
            Bar(
                name=view.words.text(NAMES[name]),
                hours=None if hours is None else float(hours),
                low_h=None if low is None else float(low),
                high_h=None if high is None else float(high),
                text=figure.value(shown, view.words),
            )
        )
    if not any(bar.hours is not None for bar in bars):
        return
    st.altair_chart(
        plan_charts.components(
            bars,
            axis_h=view.t("hours still to come"),
            axis_min=view.t("minutes still to come"),
            value=view.t("still to come"),
        ),
        alt=plan_charts.described(
            bars, view.t("Hours still to come of {block}, by component", block=item.block)
        ),
        key=f"{key}-chart",
    )


def _trial(view: View, block: Block) -> None:
    """Say that no attempt speaks for a block, which comes nearest, and what differs."""
    near = _nearest(view, block)
    if near is None:
        st.warning(
            view.t("**Needs its own trial.** Nothing is measured yet that comes near it."),
            icon=":material/labs:",
        )
        return
    attempt, differences = near
    where = view.words.source(attempt.source)
    lines = "\n".join(f"- {page.plain(view.words.text(item.text))}" for item in differences)
    st.warning(
        view.t(
            "**Needs its own trial.** The nearest measured attempt is {attempt} ({where}). "
            "It differs in:",
            attempt=page.plain(attempt.id),
            where=page.plain(where),
        )
        + f"\n\n{lines}",
        icon=":material/labs:",
    )


def _nearest(view: View, block: Block) -> tuple[Attempt, tuple[Difference, ...]] | None:
    """Return the successful attempt whose condition comes closest to that of a block."""
    environment = view.project.environment(block.environment)
    found = [
        (attempt, conditions.match(block, environment, attempt, view.project.policy))
        for attempt in view.result.measurements.attempts
        if attempt.outcome == "ok"
    ]
    if not found:
        return None
    attempt, match = min(found, key=lambda pair: conditions.distance(pair[1]))
    return attempt, match.differences
