"""What the functions of `budget.probe` do in a measured process.

Under the hook, its private copy of the probe does the work: phases that the program states and
those that are watched then know of each other.
"""

from __future__ import annotations

from .inside.phases import Phase, record_call, record_result, refuse_phase

__all__ = ["Phase", "record_call", "record_result", "refuse_phase"]
