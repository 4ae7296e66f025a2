"""Whether a plan stays within the money and the time that are there."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Literal

import msgspec

from budget.billing import HOURS_PER_DAY, decimal_of
from budget.figures import Figure, State
from budget.messages import Message, Quantity, msg
from budget.project import Project, open_blocks


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to one limit, what it rests on and what would settle it."""

    name: str
    outcome: Literal["pass", "fail", "unknown"]
    because: Message
    do_next: Message | None = None


def within_cap(total: Figure, cap: Decimal | None, currency: str | None) -> Check:
    """Return whether the upper end of ``total`` (money in ``currency``) is within ``cap``.

    A total with missing parts still fails when what is known of it is above the cap.
    """
    if cap is None:
        return _cap("unknown", msg("no cap is stated"), msg("State the cap, or that there is none"))
    if not currency:
        return _cap("unknown", msg("the project states no currency"), msg("State the currency"))
    limit = Quantity(cap, currency)
    if total.state is State.NOT_APPLICABLE:
        return _cap("pass", total.why or msg("nothing is to be paid"))
    known = total if total.known else total.part
    if known is not None and known.unit != currency:
        return _cap("unknown", msg("the total is in {unit}, the cap in {currency}",
                                   unit=known.unit, currency=currency))  # fmt: skip
    if known is None or known.upper is None:
        return _cap("unknown", _why(total), msg("Give what is missing of the total"))
    upper = Quantity(known.upper, currency)
    example = total.state is State.EXAMPLE or known.state is State.EXAMPLE
    if decimal_of(known.upper) > cap:
        text = msg("up to {upper} is above the cap of {cap}", upper=upper, cap=limit)
        return _cap("fail", _marked(text, example),
                    msg("Drop or narrow a block, or raise the cap"))  # fmt: skip
    if not total.known:
        text = msg("what is known, {upper}, is within the cap of {cap}; {why}", upper=upper,
                   cap=limit, why=_why(total))  # fmt: skip
        return _cap("unknown", _marked(text, example), msg("Give what is missing of the total"))
    if not known.ranged:
        text = msg("{upper} is within the cap of {cap}; it has no range", upper=upper, cap=limit)
    else:
        text = msg("up to {upper} is within the cap of {cap}", upper=upper, cap=limit)
    return _cap("pass", _marked(text, example))


def within_deadline(hours: Figure, project: Project, as_of: date) -> Check:
    """Return whether the upper end of ``hours`` (machine-hours) fits before the deadline.

    There are 24 h a day from the later of ``as_of`` and the campaign's start to the end of the
    deadline day, times ``machines_at_once``; the hours per week at which an environment in use
    is available limit it, the fewest where several state them. Daylight saving is not counted.
    """
    deadline = project.campaign.deadline
    if deadline is None:
        return _deadline("unknown", msg("no deadline is stated"), msg("State the deadline"))
    if hours.state is State.NOT_APPLICABLE:
        return _deadline("pass", hours.why or msg("no hours are left"))
    begin = max(as_of, project.campaign.start or as_of)
    days = max(0, (deadline - begin).days + 1)
    machines = project.campaign.machines_at_once
    round_clock = days * HOURS_PER_DAY * machines
    available, basis, several = _available(project, days, machines)
    known = hours if hours.known else hours.part
    if known is None or known.upper is None:
        return _deadline("unknown", _why(hours), msg("Measure the blocks that lack hours"))
    needed = decimal_of(known.upper)
    values = {
        "needed": Quantity(needed, "h"),
        "available": Quantity(available, "h"),
        "begin": begin,
        "deadline": deadline,
        "machines": Quantity(machines, "machine"),
        "basis": basis,
    }
    if needed > available:
        text = msg("up to {needed} is more than {available} from {begin} to {deadline} with"
                   " {machines}, {basis}", **values)  # fmt: skip
        if several and needed <= round_clock:
            return _deadline("unknown", text, msg("Check the hours of each environment apart"))
        return _deadline("fail", text, msg("Start earlier, use more machines, or narrow the plan"))
    if not hours.known:
        text = msg("what is known, {needed}, fits into {available}; {why}", why=_why(hours),
                   **values)  # fmt: skip
        return _deadline("unknown", text, msg("Measure the blocks that lack hours"))
    text = msg("up to {needed} fits into {available} from {begin} to {deadline} with {machines},"
               " {basis}", **values)  # fmt: skip
    if not hours.ranged:
        text = msg("{text}; the hours have no range", text=text)
    return _deadline("pass", text)


def _available(project: Project, days: int, machines: int) -> tuple[Decimal, Message, bool]:
    """Return the hours there are, the words for their basis, and whether several hosts differ."""
    used = {block.environment for block in open_blocks(project)}
    limits = [
        (item.available_hours_per_week, item.id)
        for item in project.environments
        if item.id in used and item.available_hours_per_week is not None
    ]
    if not limits:
        return days * HOURS_PER_DAY * machines, msg("24 h a day"), False
    weekly, name = min(limits)
    basis = msg("{environment} available {weekly} a week", environment=name,
                weekly=Quantity(weekly, "h"))  # fmt: skip
    return decimal_of(weekly) * days / 7 * machines, basis, len(used) > 1


def _why(figure: Figure) -> Message:
    return figure.why or msg("it is not known")


def _marked(text: Message, example: bool) -> Message:
    return msg("{text} (rests on an example quote)", text=text) if example else text


def _cap(
    outcome: Literal["pass", "fail", "unknown"], because: Message, do_next: Message | None = None
) -> Check:
    return Check(name="cap", outcome=outcome, because=because, do_next=do_next)


def _deadline(
    outcome: Literal["pass", "fail", "unknown"], because: Message, do_next: Message | None = None
) -> Check:
    return Check(name="deadline", outcome=outcome, because=because, do_next=do_next)
