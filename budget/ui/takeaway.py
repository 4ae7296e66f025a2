"""What leaves the dashboard: the project document and the command that decides from it."""

from __future__ import annotations

import re
import shlex

import streamlit as st

from budget import documents
from budget.ui.page import View


def document(view: View) -> None:
    """Draw the download of the project document and the command that decides from it."""
    name = f"{slug(view.project.title) or 'project'}.yaml"
    logs = [file.name for file in view.opened.files]
    st.subheader(view.t("Take it with you"), anchor=False)
    st.markdown(
        view.t(
            "The document holds all that was decided and typed. With the logs it gives the same "
            "decision on a terminal:"
        )
    )
    command = ["compute-budget", "decide", name, *(logs or ["LOG.jsonl"])]
    if view.project.as_of is None:
        command += ["--as-of", view.result.as_of.isoformat()]
    st.code(shlex.join(command), language=None, wrap_lines=True)
    st.download_button(
        view.t("Project document (YAML)"),
        documents.write(view.project).encode(),
        file_name=name,
        mime="application/yaml",
        icon=":material/download:",
        key="download-document",
        on_click="ignore",
    )


def slug(text: str) -> str:
    """Return a text as a name that files and ids allow."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:48].strip("-")
