"""What is assumed of a machine of one's own: a purchase is costed over its life with these."""

from __future__ import annotations

import streamlit as st

from budget import documents
from budget.project import Ownership
from budget.ui import entry
from budget.ui.page import View


def draw(view: View) -> None:
    """Draw the assumptions in one form; open where a purchase quote waits for them."""
    waits = any(item.kind == "purchase" for item in view.project.quotes)
    with st.expander(
        view.t("If a machine is bought: its life and its use"),
        icon=":material/home_repair_service:",
        expanded=waits and view.project.ownership == Ownership(),
    ):
        _form(view)


def _form(view: View) -> None:
    labels = {
        "life_years": (view.t("Life (years)"), "4"),
        "utilisation": (view.t("Share of the year in use"), "0.5"),
        "discount_rate": (view.t("Discount rate per year"), "0.08"),
        "gpu_count": (view.t("GPUs of the machine"), "8"),
        "power_kw": (view.t("Power drawn (kW)"), "5.6"),
        "pue": (view.t("Power of the room over that of the machine (PUE)"), "1.3"),
        "admin_hours_per_month": (view.t("Administration (hours per month)"), "10"),
    }
    tree = documents.to_tree(view.project)
    owned = tree["ownership"]
    with st.form(view.key("ownership"), border=False):
        columns = st.columns(4)
        for number, (name, (label, example)) in enumerate(labels.items()):
            with columns[number % 4]:
                owned[name] = entry.text(
                    view,
                    label,
                    owned[name],
                    f"own-{name}",
                    placeholder=view.t("not stated; for example {number}", number=example),
                    help=entry.declared(view, f"ownership.{name}"),
                )
        place = st.container()
        pressed = st.form_submit_button(
            view.t("Save the assumptions"), type="primary", icon=":material/save:"
        )
    if not pressed:
        return
    project, problems = documents.from_tree(tree)
    with place:
        if problems or project is None:
            entry.problems(view, problems)
        else:
            view.save(project, view.t("assumptions on owning a machine"))
