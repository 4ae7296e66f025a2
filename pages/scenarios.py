"""Every way to get the machine: what it costs, or what is missing for an amount."""

from budget.ui import page, scenarios

view = page.start("scenarios")
if not scenarios.guard(view):
    scenarios.overview(view)
    scenarios.cards(view)
    scenarios.side_by_side(view)
    scenarios.questions(view)
