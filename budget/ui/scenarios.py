"""The page *Scenarios*: every way to get the machine, what it costs and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from budget.costs import CostLine, Scenario
from budget.figures import Figure
from budget.messages import msg
from budget.scenarios import break_even_rates, comparison, questions_to_provider
from budget.ui import decision, figure, money_charts, needs, page
from budget.ui.money_charts import Bar
from budget.ui.page import View


def guard(view: View) -> bool:
    """Draw the way to a first scenario where the plan has no block; return whether that is all."""
    if view.project.blocks:
        return False
    st.subheader(view.t("No scenario yet"), anchor=False)
    st.markdown(
        view.t(
            "A scenario is one way to get the machine: block by block, for the whole campaign, "
            "your own, or bought. It needs blocks of work, a measured trial of each for the hours, "
            "and a verified quote for an amount."
        )
    )
    with st.container(horizontal=True):
        for name in ("blocks", "measurements", "quotes"):
            title, icon = page.PAGES[name]
            st.page_link(f"pages/{name}.py", label=view.words.text(title), icon=icon)
    return True


def overview(view: View) -> None:
    """Draw what cap and deadline say, and the scenarios side by side as bars."""
    for check in view.result.decision.checks:
        word, icon, colour = decision.OUTCOMES[check.outcome]
        line = (
            f":{colour}-badge[{icon} {view.t(check.name)}: {view.words.text(word)}] "
            f"{page.plain(view.words.text(check.because))}"
        )
        if check.do_next is not None and check.outcome != "pass":
            line += f"  \n:material/arrow_forward: {page.plain(view.words.text(check.do_next))}"
        st.markdown(line)
    _chart(view)


def cards(view: View) -> None:
    """Draw a card per scenario: hours, total, lines, what it leaves out and what it needs."""
    for item in view.result.scenarios:
        with st.container(border=True, key=f"scenario-{item.kind}"):
            st.subheader(page.plain(view.words.text(item.title)), anchor=False)
            _tiles(view, item)
            _lines(view, item)
            if item.remarks:
                st.markdown(
                    "\n".join(f"- {page.plain(view.words.text(text))}" for text in item.remarks)
                )
            needs.draw(view, item.needs, key=f"need-{item.kind}")


def side_by_side(view: View) -> None:
    """Draw renting beside owning, or what is missing for that, and the rates between them."""
    project, estimates, found = view.project, view.result.estimates, view.result.scenarios
    beside = comparison(found)
    st.subheader(view.t("Renting or owning"), anchor=False)
    for text in beside.statements:
        st.markdown(f"- {page.plain(view.words.text(text))}")
    if not beside.possible:
        st.markdown(view.t("No comparison yet. It lacks:"))
        needs.draw(view, beside.needs, key="need-comparison")
    rates = break_even_rates(project, estimates, found)
    if rates.rates:
        st.markdown(view.t("**Renting wins below this rate**"))
        for number, (column, item) in enumerate(
            zip(st.columns(max(3, len(rates.rates))), rates.rates, strict=False)
        ):
            with column:
                label = page.plain(view.words.text(item.name))
                figure.draw(item.figure, label, view.words, key=f"rate-{number}")
    elif beside.possible:
        needs.draw(view, rates.needs, key="need-rates")


def questions(view: View) -> None:
    """Draw what to ask a provider, as text to copy."""
    asked = questions_to_provider(view.project, view.result.estimates)
    if asked:
        st.subheader(view.t("What to ask a provider"), anchor=False)
        st.code(
            "\n".join(f"- {view.words.text(text)}" for text in asked),
            language=None,
            wrap_lines=True,
        )


def _tiles(view: View, item: Scenario) -> None:
    label = view.t("Total, an example") if item.example else view.t("Total")
    tiles = [
        (view.t("Machine-hours"), item.hours),
        (view.t("GPU-hours, billed"), item.gpu_hours_billed),
        (label, item.total),
    ]
    if item.yearly is not None:
        tiles.append((view.t("Cost per year"), item.yearly))
    for number, (column, (text, value)) in enumerate(
        zip(st.columns(len(tiles)), tiles, strict=True)
    ):
        with column:
            figure.draw(value, text, view.words, key=f"{item.kind}-{number}")


def _lines(view: View, item: Scenario) -> None:
    if not item.lines:
        return

    def column(figures: Sequence[Figure]) -> list[str]:
        return [page.plain(figure.cell(value, view.words)) for value in figures]

    names = [page.plain(view.words.text(line.name)) for line in item.lines]
    rates = column([line.rate for line in item.lines])
    quoted = [page.plain(line.quote or view.t("none")) for line in item.lines]
    cells = {
        view.t("line"): names,
        view.t("quantity"): column([line.quantity for line in item.lines]),
        view.t("rate"): rates,
        view.t("amount"): column([line.amount for line in item.lines]),
        view.t("quote"): quoted,
    }
    if len({*zip(rates, quoted, strict=True)}) == 1:
        # Said once instead of on every line, which leaves a phone room for the amounts.
        del cells[view.t("rate")], cells[view.t("quote")]
        st.markdown(view.t("Rate: {rate}; quote: {quote}", rate=rates[0], quote=quoted[0]))
    st.table(
        cells,
        hide_index=True,
        border="horizontal",
        alt=view.t("Cost lines: {title}", title=item.title),
    )
    st.caption("  \n".join(_terms(view, item.lines)))


def _terms(view: View, lines: Sequence[CostLine]) -> list[str]:
    """Return what holds beside the amounts, once per quote."""
    found: dict[tuple[str | None, tuple[str, ...]], None] = {}
    for line in lines:
        said = tuple(page.plain(view.words.text(text)) for text in line.remarks)
        if said:
            found[line.quote, said] = None
    return [
        (f"**{page.plain(quote)}**: " if quote else "") + " · ".join(said) for quote, said in found
    ]


def _chart(view: View) -> None:
    """Draw cost per scenario; with fewer than two totals the hours, and what is missing."""
    found = view.result.scenarios
    totals = [_bar(view, item, item.total) for item in found if item.total.known]
    if len(totals) > 1:
        example = any(item.example for item in found if item.total.known)
        title = view.t("Cost per scenario (example)") if example else view.t("Cost per scenario")
        _draw(view, totals, title, view.project.currency or "")
    lacking = tuple(item.title for item in found if not item.total.known)
    names = page.plain(view.words.text(lacking))
    if len(totals) > 1:
        if lacking:
            st.caption(view.t("Not drawn, because it has no total yet: {names}.", names=names))
        return
    if lacking:
        st.markdown(
            view.t("Costs are not drawn side by side: no total yet for {names}.", names=names)
        )
    hours = [
        _bar(view, item, value)
        for item in found
        if (value := item.hours if item.hours.known else item.hours.part) is not None
    ]
    if len(hours) > 1:
        _draw(view, hours, view.t("Machine-hours per scenario"), view.t("machine-hours"))


def _bar(view: View, item: Scenario, value: Figure) -> Bar:
    whole = item.total if value.unit == item.total.unit else item.hours
    low, high = (value.low, value.high) if value.ranged else (None, None)
    return Bar(
        name=view.words.text(item.title),
        value=float(value.value or 0),
        low=None if low is None else float(low),
        high=None if high is None else float(high),
        text=figure.cell(whole, view.words),
        covers=view.words.text(item.covers) if item.covers else view.words.text(msg("not stated")),
        partial=not whole.known,
    )


def _draw(view: View, bars: Sequence[Bar], title: str, axis: str) -> None:
    st.altair_chart(
        money_charts.per_scenario(
            bars,
            title=title,
            axis=axis,
            words=(view.t("scenario"), view.t("value"), view.t("holds")),
        ),
        alt=money_charts.described(bars, title),
        key="cost-chart",
    )
    st.caption(view.t("Each bar holds the work of its own scenario, not the same work."))
