"""What was measured: sessions, attempts and files, and what of it speaks for the plan."""

from budget.ui import (
    measured_attempts,
    measured_charts,
    measured_errors,
    measured_files,
    measured_sessions,
    measurements,
    page,
)

view = page.start("measurements")
measurements.drop(view)
if not measurements.guard(view):
    measurements.proposal(view)
    measured_charts.draw(view)
    measured_sessions.draw(view)
    measured_errors.draw(view)
    measured_attempts.draw(view)
measured_files.draw(view)
