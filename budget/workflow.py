"""One function per use case: what pages and the command line do with a project.

Functions that keep something take an open store; the others work on what they are given, so that
the command line never needs a database.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

import msgspec

from budget import documents, importers, quotes, rules
from budget.attempts import ImportedLog, Measurements
from budget.checks import check
from budget.cleaning import named
from budget.conditions import Service, serve
from budget.costs import Scenario
from budget.decisions import Decision, decide
from budget.estimates import Estimate, estimate
from budget.facts import Facts
from budget.figures import Figure, Source, State, exact
from budget.joining import combine
from budget.messages import Message, Problem, msg
from budget.project import (
    Assignment,
    Declaration,
    Policy,
    Project,
    threshold_reason,
    threshold_unit,
)
from budget.proposals import propose
from budget.readings import peak, run_per_unit
from budget.revisions import changed_paths, differences
from budget.scenarios import scenarios
from budget.spending import Spending, spending

if TYPE_CHECKING:
    from budget.store import Revision, Store, StoredLog

__all__ = [
    "Assessment",
    "Contradiction",
    "Opened",
    "Problem",
    "Receipt",
    "Threshold",
    "Unreadable",
    "add_files",
    "assess",
    "assign",
    "by_condition",
    "create",
    "differences",
    "open_project",
    "peak",
    "propose",
    "quote_problems",
    "read_logs",
    "run_per_unit",
    "save",
    "since_last",
    "summarise",
    "thresholds",
    "unassign",
]


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that follows from a project and its logs on one day."""

    project: Project
    as_of: date
    measurements: Measurements
    services: tuple[Service, ...]
    estimates: tuple[Estimate, ...]
    spending: Spending
    scenarios: tuple[Scenario, ...]
    decision: Decision

    def estimate(self, block: str) -> Estimate:
        """Return the estimate of a block."""
        return next(item for item in self.estimates if item.block == block)

    def service(self, attempt: str) -> Service:
        """Return what became of an attempt."""
        return next(item for item in self.services if item.attempt == attempt)


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A project as the store holds it now."""

    id: str
    revision: Revision
    project: Project
    problems: tuple[Problem, ...]
    files: tuple[StoredLog, ...]
    logs: tuple[ImportedLog, ...]


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """A named threshold of the policy, and why it has its value."""

    name: str
    figure: Figure
    why: Message


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file a person gave."""

    name: str
    kept: bool
    summary: Message
    problems: tuple[Problem, ...] = ()
    opened: str | None = None
    """Id of the project that a project document became."""


def read_logs(files: Iterable[tuple[str, bytes]]) -> tuple[ImportedLog, ...]:
    """Read measurement logs; what cannot be read stands in each log's problems."""
    return tuple(importers.read(name, data) for name, data in files)


def assess(
    project: Project, logs: Sequence[ImportedLog], as_of: date, *, asked: bool = False
) -> Assessment:
    """Draw every conclusion from a project and its logs.

    A day pinned in the project replaces the default day; one that somebody ``asked`` for wins.
    """
    day = as_of if asked else project.as_of or as_of
    measurements = combine(logs)
    services = serve(project, measurements)
    estimates = estimate(project, measurements, services)
    spent = spending(project, measurements, services)
    priced = scenarios(project, estimates, day)
    facts = Facts(
        project=project,
        as_of=day,
        measurements=measurements,
        services=services,
        estimates=estimates,
        spending=spent,
    )
    return Assessment(
        project=project,
        as_of=day,
        measurements=measurements,
        services=services,
        estimates=estimates,
        spending=spent,
        scenarios=priced,
        decision=decide(facts, rules.ALL, priced),
    )


_PARSED: dict[tuple[str, str], ImportedLog] = {}
"""Logs by content hash and name. Content never changes, so neither does what was read from it."""
MOST_CHANGES = 12
"""Changed fields that a page lists; the others are counted."""
_MOST_PARSED = 500


class Unreadable(ValueError):
    """A kept document that this version cannot read; ``problems`` says where."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(item.where for item in problems))
        self.problems = tuple(problems)


def open_project(store: Store, project_id: str, number: int | None = None) -> Opened | None:
    """Return a project with its logs read, or None when there is none.

    It is the newest revision, or revision ``number``: what a reader sees stays the basis of what
    they save, whatever others save meanwhile. Raises ``Unreadable``.
    """
    revision = store.revision(project_id, number) if number is not None else None
    revision = revision or store.newest(project_id)
    if revision is None:
        return None
    document = documents.read(revision.document.encode(), project_id)
    files = store.logs(project_id)
    logs = []
    for file in files:
        key = (file.hash, file.name)
        if key not in _PARSED:
            if len(_PARSED) >= _MOST_PARSED:
                _PARSED.clear()
            _PARSED[key] = importers.read(file.name, store.read_log(file.hash))
        logs.append(_PARSED[key])
    if document.project is None:
        raise Unreadable(document.problems)
    return Opened(
        id=project_id,
        revision=revision,
        project=document.project,
        problems=document.problems,
        files=tuple(files),
        logs=tuple(logs),
    )


def create(
    store: Store, project: Project, author: str, at: datetime, project_id: str | None = None
) -> str:
    """Keep a new project and return its id."""
    revision = store.create_project(
        documents.write(project), author, at, "project started", project_id
    )
    return revision.project


def save(
    store: Store,
    opened: Opened,
    project: Project,
    author: str,
    at: datetime,
    message: str,
) -> Revision:
    """Keep a changed project as the next revision, noting who declared the values that changed.

    Raises ``ValueError`` with a ``Problem`` list when the project contradicts itself, and the
    store's ``Conflict`` when somebody saved since ``opened`` was read; both versions are kept.
    """
    problems = [Problem(named(path), what, do_next) for path, what, do_next in check(project)]
    if problems:
        raise Contradiction(problems)
    changed = changed_paths(msgspec.to_builtins(opened.project), msgspec.to_builtins(project))
    declared = dict(project.declared)
    for path in changed:
        declared[path] = Declaration(by=author, on=at.date())
    stamped = msgspec.structs.replace(project, declared=declared)
    return store.save(
        opened.id, documents.write(stamped), opened.revision.number, author, at, message
    )


class Contradiction(ValueError):
    """A project that contradicts itself; ``problems`` says where."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(f"{len(problems)} contradictions")
        self.problems = tuple(problems)


def add_files(
    store: Store,
    project_id: str,
    files: Iterable[tuple[str, bytes]],
    author: str,
    at: datetime,
    as_of: date,
) -> tuple[Receipt, ...]:
    """Keep the files a person dropped and say of each what it became.

    A project document becomes a project of its own. A file that no importer reads is not kept.
    """
    receipts = []
    for name, data in files:
        if _looks_like_document(name, data):
            receipts.append(_add_document(store, name, data, author, at))
            continue
        log = importers.read(name, data)
        if not log.attempts and not log.sessions and not log.fragments:
            receipts.append(
                Receipt(
                    name=name,
                    kept=False,
                    problems=log.problems,
                    summary=msg("nothing in it could be read; it was not kept"),
                )
            )
            continue
        stored, fresh = store.add_log(project_id, name, data, author, at)
        if not fresh:
            receipts.append(
                Receipt(
                    name=name,
                    kept=True,
                    summary=msg("already here as {name}; nothing was added", name=stored.name),
                )
            )
            continue
        opened = open_project(store, project_id)
        assert opened is not None  # its log was just kept
        result = assess(opened.project, opened.logs, as_of)
        receipts.append(
            Receipt(
                name=name, kept=True, problems=log.problems, summary=summarise(log, result.services)
            )
        )
    return tuple(receipts)


def summarise(log: ImportedLog, services: Sequence[Service]) -> Message:
    """Return "3 attempts read, 2 serve reference, 1 serves nothing because …"."""
    own = {attempt.id for attempt in log.attempts}
    mine = [service for service in services if service.attempt in own]
    parts: list[Message] = []
    blocks: dict[str, int] = {}
    reasons: dict[Message, int] = {}
    for service in mine:
        if service.block is not None:
            blocks[service.block] = blocks.get(service.block, 0) + 1
        else:
            reasons[service.why] = reasons.get(service.why, 0) + 1
    for block, count in blocks.items():
        text = "{count} serves {block}" if count == 1 else "{count} serve {block}"
        parts.append(msg(text, count=count, block=block))
    for why, count in reasons.items():
        text = (
            "{count} serves nothing because {why}"
            if count == 1
            else "{count} serve nothing because {why}"
        )
        parts.append(msg(text, count=count, why=why))
    head = msg("1 attempt read") if len(own) == 1 else msg("{count} attempts read", count=len(own))
    return msg("{parts}", parts=(head, *parts)) if parts else head


def assign(project: Project, attempt: str, block: str | None, reason: str) -> Project:
    """Return the project in which a person assigned an attempt (``block`` None: excluded it)."""
    word = Assignment(block=block, reason=reason)
    return msgspec.structs.replace(project, attempts={**project.attempts, attempt: word})


def unassign(project: Project, attempt: str) -> Project:
    """Return the project without a person's word on an attempt: its condition decides again."""
    rest = {key: value for key, value in project.attempts.items() if key != attempt}
    return msgspec.structs.replace(project, attempts=rest)


def by_condition(result: Assessment, attempt: str) -> Service:
    """Return what the condition alone makes of an attempt, whatever a person said of it."""
    services = serve(unassign(result.project, attempt), result.measurements)
    return next(item for item in services if item.attempt == attempt)


def quote_problems(
    document: documents.Document,
    name: str,
    result: Assessment,
) -> tuple[Problem, ...]:
    """Return why quotes of a document cannot be used, each at its file and line."""
    problems = []
    for index, quote in enumerate(result.project.quotes):
        judged = quotes.judge(quote, result.project, result.as_of)
        line = document.source.line(("quotes", index))
        for reason in judged.reasons:
            problems.append(
                Problem(
                    f"{name}:{line}",
                    msg("quote {id} is not usable: {reason}", id=quote.id, reason=reason),
                    msg("have it completed or verified again; until then it counts as missing"),
                )
            )
    return tuple(problems)


def thresholds(project: Project) -> tuple[Threshold, ...]:
    """Return every threshold: *assumed* until the project sets or confirms it."""
    defaults, rows = Policy(), []
    for name in Policy.__struct_fields__:
        value = getattr(project.policy, name)
        word = project.declared.get(f"policy.{name}")
        settled = word is not None or value != getattr(defaults, name)
        source = Source(
            "policy", name, on=word.on.isoformat() if word else None, by=word.by if word else None
        )
        rows.append(
            Threshold(
                name=name,
                figure=exact(
                    value,
                    threshold_unit(name),
                    State.DECLARED if settled else State.ASSUMED,
                    source,
                ),
                why=msg(threshold_reason(name)),
            )
        )
    return tuple(rows)


def since_last(store: Store, opened: Opened, result: Assessment) -> tuple[Message, ...]:
    """Return what the newest revision changed in the plan, and in the decision drawn from it."""
    before = store.revision(opened.id, opened.revision.number - 1)
    document = documents.read(before.document.encode(), opened.id) if before else None
    if before is None or document is None or document.project is None:
        return ()
    earlier = assess(document.project, opened.logs, result.as_of, asked=True)
    found = []
    if earlier.decision.headline_text != result.decision.headline_text:
        found.append(msg("the headline was: {headline}", headline=earlier.decision.headline_text))
    changed = differences(document.project, opened.project)
    for path, old, new in changed[:MOST_CHANGES]:
        found.append(msg("{path}: {old} became {new}", path=path, old=old, new=new))
    if len(changed) > MOST_CHANGES:
        found.append(msg("and {count} more fields", count=len(changed) - MOST_CHANGES))
    return tuple(found)


def _looks_like_document(name: str, data: bytes) -> bool:
    return name.lower().endswith((".yaml", ".yml")) or data.lstrip()[:7] == b"schema:"


def _add_document(store: Store, name: str, data: bytes, author: str, at: datetime) -> Receipt:
    document = documents.read(data, name)
    if document.project is None or document.problems:
        return Receipt(
            name=name,
            kept=False,
            problems=document.problems,
            summary=msg("this project document has problems; nothing was changed"),
        )
    project_id = create(store, document.project, author, at)
    return Receipt(
        name=name,
        kept=True,
        opened=project_id,
        summary=msg("opened as the project {title}", title=document.project.title),
    )
