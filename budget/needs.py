"""What is missing, each thing once with the blocks it concerns, and where to enter it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from budget.components import REQUIRED_WAITS, Component
from budget.costs import Need, Scenario
from budget.facts import Facts, Verdict
from budget.figures import State
from budget.messages import Message, msg
from budget.project import Block

PAGES: dict[str, str] = {
    "software-starts": "scope",
    "cuda-compatibility": "scope",
    "representative-run": "measurements",
    "load-stability": "measurements",
    "continuity": "scope",
}
"""Where the answer to each rule is entered."""

LISTED_HERE = frozenset(
    {
        "the hours of {block}: {why}",
        "the hours on the machine at hand: {why}",
        "the environment of {block}",
        "the number of sessions of {block}",
    }
)
"""Needs of a scenario because hours are missing: they are listed by verdict or by block here."""


def missing_needs(
    facts: Facts, verdicts: Sequence[Verdict], scenario: Scenario | None
) -> tuple[Need, ...]:
    """Return what is lacking: first what the rules cannot tell, then hours, then money."""
    needs = [
        *_of_rules(verdicts),
        *_of_hours(facts),
        *(
            need
            for need in (scenario.needs if scenario else ())
            if need.what.text not in LISTED_HERE
        ),
    ]
    return tuple(dict.fromkeys(needs))


def _of_rules(verdicts: Sequence[Verdict]) -> Iterable[Need]:
    """Join the blocks for which one rule cannot tell for one reason.

    Whether the load is settled is asked only of blocks that have their representative run.
    """
    measured = {
        item.block
        for item in verdicts
        if item.rule == "representative-run" and item.outcome == "pass"
    }
    groups: dict[tuple[str, Message | str], list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.outcome != "unknown":
            continue
        reason = verdict.because[-1]
        if verdict.rule == "load-stability":
            if verdict.block in measured and verdict.cause != "unmeasured":
                groups.setdefault((verdict.rule, reason.text), []).append(verdict)
        elif verdict.rule == "representative-run":
            # Trials are asked for together; a log or a plan that lacks something is not a trial.
            key = "no attempt" if not verdict.sources and not verdict.figures else reason
            groups.setdefault((verdict.rule, key), []).append(verdict)
        else:
            groups.setdefault((verdict.rule, reason), []).append(verdict)
    for (rule, _), group in groups.items():
        first = group[0]
        blocks = tuple(item.block for item in group if item.block is not None)
        if len(group) == 1:
            what = first.because[-1]
            if rule == "load-stability":
                what = msg(
                    "whether the load of {blocks} is settled: {why}", blocks=blocks, why=what
                )
            elif blocks and blocks[0] not in what.values.values():
                what = msg("{blocks}: {why}", blocks=blocks, why=what)
            yield Need(what, PAGES[rule], first.do_next or msg("see its verdict"))
        elif rule == "representative-run" and not first.sources and not first.figures:
            yield Need(
                msg("a representative run of {blocks}", blocks=blocks),
                PAGES[rule],
                msg("run one trial of each under the probe"),
            )
        elif rule == "load-stability":
            yield Need(
                msg(
                    "whether the load of {blocks} is settled: too few measured units or sessions",
                    blocks=blocks,
                ),
                PAGES[rule],
                first.do_next or msg("measure again in another session"),
            )
        else:
            yield Need(
                msg("{blocks}: {why}", blocks=blocks, why=first.because[-1]),
                PAGES[rule],
                first.do_next or msg("see its verdict"),
            )


def _of_hours(facts: Facts) -> Iterable[Need]:
    """Join the blocks that lack the same decision of the plan or the same measurement."""
    runs, sessions, prepared = [], [], []
    waits: dict[tuple[str, ...], list[str]] = {}
    for block in facts.open_blocks:
        if block.planned_runs is None:
            runs.append(block.id)
        reasons = tuple(
            name
            for name in dict.fromkeys((*REQUIRED_WAITS, *block.waits_h))
            if block.waits_h.get(name) is None
        )
        if reasons and facts.estimate(block).run_s:  # before the trial it is too early to ask
            waits.setdefault(reasons, []).append(block.id)
        if block.sessions is None:
            sessions.append(block.id)
        if _unmeasured(facts, block, "prepare") and facts.estimate(block).run_s:
            prepared.append(block.id)
    if runs:
        yield Need(
            msg("planned runs of {blocks}", blocks=tuple(runs)),
            "blocks",
            msg("enter how many runs each takes"),
        )
    if sessions:
        yield Need(
            msg("planned sessions of {blocks}", blocks=tuple(sessions)),
            "blocks",
            msg("enter in how many reservations the runs are done"),
        )
    for lacking, blocks in waits.items():
        yield Need(
            msg(
                "expected waits of {blocks}: {reasons}",
                blocks=tuple(blocks),
                reasons=tuple(msg(reason) for reason in lacking),
            ),
            "blocks",
            msg("enter the hours the machine waits for each; 0 is an answer"),
        )
    if prepared:
        yield Need(
            msg("preparation of {blocks} was not measured", blocks=tuple(prepared)),
            "blocks",
            msg("measure it once, or say that it happens elsewhere"),
        )


def _unmeasured(facts: Facts, block: Block, name: Component) -> bool:
    figure = facts.estimate(block).remaining[name]
    return (
        figure.state is State.MISSING
        and block.planned_runs is not None
        and block.sessions is not None
    )
