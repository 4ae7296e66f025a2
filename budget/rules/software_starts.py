"""Does the software start at all?"""

from __future__ import annotations

from budget.facts import Facts, Verdict, evidence
from budget.messages import Message, msg

ID = "software-starts"
TITLE = msg("The software starts")
WHY = msg("Renting a machine for code that does not start buys nothing.")


def judge(facts: Facts) -> tuple[Verdict, ...]:
    """Pass when an attempt reached its run phase, fail when none did or something is missing."""
    scope = facts.project.scope
    attempts = [item for item in facts.measurements.attempts if item.outcome is not None]
    started = [item for item in attempts if item.reached_run]
    lacking = _declared_missing(facts)
    if started:
        first = next((item for item in started if item.outcome == "ok"), started[0])
        contradiction = None
        if lacking:
            contradiction = msg(
                "declared: {lacking}; yet attempt {attempt} ran: the log wins",
                lacking=tuple(lacking),
                attempt=first.id,
            )
        because = msg(
            "{count} of {all} attempts reached their run phase",
            count=len(started),
            all=len(attempts),
        )
        return (
            Verdict(
                rule=ID,
                outcome="pass",
                because=(because,),
                sources=evidence(first),
                contradiction=contradiction,
            ),
        )
    if attempts:
        last = attempts[-1]
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
    return (
        Verdict(
            rule=ID,
            outcome="unknown",
            because=(msg("no attempt was measured and nobody said whether the code starts"),),
            do_next=msg("start the code once under the probe, on any machine at hand"),
        ),
    )


def _declared_missing(facts: Facts) -> list[Message]:
    scope = facts.project.scope
    lacking = []
    if scope.repository.state == "missing":
        lacking.append(msg("the repository is missing"))
    if scope.repository.starts == "no":
        lacking.append(msg("the code does not start"))
    lacking += [
        msg("the weights of {model} are missing", model=model.id)
        for model in scope.models
        if model.weights == "missing"
    ]
    lacking += [
        msg("the data set {data} is missing", data=data.id)
        for data in scope.datasets
        if data.state == "missing"
    ]
    return lacking
