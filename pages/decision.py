"""What to do, why, what it costs or why no amount is shown, and what is missing from whom."""

from budget.ui import decision, page

view = page.start("decision")
if not decision.guard(view):
    decision.first_minute(view)
    decision.verdicts(view)
