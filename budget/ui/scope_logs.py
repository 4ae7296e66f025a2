"""What the logs show beside what was declared on *Scope*. Evidence outranks declarations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from budget.messages import Message, msg
from budget.ui import page
from budget.ui.page import View


def show(view: View, facts: Sequence[Message]) -> None:
    """Draw facts of the logs in one quiet line, or that no log speaks yet."""
    if not view.result.measurements.attempts:
        facts = (msg("no log yet"),)
    text = " · ".join(page.plain(view.words.text(fact)) for fact in facts)
    head = view.t("The logs show:")
    st.markdown(f":material/straighten: :small[:gray[{head}] {text}]")


def code(view: View) -> tuple[Message, ...]:
    """Return whether the code started, and which versions ran."""
    verdict = next(item for item in view.result.decision.verdicts if item.rule == "software-starts")
    facts = list(verdict.because)
    commits = Counter(
        (item.code.commit, bool(item.code.dirty))
        for item in view.result.measurements.attempts
        if item.code.commit
    )
    planned = view.project.scope.repository.commit
    for (commit, dirty), count in commits.items():
        values = {"commit": commit[:12], "count": count}
        if dirty:
            facts.append(msg("{count} attempts of commit {commit} with local changes", **values))
        else:
            facts.append(msg("{count} attempts of commit {commit}", **values))
    if planned and commits and not any(_same(planned, commit) for commit, _ in commits):
        facts.append(msg("none of commit {planned}, which stands above", planned=planned))
    return tuple(facts)


def models(view: View) -> tuple[Message, ...]:
    """Return which models were measured, and which of those stand in no table."""
    measured = Counter(
        item.intended.model for item in view.result.measurements.attempts if item.intended.model
    )
    listed = {item.id for item in view.project.scope.models}
    return tuple(
        msg("{count} attempts with the model {model}", count=count, model=model)
        if model in listed
        else msg("{count} attempts with the model {model}, not listed", count=count, model=model)
        for model, count in measured.items()
    )


def platform(view: View) -> tuple[Message, ...]:
    """Return on which accelerators and builds the software ran."""
    seen: Counter[tuple[str | None, str | None, str | None]] = Counter()
    for item in view.result.measurements.attempts:
        gpu = item.host.gpus[0].name if item.host.gpus else None
        if item.host.gpu_count is None:
            gpu = view.t("GPUs not stated")
        software = item.software
        seen[gpu, software.torch if software else None, software.cuda if software else None] += 1
    return tuple(
        msg(
            "{count} attempts on {gpu}, {torch}, {cuda}",
            count=count,
            gpu=gpu or msg("a host without a GPU"),
            torch=msg("torch {version}", version=torch) if torch else msg("torch not stated"),
            cuda=msg("CUDA {version}", version=cuda)
            if cuda
            else msg("a build without CUDA")
            if torch
            else msg("CUDA not stated"),
        )
        for (gpu, torch, cuda), count in seen.items()
    )


def _same(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
