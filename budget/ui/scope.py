"""The page *Scope*: what will be reproduced, by when, and what it needs, in one form."""

from __future__ import annotations

from typing import Any

import streamlit as st

from budget import documents, workflow
from budget.messages import Message, msg
from budget.project import Campaign, Scope
from budget.ui import entry, page, scope_logs
from budget.ui.page import View
from budget.ui.takeaway import slug

ACCELERATORS: dict[str, Message] = {
    "cuda": msg("NVIDIA (CUDA)"),
    "rocm": msg("AMD (ROCm)"),
    "mps": msg("Apple (MPS)"),
    "any": msg("none needed, any machine"),
    "unknown": msg("unknown"),
}
NEEDS: dict[str, Message] = {"essential": msg("essential"), "optional": msg("optional")}


def introduction(view: View) -> None:
    """Say how to begin where nothing is described yet, and what contradicts the logs."""
    if view.project.scope == Scope() and view.project.campaign == Campaign():
        st.info(
            view.t(
                "Nothing is described yet. Three answers help most: which **results** of which "
                "**paper**, whether the **code starts**, and the **deadline**. Leave open what "
                "nobody knows: *unknown* is an answer, and *Decision* says what it holds up."
            ),
            icon=":material/menu_book:",
        )
    for text in view.result.decision.contradictions:
        st.warning(page.plain(view.words.text(text)), icon=":material/compare_arrows:")


def form(view: View) -> None:
    """Draw the whole scope with one Save: nothing typed is lost by saving another part."""
    tree = documents.to_tree(view.project)
    with st.form(view.key("scope"), border=False):
        _campaign(view, tree)
        _paper(view, tree["scope"])
        _code(view, tree["scope"])
        _materials(view, tree["scope"])
        _method(view, tree["scope"])
        _platform(view, tree)
        problems = st.container()
        pressed = st.form_submit_button(
            view.t("Save the scope"), type="primary", icon=":material/save:"
        )
    if pressed:
        with problems:
            _save(view, tree)


def _campaign(view: View, tree: dict[str, Any]) -> None:
    campaign, plan = tree["campaign"], view.project.campaign
    with _section(view.t("The campaign")):
        left, right = st.columns([3, 1])
        with left:
            tree["title"] = entry.text(view, view.t("Project title"), tree["title"], "title")
        with right:
            tree["currency"] = entry.text(
                view,
                view.t("Currency"),
                tree["currency"],
                "currency",
                placeholder=view.t("three letters: EUR"),
                help=entry.declared(view, "currency"),
            )
        days = {
            "start": (view.t("First day"), plan.start),
            "end": (view.t("Last day"), plan.end),
            "deadline": (view.t("Deadline"), plan.deadline),
        }
        for column, (name, (label, value)) in zip(st.columns(3), days.items(), strict=True):
            with column:
                campaign[name] = entry.day(
                    view, label, value, name, help=entry.declared(view, f"campaign.{name}")
                )
        numbers = {
            "machines_at_once": (view.t("Machines at once"), ""),
            "cap": (view.t("Cap: the most it may cost"), view.t("no cap stated")),
            "need_horizon_months": (
                view.t("The need lasts (months)"),
                view.t("nobody has said"),
            ),
        }
        four = st.columns(4)
        for column, (name, (label, empty)) in zip(four, numbers.items(), strict=False):
            with column:
                campaign[name] = entry.text(
                    view,
                    label,
                    campaign[name],
                    name,
                    placeholder=empty,
                    help=entry.declared(view, f"campaign.{name}"),
                )
        with four[3]:
            tree["as_of"] = entry.day(
                view,
                view.t("Pin the day"),
                view.project.as_of,
                "as-of",
                help=view.t(
                    "Every age and deadline is then counted from this day. Empty: from today."
                ),
            )


def _paper(view: View, scope: dict[str, Any]) -> None:
    paper = scope["paper"]
    with _section(view.t("The paper and its results")):
        title, version, url = st.columns([3, 1, 2])
        with title:
            paper["title"] = entry.text(view, view.t("Title"), paper["title"], "paper-title")
        with version:
            paper["version"] = entry.text(view, view.t("Version"), paper["version"], "version")
        with url:
            paper["url"] = entry.text(view, view.t("Address"), paper["url"], "paper-url")
        st.markdown(view.t("**Results to reproduce**"))
        rows = entry.table(
            view,
            scope["results"],
            {
                "ref": _text(view.t("where in the paper"), width="medium"),
                "metric": _text(view.t("metric"), width="medium"),
                "value": _text(view.t("value")),
                "tolerance": _text(view.t("tolerance")),
                "need": _choices(view, view.t("need"), NEEDS, "essential"),
                "id": _text(view.t("short name")),
            },
            "results",
            alt=view.t("Results of the paper that shall be reproduced"),
        )
        scope["results"] = _named(rows)


def _code(view: View, scope: dict[str, Any]) -> None:
    code = scope["repository"]
    with _section(view.t("The code")):
        left, right = st.columns([3, 1])
        with left:
            code["url"] = entry.text(
                view, view.t("Address of the repository"), code["url"], "code-url"
            )
        with right:
            code["commit"] = entry.text(view, view.t("Commit"), code["commit"], "commit")
        questions = {
            "state": (view.t("Is the code there?"), entry.AVAILABLE),
            "starts": (view.t("Does it start?"), entry.KNOWN),
            "matches_paper": (view.t("Is it what the paper describes?"), entry.KNOWN),
        }
        for column, (name, (label, words)) in zip(st.columns(3), questions.items(), strict=True):
            with column:
                code[name] = entry.choice(view, label, words, code[name], f"code-{name}")
        scope_logs.show(view, scope_logs.code(view))


def _materials(view: View, scope: dict[str, Any]) -> None:
    with _section(view.t("Models and data")):
        for group, state, heading in (
            ("models", "weights", view.t("**Models** whose weights are needed")),
            ("datasets", "state", view.t("**Data sets**")),
        ):
            st.markdown(heading)
            label = view.t("weights") if group == "models" else view.t("data")
            scope[group] = entry.table(
                view,
                scope[group],
                {
                    "id": _text(view.t("name"), width="medium"),
                    state: _choices(view, label, entry.AVAILABLE, "unknown"),
                    "licence": _text(view.t("licence")),
                    "evidence": _text(view.t("how we know"), width="large"),
                },
                group,
                alt=view.t("Models") if group == "models" else view.t("Data sets"),
            )
        scope_logs.show(view, scope_logs.models(view))


def _method(view: View, scope: dict[str, Any]) -> None:
    areas = {
        "methods": view.t("Methods compared, one per line"),
        "differences": view.t("Where we differ from the paper, one per line"),
        "preparation": view.t("Preparation needed, one per line"),
    }
    with _section(view.t("The protocol")):
        for column, (name, label) in zip(st.columns(3), areas.items(), strict=True):
            with column:
                scope[name] = entry.lines(view, label, scope[name], name)


def _platform(view: View, tree: dict[str, Any]) -> None:
    durable, needs = tree["durable"], tree["requirements"]
    with _section(view.t("The machine")):
        needs["accelerator"] = entry.choice(
            view,
            view.t("Which accelerator does the software require?"),
            ACCELERATORS,
            needs["accelerator"],
            "accelerator",
            help=entry.declared(view, "requirements.accelerator"),
        )
        scope_logs.show(view, scope_logs.platform(view))
        questions = {
            "must_stay_available": view.t("Must it stay available after the campaign?"),
            "can_administer": view.t("Can somebody here administer a machine?"),
            "specific_hardware": view.t("Does the work need this very hardware?"),
        }
        for column, (name, label) in zip(st.columns(3), questions.items(), strict=True):
            with column:
                durable[name] = entry.choice(view, label, entry.KNOWN, durable[name], name)


def _save(view: View, tree: dict[str, Any]) -> None:
    project, problems = documents.from_tree(tree)
    if problems or project is None:
        entry.problems(view, problems)
        return
    changed = [path for path, _, _ in workflow.differences(view.project, project)]
    if not changed:
        st.info(view.t("Nothing has changed; there is nothing to save."))
        return
    names = [path.removeprefix("scope.").removeprefix("campaign.") for path in changed]
    shown = (*names[:4], *((msg("{count} more", count=len(names) - 4),) if names[4:] else ()))
    view.save(project, view.t("Scope: {fields}", fields=shown))


def _section(heading: str) -> Any:
    box = st.container(border=True)
    box.subheader(heading, anchor=False)
    return box


def _text(label: str, width: Any = None) -> Any:
    return st.column_config.TextColumn(label, width=width)


def _choices(view: View, label: str, words: dict[str, Message], default: str) -> Any:
    return st.column_config.SelectboxColumn(
        label,
        options=list(words),
        default=default,
        required=True,
        format_func=lambda item: view.words.text(words[str(item)]),
    )


def _named(rows: list[dict[str, str | None]]) -> list[dict[str, str | None]]:
    """Give each result without a short name one made from where it stands in the paper."""
    taken = {row["id"] for row in rows if row["id"]}
    for number, row in enumerate(rows, start=1):
        if row["id"] is None:
            name = slug(row["ref"] or row["metric"] or "") or f"result-{number}"
            name = name if name not in taken else f"{name}-{number}"
            row["id"] = name
            taken.add(name)
    return rows
