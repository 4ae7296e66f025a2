"""The columns of the plan's tables, and how one cell is written and read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from budget.messages import Message, Problem, msg
from budget.numerals import read_number, shortened

Cell: TypeAlias = str | bool | None


@dataclass(frozen=True)
class Column:
    """One column: the field of the document it holds, its heading, its help and its choices."""

    path: tuple[str, ...]
    label: Message
    help: Message
    choices: Mapping[str, Message] = field(default_factory=dict)
    default: str | bool | None = None
    reads: Literal["text", "flag", "parameters", "names", "memory", "machine"] = "text"

    @property
    def name(self) -> str:
        """The name of the column in a table of text."""
        return ".".join(self.path)


def _choice(path: str, label: Message, help: Message, **choices: Message) -> Column:
    return Column(tuple(path.split(".")), label, help, choices, next(iter(choices)))


def _text(path: str, label: Message, help: Message) -> Column:
    return Column(tuple(path.split(".")), label, help)


PLAN: tuple[Column, ...] = (
    _text("id", msg("id"), msg("A short name: letters, digits, dots, dashes, underscores.")),
    _text("title", msg("title"), msg("What the block is, in words.")),
    _choice(
        "kind", msg("kind"), msg("What the block is for."),
        reference=msg("reference"), comparison=msg("comparison"),
        extension=msg("extension"), verification=msg("verification"),
    ),
    Column(
        ("status",), msg("status"),
        msg("Confirmed by the protocol (say where), chosen by the team, or undetermined."),
        {"undetermined": msg("undetermined"), "chosen": msg("chosen"),
         "confirmed": msg("confirmed")}, "undetermined",
    ),
    _text("protocol_ref", msg("protocol"), msg("Where the protocol says so: Table 2, row 3.")),
    _text("planned_runs", msg("planned runs"), msg("How many runs are planned in all.")),
    _choice(
        "unit", msg("unit"), msg("What one planned run is: a whole attempt, or one call in it."),
        attempt=msg("attempt"), call=msg("call"),
    ),
    _text("sessions", msg("sessions"), msg("In how many reservations the runs are done.")),
    Column(("environment",), msg("machine"), msg("A machine of the table Machines."),
           reads="machine"),
    _text("gpus", msg("GPUs"), msg("GPUs that one run uses; 0 for none.")),
    _choice(
        "load_per", msg("load per"), msg("Whether the model is loaded for every run or once."),
        run=msg("run"), session=msg("session"),
    ),
    _text("waits_h.decision", msg("wait, decision (h)"),
          msg("Hours reserved while somebody decides. 0 for none; empty is missing.")),
    _text("waits_h.fix", msg("wait, fix (h)"),
          msg("Hours reserved while something is mended. 0 for none; empty is missing.")),
    _text("waits_h.files", msg("wait, files (h)"),
          msg("Hours reserved while files arrive. 0 for none; empty is missing.")),
    _choice("need", msg("need"), msg("Whether the result can do without the block."),
            essential=msg("essential"), optional=msg("optional")),
    _choice("state", msg("state"), msg("How far the block is; done and dropped need nothing more."),
            planned=msg("planned"), running=msg("running"), done=msg("done"),
            dropped=msg("dropped")),
)  # fmt: skip
CONDITIONS: tuple[Column, ...] = (
    _text("condition.code", msg("code"), msg("Commit of the code; +hash for a changed tree.")),
    _text("condition.model", msg("model"), msg("The model as the log names it.")),
    _text("condition.input_tokens", msg("input tokens"), msg("Tokens that go in per item.")),
    _text("condition.output_tokens", msg("output tokens"), msg("Tokens that come out per item.")),
    _text("condition.batch_size", msg("batch size"), msg("Items at once.")),
    Column(("condition", "parameters"), msg("parameters"),
           msg("Everything else that must agree: ratio=0.3, seed=0"), reads="parameters"),
)  # fmt: skip
PREPARATION: tuple[Column, ...] = (
    Column(
        ("prepare", "per"), msg("prepare per"), msg("How often preparation happens."),
        {"session": msg("session"), "block": msg("block"), "run": msg("run")}, "session",
    ),
    Column(("prepare", "on_rented_machine"), msg("on the machine"),
           msg("Whether preparation takes time on the rented machine."),
           default=True, reads="flag"),
    Column(("count_trials",), msg("count trials"),
           msg("Whether trial runs count towards the planned runs."), default=False, reads="flag"),
    Column(("depends_on",), msg("depends on"),
           msg("Blocks that must be done before, by id: reference, comparison"), reads="names"),
    _text("recurs.runs_per_week", msg("runs per week"),
          msg("Where the work comes back after the campaign: how often.")),
    _text("recurs.until", msg("recurs until"), msg("The last day of that, such as 2027-12-31.")),
    _text("waits_h.queue", msg("wait, queue (h)"), msg("Hours reserved while in a queue.")),
    _text("waits_h.other", msg("wait, other (h)"), msg("Hours reserved for any other reason.")),
)  # fmt: skip
MACHINES: tuple[Column, ...] = (
    _text("id", msg("id"), msg("A short name: letters, digits, dots, dashes, underscores.")),
    _text("label", msg("label"), msg("The machine in words.")),
    _choice("access", msg("access"), msg("How the team comes to use it."),
            rented=msg("rented"), owned=msg("owned"), granted=msg("granted")),
    _text("gpu", msg("GPU"), msg("As its driver names it: NVIDIA H100 80GB HBM3")),
    _text("gpu_count", msg("GPUs"), msg("GPUs in the machine; 0 for none.")),
    Column(("gpu_memory_bytes",), msg("GPU memory"),
           msg("Memory of one GPU with its unit, such as 80 GiB, or in bytes."), reads="memory"),
    Column(("ram_bytes",), msg("RAM"),
           msg("Memory of the host with its unit, such as 64 GiB, or in bytes."), reads="memory"),
    _text("os", msg("system"), msg("As the log names it: linux-x86_64")),
    _text("driver", msg("driver"), msg("Version of the GPU driver.")),
    _text("torch", msg("torch"), msg("Version of PyTorch.")),
    _text("cuda", msg("CUDA"), msg("CUDA version that PyTorch was built for.")),
    _text("mig_profile", msg("MIG"), msg("Profile of the partition; empty for a whole device.")),
    _text("available_hours_per_week", msg("free hours per week"),
          msg("Hours per week in which the work may use it, up to 168.")),
    Column(
        ("cuda_compatible",), msg("CUDA fits"),
        msg("Whether the software runs with its CUDA; a measured run outranks this answer."),
        {"unknown": msg("unknown"), "yes": msg("yes"), "no": msg("no")}, "unknown",
    ),
)  # fmt: skip
TABLES: dict[str, tuple[Column, ...]] = {
    "plan": PLAN,
    "conditions": CONDITIONS,
    "preparation": PREPARATION,
    "machines": MACHINES,
}
TITLES: dict[str, Message] = {
    "plan": msg("Plan"),
    "conditions": msg("Conditions"),
    "preparation": msg("Preparation and recurrence"),
    "machines": msg("Machines"),
}
GROUPS = {
    "plan": "blocks",
    "conditions": "blocks",
    "preparation": "blocks",
    "machines": "environments",
}
"""The list of the document that each table shows."""

GROWING = ("plan", "machines")
"""The tables to which rows are added; the others have one row per block."""

_UNITS = {"gib": 2**30, "mib": 2**20}
LEAST_BARE_BYTES = 2**20
"""A smaller number without a unit is no memory size that anybody means in bytes."""


def shown(column: Column, value: Any) -> Cell:
    """Return a value of the document as its cell shows it."""
    if value is None:
        return column.default if column.reads == "flag" else None
    if column.reads == "flag":
        return bool(value)
    if column.reads == "parameters":
        return ", ".join(f"{name}={text}" for name, text in value.items()) or None
    if column.reads == "names":
        return ", ".join(value) or None
    if column.reads == "memory":
        size = f"{int(value) / 2**30:.2f}".rstrip("0").rstrip(".")
        return f"{size} GiB" if float(size) else str(value)
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return str(value) or None


def read(column: Column, cell: Cell) -> Any:
    """Return what a cell says as the document holds it, or the problem with it."""
    if column.reads == "parameters":
        return _parameters(str(cell or ""))
    if column.reads == "names":
        return [name.strip() for name in str(cell or "").split(",") if name.strip()]
    if column.reads == "memory" and cell is not None:
        return _memory(str(cell))
    return cell


def _parameters(text: str) -> dict[str, str] | Problem:
    found: dict[str, str] = {}
    for part in (item.strip() for item in text.split(",")):
        if not part:
            continue
        name, mark, value = (piece.strip() for piece in part.partition("="))
        if not (name and mark and value):
            return Problem(
                "",
                msg('"{text}" is no parameter with a value', text=shortened(part)),
                msg("write name=value, separated by commas: ratio=0.3, seed=0"),
            )
        if name in found:
            return Problem(
                "",
                msg("the parameter {name} stands here twice", name=shortened(name)),
                msg("keep one of them"),
            )
        found[name] = value
    return found


def _memory(text: str) -> str | Problem:
    split = re.fullmatch(r"(.*?)\s*([A-Za-z]*)", text.strip())
    amount, unit = (split[1], split[2].lower()) if split else (text, "")
    number = read_number(amount)
    if isinstance(number, Problem):
        return number
    if unit in _UNITS:
        return str(int((number * _UNITS[unit]).to_integral_value()))
    bare = unit in ("", "b", "bytes")
    if bare and (abs(number) >= LEAST_BARE_BYTES or number <= 0):
        return f"{number:f}"
    size = f"{abs(number).normalize():f}" if number else "80"
    return Problem(
        "",
        msg('"{text}" does not say which unit of memory', text=shortened(text))
        if bare
        else msg('"{text}" has a unit that is read in two ways', text=shortened(text)),
        msg("write {size} GiB, or the number of bytes", size=size),
    )


def said(value: object) -> Cell:
    """Return a cell as it is kept: a flag, a text without blanks around it, or None."""
    if value is None or isinstance(value, bool):
        return value
    return str(value).strip() or None
