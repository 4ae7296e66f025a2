"""The attempts on *Measurements*: what each serves, why, and a person's word on one of them."""

from __future__ import annotations

import streamlit as st

from budget import workflow
from budget.attempts import Attempt
from budget.conditions import Service
from budget.figures import Source
from budget.messages import msg
from budget.ui import figure, page
from budget.ui.page import View
from budget.ui.timeline import OUTCOMES


def draw(view: View) -> None:
    """Draw the table of attempts and, below it, the one that is picked."""
    attempts = view.result.measurements.attempts
    st.subheader(view.t("Attempts"), anchor=False)
    if not attempts:
        st.markdown(view.t("The logs hold no attempt."))
        return
    st.caption(view.t("Pick a row to see its condition, and to assign or exclude it."))
    ids = [item.id for item in attempts]
    before = st.session_state.get(page.PICKED)
    event = st.dataframe(
        _columns(view),
        hide_index=True,
        key=view.key("attempts"),
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": [ids.index(before)] if before in ids else []}},
        alt=view.t("Attempts with their outcome, times, peak memory and the block they serve"),
    )
    rows = event["selection"]["rows"]
    if not rows:
        st.session_state.pop(page.PICKED, None)
        return
    st.session_state[page.PICKED] = ids[rows[0]]
    _detail(view, attempts[rows[0]])


def _columns(view: View) -> dict[str, list[str]]:
    attempts = view.result.measurements.attempts
    services = [view.result.service(item.id) for item in attempts]

    def seconds(value: float | None) -> str:
        return view.t("not recorded") if value is None else view.words.quantity(value, "s")

    return {
        view.t("attempt"): [item.id for item in attempts],
        view.t("label"): [item.block or view.t("no label") for item in attempts],
        view.t("outcome"): [view.words.text(OUTCOMES[item.outcome]) for item in attempts],
        view.t("serves"): [_serves(view, item) for item in services],
        view.t("prepare"): [seconds(item.phase_s("prepare")) for item in attempts],
        view.t("load"): [seconds(item.phase_s("load")) for item in attempts],
        view.t("run"): [seconds(item.phase_s("run")) for item in attempts],
        view.t("wall"): [seconds(item.duration_s) for item in attempts],
        view.t("peak"): [figure.cell(workflow.peak(item).figure, view.words) for item in attempts],
        view.t("why"): [view.words.text(item.why) for item in services],
        view.t("line"): [_where(item.source) for item in attempts],
    }


def _serves(view: View, service: Service) -> str:
    if service.block is not None:
        return service.block
    return view.t("excluded") if service.by == "person" else view.t("nothing")


def _detail(view: View, attempt: Attempt) -> None:
    service = view.result.service(attempt.id)
    with st.container(border=True, key="attempt"):
        with st.container(horizontal=True, vertical_alignment="center"):
            name = page.plain(f"{attempt.id} {attempt.block or ''}".strip())
            st.markdown(f"#### {name}", anchors=False, width="content")
            fine = attempt.outcome == "ok"
            st.badge(
                view.words.text(OUTCOMES[attempt.outcome]),
                icon=":material/check_circle:" if fine else ":material/cancel:",
                color="green" if fine else "red",
            )
        _word(view, service)
        left, right = st.columns(2, gap="medium")
        with left:
            _condition(view, attempt)
        with right:
            _differences(view, attempt)
            _results(view, attempt)
        _failures(view, attempt)
        _actions(view, attempt, service)


def _word(view: View, service: Service) -> None:
    """Say what the attempt serves and who says so, with the way back from a person's word."""
    why = page.plain(view.words.text(service.why))
    serves = page.plain(_serves(view, service))
    if service.by != "person":
        st.markdown(view.t("Serves **{block}**: {why}.", block=serves, why=why))
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        text = (
            msg("A person excluded it: {why}", why=why)
            if service.block is None
            else msg("A person assigned it to **{block}**: {why}", block=serves, why=why)
        )
        st.markdown(view.words.text(text), width="content")
        if st.button(
            view.t("Undo"), icon=":material/undo:", key=view.key(f"undo-{service.attempt}")
        ):
            st.session_state.pop(page.RECEIPTS, None)
            view.save(
                workflow.unassign(view.project, service.attempt),
                view.t("the condition of {attempt} decides again", attempt=service.attempt),
            )


def _condition(view: View, attempt: Attempt) -> None:
    intended, code, software = attempt.intended, attempt.code, attempt.software
    layers = tuple(
        dict.fromkeys(
            [item.layer for item in attempt.phases] + [item.layer for item in attempt.memory]
        )
    )
    rows = {
        view.t("model"): intended.model,
        view.t("input tokens"): intended.input_tokens,
        view.t("output tokens"): intended.output_tokens,
        view.t("batch size"): intended.batch_size,
        view.t("parameters"): dict(intended.parameters) or None,
        view.t("commit"): code.commit and code.commit[:12],
        view.t("local changes"): code.dirty,
        view.t("torch"): software and software.torch,
        view.t("CUDA"): software and (software.cuda or (software.torch and msg("none"))),
        view.t("GPUs"): tuple(gpu.name or msg("unnamed") for gpu in attempt.host.gpus)
        or attempt.host.gpus_why,
        view.t("calls"): len(attempt.calls) or msg("none recorded"),
        view.t("layers"): layers or msg("none"),
    }
    st.markdown(f"**{view.t('Condition')}**")
    st.markdown(
        "  \n".join(
            f":gray[{head}] {page.plain(view.words.text(value))}" for head, value in rows.items()
        )
    )
    st.code(" ".join(attempt.argv), language=None, wrap_lines=True)
    st.caption(page.plain(_where(attempt.source)))


def _differences(view: View, attempt: Attempt) -> None:
    """Draw every field that differs from the nearest block, whatever a person said."""
    found = workflow.by_condition(view.result, attempt.id)
    st.markdown(f"**{view.t('Against the plan')}**")
    if found.block is not None:
        block = page.plain(found.block)
        st.markdown(view.t("It has the condition of {block}.", block=block))
        return
    if found.nearest is None or not found.differences:
        st.markdown(page.plain(view.words.text(found.why)))
        return
    nearest = page.plain(found.nearest)
    st.markdown(view.t("The nearest block is {block}; these fields are in the way:", block=nearest))
    st.table(
        {
            view.t("field"): [view.t(item.field) for item in found.differences],
            view.t("planned"): [
                page.plain(view.words.text(item.wanted)) for item in found.differences
            ],
            view.t("measured"): [
                page.plain(view.words.text(item.found)) for item in found.differences
            ],
        },
        hide_index=True,
        border="horizontal",
    )


def _results(view: View, attempt: Attempt) -> None:
    st.markdown(f"**{view.t('Results')}**")
    if not attempt.results:
        st.markdown(view.t("none recorded"))
        return
    st.table(
        {
            view.t("result"): [page.plain(item.name) for item in attempt.results],
            view.t("value"): [
                page.plain(f"{view.words.text(item.value)} {item.unit or ''}".strip())
                for item in attempt.results
            ],
            view.t("expected"): [
                page.plain(view.words.text(item.expected)) for item in attempt.results
            ],
        },
        hide_index=True,
        border="horizontal",
    )


def _failures(view: View, attempt: Attempt) -> None:
    for item in attempt.failures:
        text = item.text or item.signature or view.t("no text")
        st.markdown(
            view.t(
                ":red[:material/error:] **{kind}** in {phase}",
                kind=page.plain(item.kind),
                phase=msg(item.phase) if item.phase else msg("no phase"),
            )
        )
        st.code(text, language=None, wrap_lines=True)
        st.caption(page.plain(_where(item.source)))


def _actions(view: View, attempt: Attempt, service: Service) -> None:
    """Draw the form in which a person assigns or excludes the attempt, with a reason."""
    blocks = [item.id for item in view.project.blocks]
    with st.form(view.key(f"word-{attempt.id}"), border=False):
        left, right = st.columns([1, 2])
        with left:
            chosen = st.selectbox(
                view.t("Block"),
                blocks,
                index=blocks.index(service.block) if service.block in blocks else 0,
                key=view.key(f"block-{attempt.id}"),
            )
        with right:
            reason = st.text_input(
                view.t("Reason, kept and shown"), key=view.key(f"reason-{attempt.id}")
            ).strip()
        with st.container(horizontal=True):
            assigned = st.form_submit_button(
                view.t("Assign to this block"),
                icon=":material/move_item:",
                disabled=not blocks,
                key=view.key(f"assign-{attempt.id}"),
            )
            excluded = st.form_submit_button(
                view.t("Exclude"),
                icon=":material/block:",
                key=view.key(f"exclude-{attempt.id}"),
            )
    if not assigned and not excluded:
        return
    if not reason:
        st.warning(view.t("Say why: the reason stays beside the attempt."))
        return
    block = chosen if assigned else None
    message = (
        view.t("{attempt} excluded: {reason}", attempt=attempt.id, reason=reason)
        if block is None
        else view.t(
            "{attempt} assigned to {block}: {reason}",
            attempt=attempt.id,
            block=block,
            reason=reason,
        )
    )
    st.session_state.pop(page.RECEIPTS, None)  # they say what it served before
    view.save(workflow.assign(view.project, attempt.id, block, reason), message)


def _where(source: Source) -> str:
    return f"{source.name}:{source.line}" if source.line is not None else source.name
