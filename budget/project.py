"""The project document: everything a person decided or typed, as frozen records.

``null`` always means "nobody has said": it is shown as missing and never replaced by a value.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Annotated, Literal, get_type_hints

import msgspec
from msgspec import Meta

SCHEMA = "compute-budget/1"
"""Version of the document format. History: /1 (0.1.0) first version."""

Known = Literal["yes", "no", "unknown"]
Available = Literal["available", "missing", "unknown"]
Kind = Literal["reference", "comparison", "extension", "verification"]
Status = Literal["confirmed", "chosen", "undetermined"]
Need = Literal["essential", "optional"]
BlockState = Literal["planned", "running", "done", "dropped"]
Access = Literal["rented", "owned", "granted"]
WaitReason = Literal["decision", "fix", "files", "queue", "other"]
QuoteKind = Literal[
    "on-demand", "spot", "reserved", "purchase", "energy", "colocation", "administration",
    "maintenance", "storage", "transfer", "resale", "exchange",
]  # fmt: skip
QuoteUnit = Literal[
    "gpu-hour", "machine-hour", "machine-day", "machine-month", "machine-year", "machine",
    "kwh", "hour", "gb-month", "percent-year",
]  # fmt: skip

ID_PATTERN = r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z"
CURRENCY_PATTERN = r"\A[A-Z]{3}\Z"

Id = Annotated[str, Meta(pattern=ID_PATTERN)]
Count = Annotated[int, Meta(ge=1)]
Tokens = Annotated[int, Meta(ge=0)]
Hours = Annotated[float, Meta(ge=0)]
Amount = Annotated[Decimal, Meta(extra={"ge": 0})]
"""Money and other exact numbers. Bounds of decimals stand in ``extra``; ``documents`` checks them,
since msgspec constrains only int and float."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every part of the document."""


class Campaign(Record, frozen=True, kw_only=True):
    """When the work happens and what bounds it. Days are whole; ``end`` is the last day."""

    start: date | None = None
    end: date | None = None
    deadline: date | None = None
    machines_at_once: Count = 1
    cap: Amount | None = None
    need_horizon_months: Annotated[float, Meta(ge=0)] | None = None


class Paper(Record, frozen=True, kw_only=True):
    """The publication to reproduce."""

    title: str | None = None
    version: str | None = None
    url: str | None = None


class Result(Record, frozen=True, kw_only=True):
    """One result of the paper that shall be reproduced."""

    id: Id
    ref: str | None = None
    metric: str | None = None
    value: str | None = None
    tolerance: str | None = None
    need: Need = "essential"


class Model(Record, frozen=True, kw_only=True):
    """A model whose weights are needed."""

    id: str
    weights: Available = "unknown"
    licence: str | None = None
    evidence: str | None = None


class Dataset(Record, frozen=True, kw_only=True):
    """Data that are needed."""

    id: str
    state: Available = "unknown"
    licence: str | None = None
    evidence: str | None = None


class Repository(Record, frozen=True, kw_only=True):
    """The code of the paper."""

    url: str | None = None
    commit: str | None = None
    state: Available = "unknown"
    starts: Known = "unknown"
    matches_paper: Known = "unknown"


class Answer(Record, frozen=True, kw_only=True):
    """An answer of the checklist and what it rests on."""

    answer: Known = "unknown"
    evidence: str | None = None


class Scope(Record, frozen=True, kw_only=True):
    """What will be reproduced."""

    paper: Paper = Paper()
    results: tuple[Result, ...] = ()
    models: tuple[Model, ...] = ()
    datasets: tuple[Dataset, ...] = ()
    generation: dict[str, str] = {}
    methods: tuple[str, ...] = ()
    repository: Repository = Repository()
    checklist: dict[str, Answer] = {}
    differences: tuple[str, ...] = ()
    preparation: tuple[str, ...] = ()


class Requirements(Record, frozen=True, kw_only=True):
    """What the software needs from a platform."""

    accelerator: Literal["cuda", "rocm", "mps", "any", "unknown"] = "unknown"


class Environment(Record, frozen=True, kw_only=True):
    """A type of host. ``gpu_count: 0`` says that it has none; then ``ram_bytes`` is its memory."""

    id: Id
    label: str | None = None
    access: Access = "rented"
    os: str | None = None
    gpu: str | None = None
    gpu_count: Annotated[int, Meta(ge=0)] | None = None
    gpu_memory_bytes: Annotated[int, Meta(ge=1)] | None = None
    mig_profile: str | None = None
    driver: str | None = None
    ram_bytes: Annotated[int, Meta(ge=1)] | None = None
    torch: str | None = None
    cuda: str | None = None
    libraries: dict[str, str] = {}
    available_hours_per_week: Annotated[float, Meta(ge=0, le=168)] | None = None
    cuda_compatible: Known = "unknown"
    """A declared answer; measured attempts outrank it."""


class Durable(Record, frozen=True, kw_only=True):
    """What decides whether a machine of one's own could be run at all."""

    must_stay_available: Known = "unknown"
    can_administer: Known = "unknown"
    specific_hardware: Known = "unknown"


class Condition(Record, frozen=True, kw_only=True):
    """The intended condition of a block: what must agree for an attempt to speak for it."""

    code: str | None = None
    model: str | None = None
    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    batch_size: Count | None = None
    parameters: dict[str, str] = {}


class Prepare(Record, frozen=True, kw_only=True):
    """How often preparation happens and whether it occupies the rented machine."""

    per: Literal["block", "session", "run"] = "session"
    on_rented_machine: bool = True


class Recurrence(Record, frozen=True, kw_only=True):
    """Work that comes back."""

    runs_per_week: Annotated[float, Meta(gt=0)] | None = None
    until: date | None = None


class Block(Record, frozen=True, kw_only=True):
    """A piece of planned work. One planned run is one attempt or one call (``unit``)."""

    id: Id
    title: str | None = None
    kind: Kind = "reference"
    status: Status = "undetermined"
    need: Need = "essential"
    state: BlockState = "planned"
    protocol_ref: str | None = None
    environment: str | None = None
    gpus: Annotated[int, Meta(ge=0)] | None = None
    condition: Condition = Condition()
    planned_runs: Count | None = None
    unit: Literal["attempt", "call"] = "attempt"
    load_per: Literal["run", "session"] = "run"
    prepare: Prepare = Prepare()
    sessions: Count | None = None
    waits_h: dict[WaitReason, Hours | None] = {}
    recurs: Recurrence | None = None
    count_trials: bool = False
    depends_on: tuple[str, ...] = ()


class Assignment(Record, frozen=True, kw_only=True):
    """A person's word on an attempt: it serves ``block``, or (``null``) none; and why."""

    block: str | None = None
    reason: str


class Holds(Record, frozen=True, kw_only=True):
    """What one unit of a price holds."""

    gpus: Annotated[int, Meta(ge=0)] | None = None
    host: Literal["included", "excluded", "unknown"] = "unknown"
    tax: Literal["included", "excluded", "unknown"] = "unknown"


class Billing(Record, frozen=True, kw_only=True):
    """How time is rounded before it is charged, in seconds."""

    increment_s: Annotated[int, Meta(ge=1)] | None = None
    minimum_s: Annotated[int, Meta(ge=0)] | None = None


class Quote(Record, frozen=True, kw_only=True):
    """A price somebody gave. Fields left out make it unusable with that reason, never wrong."""

    id: Id
    environment: str | None = None
    kind: QuoteKind = "on-demand"
    amount: Annotated[Decimal, Meta(extra={"ge": 0})] | None = None
    currency: str | None = None
    per: QuoteUnit | None = None
    holds: Holds = Holds()
    source: str | None = None
    verified_on: date | None = None
    verified_by: str | None = None
    accept_by: date | None = None
    price_from: date | None = None
    price_until: date | None = None
    billing: Billing = Billing()
    example: bool = False


class Ownership(Record, frozen=True, kw_only=True):
    """Assumptions about a machine of one's own."""

    gpu_count: Count | None = None
    life_years: Annotated[Decimal, Meta(extra={"gt": 0})] | None = None
    discount_rate: Annotated[Decimal, Meta(extra={"ge": 0})] | None = None
    power_kw: Annotated[Decimal, Meta(extra={"ge": 0})] | None = None
    pue: Annotated[Decimal, Meta(extra={"ge": 1})] | None = None
    admin_hours_per_month: Annotated[Decimal, Meta(extra={"ge": 0})] | None = None
    utilisation: Annotated[Decimal, Meta(extra={"gt": 0, "le": 1})] | None = None


def _threshold(unit: str, source: str) -> Meta:
    return Meta(gt=0, description=source, extra={"unit": unit})


class Policy(Record, frozen=True, kw_only=True):
    """Named thresholds. A default is *assumed* until the document sets or confirms it."""

    size_tolerance: Annotated[
        float, _threshold("share", "own choice: sizes within 5 % load a machine alike")
    ] = 0.05
    range_level: Annotated[
        float, _threshold("share", "usual level of a two-sided prediction interval")
    ] = 0.95
    decision_grade_units: Annotated[
        int, _threshold("units", "n = 2 gives t = 12.7, a range wider than the value")
    ] = 3
    decision_grade_sessions: Annotated[
        int, _threshold("sessions", "k = 2 gave +-62 % of the total in simulation")
    ] = 3
    session_merge_h: Annotated[
        float, _threshold("h", "sessions of one boot within an hour are one allocation")
    ] = 1.0
    memory_margin_share: Annotated[
        float, _threshold("share", "allocators fragment: 5 % of the device is kept free")
    ] = 0.05
    memory_margin_bytes: Annotated[
        int, _threshold("bytes", "context and libraries outside the allocator: 1 GiB")
    ] = 2**30
    quote_age_days: Annotated[
        int, _threshold("days", "list prices have moved by a quarter within a quarter")
    ] = 30
    undetermined_share: Annotated[
        float, _threshold("share", "own choice: half the plan open is not a settled load")
    ] = 0.5
    success_share: Annotated[
        float, _threshold("share", "own choice: four of five attempts should succeed")
    ] = 0.8
    spread_share: Annotated[
        float, _threshold("share", "pyperf calls a benchmark unstable from 10 % of the mean")
    ] = 0.10
    drift_share: Annotated[
        float, _threshold("share", "own choice: the last session's mean against the first's")
    ] = 0.25
    continuity_hours_per_week: Annotated[
        float, _threshold("h/week", "own choice: about half of the 168 hours of a week")
    ] = 80.0
    continuity_months: Annotated[
        float, _threshold("months", "own choice: a year of need before owning is compared")
    ] = 12.0


class Declaration(Record, frozen=True, kw_only=True):
    """Who typed a value, and when."""

    by: str
    on: date


class Project(Record, frozen=True, kw_only=True):
    """The whole document."""

    title: str
    schema: Literal["compute-budget/1"] = "compute-budget/1"
    currency: Annotated[str, Meta(pattern=CURRENCY_PATTERN)] | None = None
    as_of: date | None = None
    campaign: Campaign = Campaign()
    scope: Scope = Scope()
    requirements: Requirements = Requirements()
    environments: tuple[Environment, ...] = ()
    durable: Durable = Durable()
    blocks: tuple[Block, ...] = ()
    attempts: dict[str, Assignment] = {}
    quotes: tuple[Quote, ...] = ()
    ownership: Ownership = Ownership()
    policy: Policy = Policy()
    declared: dict[str, Declaration] = {}

    def environment(self, environment_id: str | None) -> Environment | None:
        """Return the environment of that id, or None."""
        return next((item for item in self.environments if item.id == environment_id), None)

    def block(self, block_id: str | None) -> Block | None:
        """Return the block of that id, or None."""
        return next((item for item in self.blocks if item.id == block_id), None)


def open_blocks(project: Project) -> tuple[Block, ...]:
    """Return the blocks that vote: determined, and neither done nor dropped."""
    return tuple(
        block
        for block in project.blocks
        if block.status != "undetermined" and block.state not in ("done", "dropped")
    )


def threshold_unit(name: str) -> str:
    """Return the unit of a policy threshold."""
    return str((_threshold_meta(name).extra or {})["unit"])


def threshold_reason(name: str) -> str:
    """Return why a policy threshold has its default value: its source, in English."""
    return str(_threshold_meta(name).description)


def _threshold_meta(name: str) -> Meta:
    hints = get_type_hints(Policy, include_extras=True)
    meta: Meta = hints[name].__metadata__[0]
    return meta
