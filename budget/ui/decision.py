"""The page *Decision*: the first minute on one screen, then the verdicts with their evidence."""

from __future__ import annotations

import streamlit as st

from budget import rules, workflow
from budget.decisions import Total
from budget.facts import Verdict
from budget.messages import Message, msg
from budget.ui import figure, measurements, needs, page, probe_guide, upload
from budget.ui.page import View

OUTCOMES: dict[str, tuple[Message, str, figure.Colour]] = {
    "pass": (msg("pass"), ":material/check_circle:", "green"),
    "fail": (msg("fail"), ":material/cancel:", "red"),
    "unknown": (msg("cannot tell"), ":material/help:", "orange"),
}


def guard(view: View) -> bool:
    """Draw the way to begin while the plan is empty; return whether that was all there is."""
    if view.project.blocks:
        return False
    st.subheader(view.t("Nothing to decide yet"), anchor=False)
    if view.opened.files:
        upload.receipts(view)
        measurements.proposal(view)
    else:
        st.markdown(
            view.t(
                "Measure a trial with the probe on any machine, then drop its log here. The log "
                "brings the environment and the blocks of work; you add how many runs are planned "
                "and a quote."
            )
        )
        probe_guide.draw(view)
    upload.zone(view, key="upload-decision")
    if not view.opened.files:
        upload.receipts(view)
    with st.container(horizontal=True):
        st.page_link(
            "pages/blocks.py", label=view.t("Enter blocks by hand"), icon=":material/view_week:"
        )
        st.page_link(
            "pages/scope.py", label=view.t("Describe the scope first"), icon=":material/menu_book:"
        )
    return True


def first_minute(view: View) -> None:
    """Draw the sentence, the totals, what fits, what may go, what holds and what is missing."""
    decision = view.result.decision
    words = view.words
    upload.receipts(view)
    st.header(words.text(decision.headline_text), anchor=False)
    st.code(words.text(decision.approve), language=None, wrap_lines=True)
    _totals(view)
    _checks(view)
    for text in decision.contradictions:
        st.warning(words.text(text), icon=":material/compare_arrows:")
    left, right = st.columns(2, gap="medium")
    with left:
        _blocks(view)
        _remarks(view)
    with right:
        _missing(view)
    with st.expander(view.t("Drop a log or a project document"), icon=":material/upload_file:"):
        upload.zone(view, key="upload-decision")


def verdicts(view: View) -> None:
    """Draw one card per rule with the outcome for every block and its reasons."""
    st.subheader(view.t("Why: five rules and their evidence"), anchor=False)
    for rule in rules.ALL:
        found = [item for item in view.result.decision.verdicts if item.rule == rule.ID]
        with st.container(border=True, key=f"rule-{rule.ID}"):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{view.words.text(rule.TITLE)}**", width="content")
                for outcome, (word, icon, colour) in OUTCOMES.items():
                    count = sum(1 for item in found if item.outcome == outcome)
                    if count:
                        text = view.words.text(word)
                        st.badge(
                            text if len(found) == 1 else f"{count} {text}", icon=icon, color=colour
                        )
            st.caption(view.words.text(rule.WHY))
            if not found:
                st.markdown(view.t("No open block to judge."))
            passed = [item for item in found if item.outcome == "pass"]
            shown = found if len(passed) == 1 else [i for i in found if i.outcome != "pass"]
            for number, group in enumerate(_alike(shown)):
                _verdict(view, group, key=f"{rule.ID}-{number}")
            if len(passed) > 1:
                with st.expander(
                    view.t("{count} pass: their evidence", count=len(passed)), type="compact"
                ):
                    for number, item in enumerate(passed):
                        _verdict(view, [item], key=f"{rule.ID}-pass-{number}")
    with st.expander(view.t("Thresholds"), icon=":material/rule:"):
        thresholds(view)


def thresholds(view: View) -> None:
    """Draw the named thresholds with unit, source and whether anybody confirmed them."""
    rows = workflow.thresholds(view.project)
    st.dataframe(
        {
            view.t("threshold"): [row.name for row in rows],
            view.t("value"): [figure.value(row.figure, view.words) for row in rows],
            view.t("state"): [view.words.text(figure.STATES[row.figure.state][0]) for row in rows],
            view.t("why this value"): [view.words.text(row.why) for row in rows],
        },
        hide_index=True,
    )


def _totals(view: View) -> None:
    decision = view.result.decision
    tiles = [
        (view.t("Spent so far"), decision.totals.spent.machine_hours),
        (view.t("Remaining machine-hours"), decision.totals.remaining.machine_hours),
        (view.t("Remaining GPU-hours, billed"), decision.totals.remaining.gpu_hours),
        (_cost_label(view, decision.totals.sum), decision.totals.sum.cost),
    ]
    for number, (column, (label, item)) in enumerate(zip(st.columns(4), tiles, strict=True)):
        with column:
            figure.draw(item, label, view.words, key=f"total-{number}")


def _cost_label(view: View, total: Total) -> str:
    if total.scenario is None:
        return view.t("Cost in all")
    return view.t("Cost in all, scenario {scenario}", scenario=msg(total.scenario))


def _checks(view: View) -> None:
    lines = []
    for check in view.result.decision.checks:
        word, icon, colour = OUTCOMES[check.outcome]
        name = f"{view.t(check.name)}: {view.words.text(word)}"
        reason = page.plain(view.words.text(check.because))
        lines.append(f":{colour}-badge[{icon} {name}] {reason}")
    st.markdown("  \n".join(lines))


def _blocks(view: View) -> None:
    decision = view.result.decision
    st.subheader(view.t("Blocks"), anchor=False)
    if decision.go:
        st.markdown(view.t("**Go**"))
        lines = [
            f":material/check_circle: **{page.plain(name)}** "
            + figure.cell(view.result.estimate(name).remaining_h, view.words)
            for name in decision.go
        ]
        st.markdown("  \n".join(lines))
    if decision.hold:
        st.markdown(view.t("**Hold**"))
        for hold in decision.hold:
            st.markdown(
                f":material/pause_circle: **{page.plain(hold.block)}** "
                f"{page.plain(view.words.text(hold.why))}  \n"
                f":material/arrow_forward: {page.plain(view.words.text(hold.do_next))}"
            )
    if not decision.go and not decision.hold:
        st.markdown(view.t("No open block."))


def _remarks(view: View) -> None:
    decision = view.result.decision
    if decision.remarks:
        with st.expander(
            view.t("What this does not cover ({count})", count=len(decision.remarks)),
            expanded=len(decision.remarks) < 4,
        ):
            for text in decision.remarks:
                st.markdown(f"- {page.plain(view.words.text(text))}")
    changes = workflow.since_last(view.store, view.opened, view.result)
    with st.expander(view.t("What changed since the last revision ({count})", count=len(changes))):
        for text in changes or (msg("nothing"),):
            st.markdown(f"- {page.plain(view.words.text(text))}")


def _missing(view: View) -> None:
    decision = view.result.decision
    st.subheader(view.t("Missing, and what to do"), anchor=False)
    if not decision.missing:
        st.markdown(view.t("Nothing is missing."))
    needs.draw(view, decision.missing, key="need")


def _alike(verdicts: list[Verdict]) -> list[list[Verdict]]:
    """Join the verdicts that say the same of several blocks."""
    groups: dict[tuple[object, ...], list[Verdict]] = {}
    for item in verdicts:
        key = (item.outcome, item.because, item.do_next, item.sources)
        groups.setdefault(key, []).append(item)
    return list(groups.values())


def _verdict(view: View, group: list[Verdict], *, key: str) -> None:
    item = group[0]
    word, icon, colour = OUTCOMES[item.outcome]
    names = view.words.text(tuple(one.block for one in group if one.block)) or view.t("project")
    head = f":{colour}[{icon}] **{page.plain(names)}** ({view.words.text(word)}): "
    reasons = "; ".join(page.plain(view.words.text(text)) for text in item.because)
    line = head + reasons
    if item.do_next is not None:
        line += f"  \n:material/arrow_forward: {page.plain(view.words.text(item.do_next))}"
    if item.sources:
        shown = ", ".join(view.words.source(source) for source in item.sources[:3])
        line += f"  \n:small[:gray[{page.plain(shown)}]]"
    with st.container(key=key):
        st.markdown(line)
