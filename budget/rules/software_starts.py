"""Does the software start at all?"""

from __future__ import annotations

from budget.attempts import Attempt
from budget.facts import Facts, Verdict, evidence
from budget.failures import NO_KERNEL, OUT_OF_MEMORY, shows
from budget.messages import Message, msg
from budget.project import Model

ID = "software-starts"
TITLE = msg("The software starts")
WHY = msg("Renting a machine for code that does not start buys nothing.")


def judge(facts: Facts) -> tuple[Verdict, ...]:
    """Pass when an attempt reached its run phase, fail when none did or something is missing.

    Attempts that memory or the platform stopped do not say whether the code starts elsewhere, and
    neither do those that somebody interrupted.
    """
    scope = facts.project.scope
    attempts = [item for item in facts.measurements.attempts if item.outcome is not None]
    started = [item for item in attempts if item.reached_run or item.succeeded]
    if started:
        return (_started(facts, started, len(attempts)),)
    failed = [item for item in attempts if item.outcome == "failed"]
    telling = [item for item in failed if not shows(item, (*OUT_OF_MEMORY, *NO_KERNEL))]
    lacking = _declared_missing(facts)
    if telling:
        last = telling[-1]
        said = [item for item in last.failures if item.text or item.kind]
        because = msg("none of {all} attempts reached its run phase", all=len(attempts))
        quote = (
            msg("last error: {kind}: {text}", kind=said[-1].kind, text=said[-1].text or "")
            if said
            else msg("exit code {code}", code=str(last.exit_code))
        )
        return (
            Verdict(
                rule=ID,
                outcome="fail",
                because=(because, quote),
                sources=evidence(last),
                do_next=msg("make the code start; no rented GPU is needed for that"),
                contradiction=msg(
                    "declared that the code starts; yet no attempt reached its run phase: the "
                    "log wins"
                )
                if scope.repository.starts == "yes"
                else None,
            ),
        )
    if lacking:
        return (
            Verdict(
                rule=ID,
                outcome="fail",
                because=tuple(lacking),
                do_next=msg("obtain what is missing before paying for a machine"),
            ),
        )
    if scope.repository.starts == "yes":
        return (
            Verdict(
                rule=ID, outcome="pass", because=(msg("declared on Scope; no log shows it yet"),)
            ),
        )
    if failed:
        return (
            Verdict(
                rule=ID,
                outcome="unknown",
                because=(
                    msg(
                        "memory or the platform stopped all {all} attempts before their run phase",
                        all=len(failed),
                    ),
                ),
                sources=evidence(failed[-1]),
                do_next=msg("start the code once with small sizes, on any machine at hand"),
            ),
        )
    return (
        Verdict(
            rule=ID,
            outcome="unknown",
            because=(msg("no attempt was measured and nobody said whether the code starts"),),
            do_next=msg("start the code once under the probe, on any machine at hand"),
        ),
    )


def _started(facts: Facts, started: list[Attempt], count: int) -> Verdict:
    first = next((item for item in started if item.outcome == "ok"), started[0])
    lacking = _declared_missing(facts)
    # Which weights ran is known where the log names a model of the scope; else all may have.
    ran = {item.intended.model for item in started} & {m.id for m in facts.project.scope.models}
    still = [
        _no_weights(model)
        for model in facts.project.scope.models
        if ran and model.weights == "missing" and model.id not in ran
    ]
    refuted = tuple(item for item in lacking if item not in still)
    because = [msg("{count} of {all} attempts ran", count=len(started), all=count)]
    if still:
        because.append(msg("still declared: {lacking}", lacking=tuple(still)))
    return Verdict(
        rule=ID,
        outcome="pass",
        because=tuple(because),
        sources=evidence(first),
        contradiction=msg(
            "declared: {lacking}; yet attempt {attempt} ran: the log wins",
            lacking=refuted,
            attempt=first.id,
        )
        if refuted
        else None,
    )


def _no_weights(model: Model) -> Message:
    return msg("the weights of {model} are missing", model=model.id)


def _declared_missing(facts: Facts) -> list[Message]:
    scope = facts.project.scope
    lacking = []
    if scope.repository.state == "missing":
        lacking.append(msg("the repository is missing"))
    if scope.repository.starts == "no":
        lacking.append(msg("the code does not start"))
    lacking += [_no_weights(model) for model in scope.models if model.weights == "missing"]
    lacking += [
        msg("the data set {data} is missing", data=data.id)
        for data in scope.datasets
        if data.state == "missing"
    ]
    return lacking
