"""Small plans and logs that agree with each other, for tests that change one thing at a time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec

from budget import rules, workflow
from budget.attempts import (
    Attempt,
    Call,
    Change,
    Code,
    Failure,
    Gpu,
    Host,
    ImportedLog,
    Intended,
    Measurements,
    Memory,
    Phase,
    Session,
    Software,
    Wait,
)
from budget.conditions import serve
from budget.estimates import Estimate, estimate
from budget.facts import Facts, Verdict
from budget.figures import Source
from budget.messages import Message, Quantity
from budget.project import (
    Block,
    Campaign,
    Condition,
    Environment,
    Holds,
    Prepare,
    Project,
    Quote,
    Requirements,
)
from budget.spending import spending

AS_OF = date(2027, 1, 4)
START = datetime(2027, 1, 3, 8, tzinfo=UTC)
GIB = 2**30
H100_BYTES = 80 * GIB
COMMIT = "0123456789ab"
LINE = Source("log", "trial.jsonl", 1)
H100 = Gpu(name="NVIDIA H100 80GB HBM3", memory_bytes=H100_BYTES)
GPU_HOST = Host(os="linux-x86_64", ram_bytes=256 * GIB, driver="550.54.15", gpus=(H100,))
CPU_HOST = Host(os="linux-x86_64", ram_bytes=32 * GIB, gpus_why="nvidia-smi was not found")
MAC_HOST = Host(os="macos-arm64", ram_bytes=64 * GIB, gpus_why="nvidia-smi was not found")
SOFTWARE = Software(torch="2.13.0+cu126", cuda="12.6")
CPU_SOFTWARE = Software(torch="2.13.0")

RENTED = Environment(
    id="h100",
    label="one H100",
    os="linux-x86_64",
    gpu="NVIDIA H100 80GB HBM3",
    gpu_count=1,
    gpu_memory_bytes=H100_BYTES,
    torch="2.13.0",
    cuda="12.6",
)
CPU = Environment(
    id="cpu", label="a CPU host", os="linux-x86_64", gpu_count=0, ram_bytes=32 * GIB, torch="2.13"
)
MAC = Environment(
    id="mac", label="a Mac", access="owned", os="macos-arm64", gpu_count=0, ram_bytes=64 * GIB,
    torch="2.13", available_hours_per_week=40,
)  # fmt: skip
NO_WAITS: dict[Any, float | None] = {"decision": 0, "fix": 0, "files": 0}
CAMPAIGN = Campaign(
    start=date(2027, 1, 4),
    end=date(2027, 1, 31),
    deadline=date(2027, 1, 31),
    cap=Decimal(1000),
    need_horizon_months=1,
)
QUOTE = Quote(
    id="q1",
    environment="h100",
    amount=Decimal("2.50"),
    currency="EUR",
    per="gpu-hour",
    holds=Holds(gpus=1, host="included", tax="excluded"),
    source="offer 7",
    verified_on=date(2027, 1, 1),
    accept_by=date(2027, 3, 1),
)


def condition(**changes: Any) -> Condition:
    given: dict[str, Any] = {
        "code": COMMIT, "model": "m", "input_tokens": 1000, "output_tokens": 100,
        "batch_size": 1, "parameters": {"ratio": "0.3"}, **changes,
    }  # fmt: skip
    return Condition(**given)


def block(name: str = "reference", **changes: Any) -> Block:
    """A block of 10 runs in 2 sessions on one H100, prepared elsewhere, without waits."""
    given: dict[str, Any] = {
        "status": "chosen", "environment": "h100", "gpus": 1, "condition": condition(),
        "planned_runs": 10, "sessions": 2, "waits_h": dict(NO_WAITS),
        "prepare": Prepare(on_rented_machine=False), **changes,
    }  # fmt: skip
    return Block(id=name, **given)


def project(*blocks: Block, **changes: Any) -> Project:
    given: dict[str, Any] = {
        "title": "t", "currency": "EUR", "campaign": CAMPAIGN, "environments": (RENTED, CPU, MAC),
        "requirements": Requirements(accelerator="cuda"), "quotes": (QUOTE,), **changes,
    }  # fmt: skip
    return Project(blocks=blocks or (block(),), **given)


def at(hours: float) -> datetime:
    """A moment that many hours after the first session began."""
    return START + timedelta(hours=hours)


def phase(name: str, seconds: float | None, key: str = "p") -> Phase:
    return Phase(
        key=f"{key}-{name}", source=LINE, name=name, layer="api", duration_s=seconds  # type: ignore[arg-type]
    )  # fmt: skip


def call(seconds: float | None, index: int = 0, **sizes: int) -> Call:
    return Call(key=f"c{index}", source=LINE, duration_s=seconds, **sizes)


def failure(text: str = "boom", kind: str = "RuntimeError") -> Failure:
    return Failure(key=f"f-{text}", source=LINE, kind=kind, text=text)


OOM = failure("CUDA out of memory. Tried to allocate 20.00 GiB", "OutOfMemoryError")
REFUSED = failure("CUDA error: no kernel image is available for execution on the device")


def attempt(name: str = "a1", **changes: Any) -> Attempt:
    """An hour of running, after 360 s of loading, with 40 GiB at the peak; 10 s belong to none."""
    seconds = changes.pop("run_s", 3600.0)
    load = changes.pop("load_s", 360.0)
    host = changes.get("host", GPU_HOST)
    where = "host" if not host.gpus else "0"
    peak = changes.pop("peak_bytes", 40 * GIB if host.gpus else 8 * GIB)
    memory = Memory(
        device=where,
        layer="parent",
        device_peak_bytes=peak if host.gpus else None,
        resident_peak_bytes=None if host.gpus else peak,
    )
    outcome = changes.get("outcome", "ok")
    phases = [phase("load", load, name), phase("run", seconds, name)]
    given: dict[str, Any] = {
        "session": "s1", "block": "reference", "role": "trial", "outcome": outcome,
        "started_at": START, "duration_s": load + seconds + 10.0,
        "code": Code(commit=COMMIT, dirty=False),
        "intended": Intended(
            model="m", input_tokens=1000, output_tokens=100, batch_size=1,
            parameters={"ratio": "0.3"},
        ),
        "host": host, "software": SOFTWARE if host.gpus else CPU_SOFTWARE,
        "phases": tuple(phases), "memory": (memory,), "source": LINE, **changes,
    }  # fmt: skip
    return Attempt(id=name, **given)


def session(name: str = "s1", hours: float = 4.0, start: float = 0.0, **changes: Any) -> Session:
    given: dict[str, Any] = {
        "host": GPU_HOST, "boot": name, "started_at": at(start), "ended_at": at(start + hours),
        "closed": True, "source": LINE, **changes,
    }  # fmt: skip
    return Session(id=name, **given)


def change(hours: float) -> Change:
    return Change(kind="dependency", what="torch", at=at(hours), source=LINE)


def wait(reason: str, hours: float, start: float = 0.0) -> Wait:
    return Wait(reason=reason, started_at=at(start), duration_s=hours * 3600, source=LINE)


def runs(*values: tuple[str, float], **changes: Any) -> tuple[Attempt, ...]:
    """Attempts of given (session, run seconds), one after the other."""
    prefix = changes.pop("prefix", "a")
    first = changes.pop("first", 0.0)
    return tuple(
        attempt(f"{prefix}{index}", session=name, run_s=seconds, started_at=at(first + index),
                **changes)
        for index, (name, seconds) in enumerate(values, start=1)
    )  # fmt: skip


STEADY = (("s1", 3600.0), ("s1", 3610.0), ("s2", 3590.0), ("s2", 3600.0), ("s3", 3605.0))
"""Five runs in three sessions that differ by less than 1 %."""


def sessions_of(attempts: tuple[Attempt, ...]) -> tuple[Session, ...]:
    """One closed session of 4 h for each that attempts name, a day apart."""
    hosts = {item.session: item.host for item in attempts}
    return tuple(
        session(name, start=-24.0 * index, host=host)
        for index, (name, host) in enumerate(hosts.items())
    )


def log(attempts: tuple[Attempt, ...], sessions: tuple[Session, ...] | None = None) -> ImportedLog:
    own = sessions_of(attempts) if sessions is None else sessions
    return ImportedLog(name="trial.jsonl", format="probe", sessions=own, attempts=attempts)


def assess(
    plan: Project,
    *attempts: Attempt,
    sessions: tuple[Session, ...] | None = None,
    as_of: date = AS_OF,
) -> workflow.Assessment:
    logs = [log(attempts, sessions)] if attempts or sessions else []
    return workflow.assess(plan, logs, as_of)


def estimated(
    plan: Project, *attempts: Attempt, sessions: tuple[Session, ...] | None = None
) -> Estimate:
    """The estimate of the plan's first block."""
    return assess(plan, *attempts, sessions=sessions).estimates[0]


def facts(plan: Project, *attempts: Attempt, as_of: date = AS_OF,
          sessions: tuple[Session, ...] | None = None) -> Facts:  # fmt: skip
    measurements = Measurements(
        sessions=sessions_of(attempts) if sessions is None else sessions, attempts=attempts
    )
    services = serve(plan, measurements)
    return Facts(
        project=plan,
        as_of=as_of,
        measurements=measurements,
        services=services,
        estimates=estimate(plan, measurements, services),
        spending=spending(plan, measurements, services),
    )


def verdict(rule: Any, plan: Project, *attempts: Attempt, **more: Any) -> Verdict:
    """The rule's verdict on the plan's first block, or on the project."""
    assert rule in rules.ALL
    result: Verdict = rule.judge(facts(plan, *attempts, **more))[0]
    assert result.outcome != "unknown" or result.do_next is not None
    return result


def words(value: Any) -> str:
    """A text as a reader sees it, without the finer points of formatting."""
    if isinstance(value, Message):
        return value.text.format(**{key: words(item) for key, item in value.values.items()})
    if isinstance(value, Quantity):
        number = value.value
        return (
            f"{number:.4g} {value.unit}" if isinstance(number, float) else f"{number} {value.unit}"
        )
    if isinstance(value, (tuple, list)):
        return ", ".join(words(item) for item in value)
    return str(value)


def replace(item: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(item, **changes)
