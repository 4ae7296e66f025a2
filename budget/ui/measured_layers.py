"""Which layer measured each figure of an attempt, and what each device held."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from budget.attempts import PHASES, Attempt, Memory
from budget.messages import Message, msg
from budget.ui import page
from budget.ui.page import View

LAYERS: dict[str, Message] = {
    "parent": msg("parent: the probe from outside"),
    "hook": msg("hook: the probe inside the program"),
    "api": msg("api: the program itself"),
}
"""What the name of a layer means; it stands below the table that uses it."""


def figures(view: View, attempt: Attempt) -> None:
    """Draw every figure of an attempt with the layer that measured it, or why it is missing."""
    rows: list[tuple[str, str, str]] = []
    used: list[str] = []

    def add(name: str, value: str, layers: Iterable[str]) -> None:
        used.extend(layers)
        rows.append((name, value, ", ".join(layers)))

    lasted = view.t("not recorded")
    if attempt.duration_s is not None:
        lasted = view.words.quantity(attempt.duration_s, "s")
        if attempt.outcome is None:
            lasted = view.t("at least {time}", time=lasted)
        if len(attempt.parts) > 1:
            lasted = view.t("{time}, the slowest rank", time=lasted)
    add(view.t("wall time"), lasted, ["parent"])
    for name in PHASES:
        seconds = attempt.phase_s(name)
        value = (
            view.words.text(no_phase(attempt, name))
            if seconds is None
            else view.words.quantity(seconds, "s")
        )
        add(view.words.text(msg(name)), value, attempt.layers_of(name))
    calls = attempt.counted_calls
    add(
        view.t("calls"),
        _calls(view, attempt) if calls else view.t("none recorded"),
        sorted({(item.read_by or "api").partition(":")[0] for item in calls}),
    )
    if attempt.host.gpus and not attempt.devices_read_by:
        why = attempt.devices_why or view.t("no reason recorded")
        add(view.t("cards"), view.t("missing: not sampled, {why}", why=why), [])
    st.markdown(f"**{view.t('Which layer measured it')}**")
    _table((view.t("figure"), view.t("value"), view.t("layer")), rows)
    meant = [view.words.text(text) for layer, text in LAYERS.items() if layer in used]
    st.caption("; ".join(meant))


def no_phase(attempt: Attempt, name: str) -> Message:
    """Return why an attempt has no time of a phase. Never 0: nobody measured it."""
    if any(phase.name == name and not phase.ended for phase in attempt.phases):
        return msg("missing: it did not end")
    if attempt.hook == "not-loaded":
        why = attempt.hook_why or msg("no reason recorded")
        return msg("missing: the hook did not load: {why}", why=why)
    if attempt.hook == "idle":
        return msg("missing: the hook saw no library that it knows")
    return msg("not recorded")


def devices(view: View, attempt: Attempt) -> None:
    """Draw what each device held at most, by layer, against its memory. Nothing is added up."""
    entries = _highest(attempt)
    if not entries:
        return
    rows = []
    nodes = {item.node for item in entries if item.node is not None}
    for item in entries:
        limit = attempt.host.memory_of(item.device)
        on = item.resident_peak_bytes if item.device == "host" else item.device_peak_bytes
        values = (on, item.process_peak_bytes, item.allocator_peak_bytes, item.tensor_peak_bytes,
                  item.baseline_bytes, limit)  # fmt: skip
        rows.append(
            (
                _device(view, item, several_nodes=len(nodes) > 1),
                view.words.text(item.layer),
                *("" if value is None else view.words.quantity(value, "bytes") for value in values),
            )
        )
    heads = (
        view.t("device"),
        view.t("layer"),
        view.t("in use"),
        view.t("by its processes"),
        view.t("PyTorch held"),
        view.t("tensors"),
        view.t("before the start"),
        view.t("memory there is"),
    )
    filled = [at for at in range(len(heads)) if at < 3 or any(row[at] for row in rows)]
    st.markdown(f"**{view.t('Peak memory of each device')}**")
    _table([heads[at] for at in filled], [[row[at] for at in filled] for row in rows])
    if any(item.attribution == "device" for item in entries):
        st.caption(
            view.t(
                "The driver did not name the command's processes, as in a container: only the "
                "whole card is known."
            )
        )


def _highest(attempt: Attempt) -> list[Memory]:
    """Return of each device, node, rank of the host, and layer the record with the highest peak."""
    found: dict[tuple[object, ...], Memory] = {}
    for item in (*attempt.memory, *(one for phase in attempt.phases for one in phase.memory)):
        rank = item.rank if item.device == "host" else None
        key = (item.node or 0, item.device != "host", item.device, item.layer, rank)
        known = found.get(key)
        if known is None or _size(item) > _size(known):
            found[key] = item
    return [found[key] for key in sorted(found, key=lambda key: tuple(map(str, key)))]


def _size(item: Memory) -> int:
    peaks = (item.device_peak_bytes, item.resident_peak_bytes, item.allocator_peak_bytes,
             item.tensor_peak_bytes)  # fmt: skip
    return max((peak for peak in peaks if peak is not None), default=0)


def _device(view: View, item: Memory, *, several_nodes: bool) -> str:
    name = view.t("host") if item.device == "host" else view.t("card {index}", index=item.device)
    if item.device == "host" and item.rank is not None:
        name = view.t("{device}, rank {rank}", device=name, rank=item.rank)
    if several_nodes and item.node is not None:
        name = view.t("{device}, node {node}", device=name, node=item.node)
    return name


def _calls(view: View, attempt: Attempt) -> str:
    calls = attempt.counted_calls
    text = view.t("1 call") if len(calls) == 1 else view.t("{count} calls", count=len(calls))
    ranks = {item.rank for item in attempt.calls}
    if len(ranks) > 1:
        text = view.t(
            "{calls} of rank {rank}; {ranks} ranks recorded some",
            calls=text,
            rank=calls[0].rank,
            ranks=len(ranks),
        )
    return text


def _table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    columns: dict[str, list[str]] = {head: [] for head in heads}
    for row in rows:
        for column, cell in zip(columns.values(), row, strict=True):
            column.append(page.plain(cell))
    st.table(columns, hide_index=True, border="horizontal")
