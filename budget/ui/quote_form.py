"""Entering or changing one quote: what was typed, how it is read, and what is still missing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import streamlit as st

from budget import documents, quotes
from budget.messages import msg
from budget.numerals import read_number
from budget.project import Project, Quote
from budget.ui import entry, page
from budget.ui.page import View
from budget.ui.quote_words import CONTENTS, KINDS, UNITS

NO_PLACE = "-"


@st.fragment
def draw(view: View, quote: Quote | None) -> None:
    """Draw the form for a new quote, or for the quote given. An incomplete one may be saved."""
    name = quote.id if quote else "new"
    tree = documents.to_tree(view.project)
    index = len(tree["quotes"])
    if quote is not None:
        index = next(i for i, item in enumerate(tree["quotes"]) if item["id"] == quote.id)
    left, right = st.columns([3, 2], gap="large")
    with left:
        item = _fields(view, quote, name)
    tree["quotes"][index : index + 1] = [item]
    if tree["currency"] is None:
        tree["currency"] = item["currency"]  # the first quote says in which money people count
    project, problems = documents.from_tree(tree)
    touched = quote is not None or any(item[key] for key in ("amount", "per", "source"))
    with right:
        _reading(view, item, project if touched and not problems else None, index)
    with left:
        place = st.container()
        if st.button(
            view.t("Save the changes") if quote else view.t("Add the quote"),
            type="primary",
            icon=":material/save:",
            key=view.key(f"{name}-save"),
        ):
            with place:
                if problems or project is None:
                    entry.problems(view, problems)
                elif not touched:
                    st.warning(view.t("Nothing is entered yet: type at least the amount."))
                elif quote:
                    view.save(project, view.t("quote {quote} changed", quote=quote.id))
                else:
                    view.save(project, view.t("quote {quote} added", quote=item["id"]))


def delete(view: View, quote: Quote) -> None:
    """Save the project without a quote."""
    rest = tuple(item for item in view.project.quotes if item.id != quote.id)
    view.save(
        msgspec.structs.replace(view.project, quotes=rest),
        view.t("quote {quote} deleted", quote=quote.id),
    )


def _fields(view: View, quote: Quote | None, name: str) -> dict[str, Any]:
    known = quote or Quote(id="new", currency=view.project.currency)
    item: dict[str, Any] = {"id": known.id if quote else _free_id(view.project)}
    environments = {
        NO_PLACE: msg("no machine in particular"),
        **{one.id: msg("{label}", label=one.label or one.id) for one in view.project.environments},
    }
    place = known.environment
    if quote is None and len(view.project.environments) == 1:
        place = view.project.environments[0].id
    one, two = st.columns(2)
    with one:
        chosen = entry.pick(view, view.t("For"), environments, place, f"{name}-environment")
    with two:
        kind = entry.pick(view, view.t("What is offered"), KINDS, known.kind, f"{name}-kind")
    item["environment"] = None if chosen == NO_PLACE else chosen
    item["kind"] = kind
    fitting = next((fits for offer, fits in quotes.UNITS.items() if offer == kind), ())
    units = {unit: text for unit, text in UNITS.items() if not fitting or unit in fitting}
    if known.per is not None:
        units.setdefault(known.per, UNITS[known.per])
    one, two, three = st.columns([2, 1, 2])
    with one:
        item["amount"] = entry.text(
            view,
            view.t("Amount, as it is written"),
            known.amount,
            f"{name}-amount",
            placeholder="2.49",
        )
    with two:
        item["currency"] = entry.text(
            view, view.t("Currency"), known.currency, f"{name}-currency", placeholder="EUR"
        )
    with three:
        item["per"] = entry.pick(
            view,
            view.t("Per"),
            units,
            known.per,
            f"{name}-per",
            placeholder=view.t("choose the unit"),
        )
    one, two, three = st.columns(3)
    with one:
        gpus = entry.text(
            view,
            view.t("GPUs in one unit"),
            known.holds.gpus,
            f"{name}-gpus",
            placeholder=view.t("not stated"),
        )
    with two:
        host = entry.pick(view, view.t("Host"), CONTENTS, known.holds.host, f"{name}-host")
    with three:
        tax = entry.pick(view, view.t("Tax"), CONTENTS, known.holds.tax, f"{name}-tax")
    item["holds"] = {"gpus": gpus, "host": host, "tax": tax}
    item["source"] = entry.text(
        view,
        view.t("Source"),
        known.source,
        f"{name}-source",
        placeholder=view.t("quote number, mail or address where the price stands"),
    )
    one, two, three = st.columns(3)
    with one:
        item["verified_on"] = entry.day(
            view, view.t("Verified on"), known.verified_on, f"{name}-verified-on"
        )
    with two:
        item["verified_by"] = entry.text(
            view, view.t("Verified by"), known.verified_by, f"{name}-verified-by"
        )
    with three:
        item["accept_by"] = entry.day(
            view, view.t("Order before"), known.accept_by, f"{name}-accept-by"
        )
    item |= _terms(view, known, name)
    item["example"] = known.example and st.checkbox(
        view.t("This is an example, not a price that anybody offered"),
        value=True,
        key=view.key(f"{name}-example"),
    )
    return item


def _terms(view: View, known: Quote, name: str) -> dict[str, Any]:
    item: dict[str, Any] = {}
    one, two, three, four = st.columns(4)
    with one:
        item["price_from"] = entry.day(
            view,
            view.t("Price from"),
            known.price_from,
            f"{name}-price-from",
            help=view.t("Leave both days empty for a list price."),
        )
    with two:
        item["price_until"] = entry.day(
            view, view.t("Price until"), known.price_until, f"{name}-price-until"
        )
    with three:
        step = entry.text(
            view,
            view.t("Billed in steps (s)"),
            known.billing.increment_s,
            f"{name}-increment",
            placeholder=view.t("not stated"),
            help=view.t("In seconds: 60 for whole minutes, 3600 for whole hours."),
        )
    with four:
        least = entry.text(
            view,
            view.t("At least (s)"),
            known.billing.minimum_s,
            f"{name}-minimum",
            placeholder=view.t("not stated"),
            help=view.t("The shortest time that is charged, in seconds; 0 for none."),
        )
    item["billing"] = {"increment_s": step, "minimum_s": least}
    return item


def _reading(view: View, item: dict[str, Any], project: Project | None, index: int) -> None:
    """Draw how the amount is read, and what keeps the quote from being used."""
    st.markdown(view.t("**How this is read**"))
    if item["amount"] is None:
        st.markdown(view.t("No amount yet. 0 means free of charge; empty means nobody has said."))
    else:
        number = read_number(item["amount"], unit=item["currency"])
        if isinstance(number, Decimal):
            st.markdown(
                f":green[:material/check:] **{view.t('read as {number}', number=f'{number:f}')}**"
                + (f" {view.t('(free of charge)')}" if number == 0 else "")
            )
        else:
            question = f"{view.words.text(number.what)}: {view.words.text(number.do_next)}"
            st.markdown(f":orange[:material/help:] **{page.plain(question)}**")
    environment = view.project.environment(item["environment"])
    if item["per"] == "gpu-hour" and environment and environment.gpu_count == 0:
        st.markdown(
            ":red[:material/cancel:] "
            + view.t(
                "**{environment} has no GPU**, so a price per GPU-hour prices nothing there: ask "
                "for a price per machine-hour.",
                environment=page.plain(environment.label or environment.id),
            )
        )
    if project is None:
        return
    judged = quotes.judge(project.quotes[index], project, view.result.as_of)
    if judged.usable:
        st.markdown(f":green[:material/check_circle:] {view.t('May be used.')}")
    else:
        st.markdown(view.t("Not usable yet; it may be saved and completed later:"))
        st.markdown("\n".join(f"- {page.plain(view.words.text(text))}" for text in judged.reasons))
    for text in judged.remarks:
        st.caption(page.plain(view.words.text(text)))


def _free_id(project: Project) -> str:
    taken = {item.id for item in project.quotes}
    return next(name for n in range(1, len(taken) + 2) if (name := f"quote-{n}") not in taken)
