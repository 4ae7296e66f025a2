"""What an attempt and a session say of themselves. Joining files is tested with the importers."""

import pytest
from factory import attempt, phase, session

from budget.attempts import unattributed_s


@pytest.mark.parametrize(
    ("phases", "seconds"),
    [
        ((phase("run", 3.0, "a"), phase("run", 4.0, "b")), 7.0),  # a phase may occur twice
        ((phase("run", 3.0, "a"), phase("run", None, "b")), None),  # one has no end
        ((phase("load", 3.0),), None),
        ((), None),
    ],
)
def test_the_seconds_of_a_phase_are_known_only_when_each_of_it_ended(phases, seconds):
    assert attempt(phases=phases).phase_s("run") == seconds


@pytest.mark.parametrize(
    ("phases", "outcome", "reached"),
    [
        ((phase("load", 3.0),), "failed", False),
        ((phase("load", 3.0), phase("run", None)), "failed", True),
        ((phase("load", 3.0),), "ok", False),
        ((), "ok", True),
        ((), "failed", False),
    ],
)
def test_an_attempt_reached_its_run_phase_where_the_log_shows_it(phases, outcome, reached):
    assert attempt(phases=phases, outcome=outcome).reached_run is reached


@pytest.mark.parametrize(
    ("duration", "phases", "seconds"),
    [
        (10.0, (phase("load", 2.0), phase("run", 5.0)), 3.0),
        (10.0, (phase("load", 2.0), phase("run", None)), 8.0),
        (6.0, (phase("load", 2.0), phase("run", 5.0)), 0.0),  # overlapping clocks: not negative
        (10.0, (), 10.0),
        (None, (), None),
    ],
)
def test_what_belongs_to_no_phase_is_unattributed(duration, phases, seconds):
    assert unattributed_s(attempt(duration_s=duration, phases=phases)) == seconds


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [({}, 4 * 3600.0), ({"ended_at": None}, None), ({"started_at": None}, None)],
)
def test_a_session_without_times_has_no_length(changes, seconds):
    assert session(**changes).reserved_s == seconds
