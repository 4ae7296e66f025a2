"""How to use the probe: the file to copy, and the commands for one block of the plan."""

from __future__ import annotations

import streamlit as st

from budget import commands
from budget.messages import Message, msg
from budget.probe import build
from budget.ui.page import View

FILE_NAME = "probe.pyz"


def draw(view: View) -> None:
    """Draw the five steps from the download to the file that is dropped here."""
    _download(view)
    _step(
        view,
        2,
        msg("Ask once whether CUDA works there, and watch the cards for the whole reservation."),
        f"{commands.CHECK}\n{commands.WATCH}",
    )
    _run(view)
    _step(
        view,
        4,
        msg(
            "Say when the machine waits for a person (decision, fix, files, queue, other), and "
            "what you changed to make the code run."
        ),
        f"{commands.WAIT}\n{commands.CHANGE}",
    )
    _step(view, 5, msg("Close the session, and drop the file it names here."), commands.END)


def _download(view: View) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            _numbered(
                view,
                1,
                view.t(
                    "Copy this one file to the machine. It needs Python 3.8 or newer and nothing "
                    "else; your code stays as it is."
                ),
            ),
            width="stretch",
        )
        st.download_button(
            view.t("Download probe.pyz"),
            archive(),
            file_name=FILE_NAME,
            mime="application/zip",
            icon=":material/download:",
            on_click="ignore",
            key="download-probe",
        )


def _run(view: View) -> None:
    st.markdown(
        _numbered(
            view,
            3,
            view.t("Run what you want to measure through the probe, several times per block."),
        )
    )
    blocks = {item.id: item for item in view.project.blocks if item.state != "dropped"}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        block = None
        if blocks:
            block = st.selectbox(
                view.t("For the block"),
                list(blocks),
                format_func=lambda name: f"{name}: {blocks[name].title or blocks[name].kind}",
                key="probe-block",
                persist_state="session",
                width=360,
            )
        launcher = st.segmented_control(
            view.t("Started on"),
            commands.LAUNCHERS,
            format_func=lambda name: view.words.text(commands.NAMES[name]),
            default="host",
            required=True,
            key="probe-launcher",
            persist_state="session",
        )
    chosen = blocks.get(block) if block else None
    st.code(
        commands.run(chosen, view.project.scope.results, launcher or "host"),
        language=None,
        wrap_lines=True,
    )
    text = view.t(
        "Put your own command in the place of {script}. `--repeat 3` measures three runs.",
        script=f"`{commands.OWN_SCRIPT}`",
    )
    if launcher == "slurm":
        text += " " + view.t(
            "Every task has a probe of its own; the slowest gives the time, each card its own peak."
        )
    st.caption(text)


def _step(view: View, number: int, text: Message, command: str) -> None:
    st.markdown(_numbered(view, number, view.words.text(text)))
    st.code(command, language=None, wrap_lines=True)


def _numbered(view: View, number: int, text: str) -> str:
    return view.t("**{number}** {text}", number=number, text=text)


@st.cache_data(show_spinner=False)
def archive() -> bytes:
    """Return the probe as the one file that is copied to a host."""
    return build.archive()
