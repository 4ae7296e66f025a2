"""The page *Quotes*: prices as they were quoted, whether they may be used, and new ones."""

from __future__ import annotations

import streamlit as st

from budget import quotes
from budget.figures import State
from budget.messages import Quantity, msg
from budget.project import Quote
from budget.quotes import Usability
from budget.scenarios import questions_to_provider
from budget.ui import figure, page, quote_form
from budget.ui.page import View
from budget.ui.quote_words import KINDS


def guard(view: View) -> bool:
    """Say why no amount is shown, while there is no quote; return whether that is the case."""
    if view.project.quotes:
        return False
    st.info(
        view.t(
            "**No quote yet, so no amount is shown anywhere.** An amount without a verified quote "
            "would be invented. Until then the pages show hours. Ask a provider, then enter the "
            "answer here with its unit, source and day."
        ),
        icon=":material/receipt_long:",
    )
    return True


def cards(view: View) -> None:
    """Draw one card per quote: usable ones first, each in the order of the document."""
    judged = [quotes.judge(item, view.project, view.result.as_of) for item in view.project.quotes]
    usable = sum(1 for item in judged if item.usable)
    st.markdown(view.t("{usable} of {count} quotes may be used.", usable=usable, count=len(judged)))
    for item in sorted(judged, key=lambda item: not item.usable):
        _card(view, item)


def entry_form(view: View) -> None:
    """Draw the form for a new quote."""
    st.subheader(view.t("Add a quote"), anchor=False)
    with st.container(border=True):
        quote_form.draw(view, None)


def questions(view: View) -> None:
    """Draw what to ask a provider, as text to copy."""
    asked = questions_to_provider(view.project, view.result.estimates)
    st.subheader(view.t("What to ask a provider"), anchor=False)
    if asked:
        st.code(
            "\n".join(f"- {view.words.text(text)}" for text in asked),
            language=None,
            wrap_lines=True,
        )
        return
    st.markdown(view.t("The plan rents no machine yet. Name the environment of a block first."))
    st.page_link("pages/blocks.py", label=view.t("Blocks"), icon=":material/view_week:")


def _card(view: View, item: Usability) -> None:
    quote, words = item.quote, view.words
    price = quotes.price(quote)
    with st.container(border=True, key=f"quote-{quote.id}"):
        with st.container(horizontal=True, vertical_alignment="center"):
            shown = figure.value(price, words) if price.known else _incomplete(view, quote)
            st.markdown(f"### {page.plain(shown)}", width="content")
            if item.usable:
                st.badge(view.t("usable"), icon=":material/check_circle:", color="green")
            else:
                st.badge(view.t("not usable"), icon=":material/cancel:", color="red")
            figure.badge(State.EXAMPLE if quote.example else price.state, words)
        environment = view.project.environment(quote.environment)
        place = (environment.label or environment.id) if environment else quote.environment
        st.markdown(
            f":gray[{page.plain(quote.id)} · {words.text(KINDS[quote.kind])} · "
            f"{page.plain(place or view.t('for no machine in particular'))}]"
        )
        if item.reasons:
            st.markdown(
                "  \n".join(
                    f":red[:material/cancel:] {page.plain(words.text(reason))}"
                    for reason in item.reasons
                )
            )
        left, right = st.columns(2, gap="medium")
        left.markdown(_lines(view, _terms(view, quote)))
        right.markdown(_lines(view, _origin(view, quote)))
        st.markdown(" · ".join(page.plain(words.text(text)) for text in item.remarks))
        _actions(view, quote)


def _incomplete(view: View, quote: Quote) -> str:
    if quote.amount is None:
        return view.t("no amount stated")
    return view.t(
        "{amount} {currency}, per what is not stated",
        amount=f"{quote.amount:f}",
        currency=quote.currency or msg("(no currency)"),
    )


def _terms(view: View, quote: Quote) -> list[tuple[str, str]]:
    holds, billing = quote.holds, quote.billing
    gpus = view.t("GPUs not stated")
    if holds.gpus is not None:
        gpus = view.t("1 GPU") if holds.gpus == 1 else view.t("{count} GPUs", count=holds.gpus)
    steps = (
        view.t("steps not stated")
        if billing.increment_s is None
        else view.t("in steps of {time}", time=Quantity(billing.increment_s, "s"))
    )
    least = (
        view.t("minimum not stated")
        if billing.minimum_s is None
        else view.t("at least {time}", time=Quantity(billing.minimum_s, "s"))
    )
    found = [(view.t("Price holds"), _period(view, quote))]
    if quote.kind in quotes.RENT_KINDS:
        found.insert(0, (view.t("Billed"), f"{steps}, {least}"))
    if quote.kind in quotes.PLACED_KINDS:
        found.insert(0, (view.t("One unit holds"), gpus))
    return found


def _origin(view: View, quote: Quote) -> list[tuple[str, str]]:
    verified = (
        view.t("by nobody yet")
        if quote.verified_on is None
        else view.t(
            "{day} by {name}", day=quote.verified_on, name=quote.verified_by or msg("not stated")
        )
    )
    order = view.words.text(quote.accept_by) if quote.accept_by else view.t("no day stated")
    return [
        (view.t("Source"), quote.source or view.t("not stated")),
        (view.t("Verified"), verified),
        (view.t("Order before"), order),
    ]


def _period(view: View, quote: Quote) -> str:
    start, end = quote.price_from, quote.price_until
    if start is None and end is None:
        return view.t("list price, no period stated")
    return view.t("{start} to {end}", start=start or msg("now"), end=end or msg("no end stated"))


def _lines(view: View, rows: list[tuple[str, str]]) -> str:
    return "  \n".join(f":gray[{label}]: {page.plain(text)}" for label, text in rows)


def _actions(view: View, quote: Quote) -> None:
    panel = st.expander(
        view.t("Edit or delete"),
        icon=":material/edit:",
        type="compact",
        key=view.key(f"edit-{quote.id}"),
        on_change="rerun",
    )
    if not panel.open:
        return
    with panel:
        quote_form.draw(view, quote)
        with st.popover(view.t("Delete"), icon=":material/delete:", key=f"drop-{quote.id}"):
            st.markdown(
                view.t(
                    "Every amount that rests on **{quote}** goes with it. Earlier revisions keep "
                    "it.",
                    quote=page.plain(quote.id),
                )
            )
            if st.button(view.t("Delete {quote}", quote=quote.id), key=view.key(f"del-{quote.id}")):
                quote_form.delete(view, quote)
