"""What has been used so far: by session, by block, and on which machine of the plan."""

import pytest
from factory import (
    CPU_HOST,
    GIB,
    GPU_HOST,
    H100,
    RENTED,
    assess,
    attempt,
    block,
    estimated,
    phase,
    project,
    replace,
    session,
    wait,
    words,
)

from budget.attempts import Host
from budget.figures import State


def spent(*attempts, sessions, plan=None):
    return assess(plan or project(), *attempts, sessions=sessions).spending


def test_reserved_time_is_attempts_waits_and_gaps():
    # 4 h reserved: 3970 s of attempt, 1 h of wait, the rest unexplained
    held = session(waits=(wait("decision", 1.0, 2.0),))
    row = spent(attempt(), sessions=(held,)).sessions[0]
    assert row.reserved_h == 4.0
    assert row.waits_h == {"decision": 1.0}
    assert row.attempts_h == pytest.approx(3970 / 3600)
    assert row.attempts_h + row.waits_h["decision"] + row.gaps_h == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("host", "state", "value"),
    [
        (GPU_HOST, State.MEASURED, 4.0),
        (replace(GPU_HOST, gpus=(H100,) * 8), State.MEASURED, 32.0),
        (CPU_HOST, State.NOT_APPLICABLE, None),
        (Host(ram_bytes=GIB), State.MISSING, None),
    ],
)
def test_gpu_hours_are_those_of_all_gpus_of_the_machine_or_do_not_apply(host, state, value):
    found = spent(sessions=(session(host=host),)).gpu_hours
    assert (found.state, found.value) == (state, value)


def test_nothing_measured_is_missing_and_not_zero():
    found = spent(sessions=())
    assert (found.reserved_h.state, found.gpu_hours.state) == (State.MISSING, State.MISSING)


def test_a_session_that_is_not_closed_is_at_least_as_long():
    figure = spent(sessions=(session(closed=False),)).reserved_h.inputs[0].figure
    assert words(figure.why) == "not closed: at least this long"


def test_a_session_without_times_leaves_the_sum_missing_with_its_part():
    found = spent(sessions=(session(), session("s2", started_at=None, ended_at=None)))
    assert (found.reserved_h.value, found.reserved_h.part.value) == (None, 4.0)


def test_the_blocks_served_tell_which_of_two_alike_machines_it_was():
    other = replace(RENTED, id="q-h100")
    both = project(block(environment="q-h100"), environments=(RENTED, other))
    held = (session(),)
    found = [
        spent(attempt(), sessions=held, plan=both).sessions[0].environment,
        spent(sessions=held, plan=both).sessions[0].environment,
        spent(sessions=held).sessions[0].environment,
        spent(sessions=(session(host=CPU_HOST),)).sessions[0].environment,
        spent(sessions=(session(host=Host(ram_bytes=GIB)),)).sessions[0].environment,
    ]
    assert found == ["q-h100", None, "h100", "cpu", None]


def test_what_a_block_took_stands_by_component():
    # prepare 720 s, load 360 s, run 3600 s, 20 s of no phase
    item = attempt(
        duration_s=4700.0,
        phases=(phase("prepare", 720.0), phase("load", 360.0), phase("run", 3600.0)),
    )
    found = estimated(project(), item).spent
    seconds = {name: round(f.value * 3600) for name, f in found.items() if f.known}
    assert seconds == {"prepare": 720, "load": 360, "run": 3600, "unattributed": 20, "retry": 0}


def test_an_attempt_meant_for_a_block_counts_as_spent_though_it_does_not_serve_it():
    item = attempt(intended=replace(attempt().intended, batch_size=2))
    found = estimated(project(), item)
    assert (found.serving, found.spent["run"].value) == ((), 1.0)


def test_an_attempt_without_a_duration_leaves_what_was_spent_missing_and_is_named():
    found = estimated(project(), attempt(duration_s=None))
    assert "a1" in words(found.spent["run"].why)
