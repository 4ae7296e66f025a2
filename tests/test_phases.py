"""Phases of several layers, processes and ranks: every moment belongs to one of them at most."""

from datetime import UTC, datetime, timedelta

import pytest
from factory import attempt

from budget.attempts import Call, Phase, unattributed_s
from budget.figures import Source
from budget.phases import seconds_by_name, stretches

START = datetime(2027, 1, 11, 8, tzinfo=UTC)
LINE = Source("log", "f", 1)


def phase(name, start, seconds, layer="api", pid=1, rank=None, node=None):
    """A phase that began ``start`` seconds after the attempt; None: its start is lost."""
    at = None if start is None else START + timedelta(seconds=start)
    return Phase(key=f"{pid}-{name}-{start}", source=LINE, name=name, layer=layer,
                 duration_s=seconds, started_at=at, rank=rank, node=node)  # fmt: skip


def totals(*phases):
    return {name: round(seconds, 6) for name, seconds in seconds_by_name(phases).items()}


@pytest.mark.parametrize(
    ("phases", "found"),
    [
        # `probe phase run` around a program whose hook saw 5 + 20 + 100 of its 130 s: the parent
        # keeps 130 - 125 = 5, which no process marked.
        ([phase("run", 0, 130, "parent", 1), phase("prepare", 2, 5, "hook", 2),
          phase("load", 7, 20, "hook", 2), phase("run", 27, 100, "hook", 2)],
         {"prepare": 5, "load": 20, "run": 105}),
        # the same, seen by the API: the hook's view of a process it started does not count
        ([phase("run", 0, 100, "api", 1), phase("run", 10, 80, "hook", 2),
          phase("load", 2, 8, "hook", 2)], {"run": 100, "load": 0}),
        # a download before the program, both kept
        ([phase("prepare", 0, 60, "parent", 1), phase("load", 65, 10, "hook", 2),
          phase("run", 75, 100, "hook", 2)], {"prepare": 60, "load": 10, "run": 100}),
        # an engine in a process of its own: the program that started it speaks
        ([phase("prepare", 0, 10, "hook", 1), phase("load", 10, 100, "hook", 1),
          phase("run", 110, 50, "hook", 1), phase("prepare", 12, 28, "hook", 2),
          phase("load", 40, 60, "hook", 2)], {"prepare": 10, "load": 100, "run": 50}),
        # a start that is lost counts in full, unless a better layer has the phase
        ([phase("run", None, 30, "hook", 1)], {"run": 30}),
        ([phase("run", None, 130, "parent", 1), phase("run", 0, 100, "hook", 2)], {"run": 100}),
    ],
)  # fmt: skip
def test_what_two_layers_saw_counts_once(phases, found):
    assert totals(*phases) == found


@pytest.mark.parametrize(
    ("phases", "found"),
    [
        # Loaded after 40 and 50 s, ran to 140 and 150: all load until 50, then 100 s of run.
        ([phase("load", 0, 40, rank=0), phase("run", 40, 100, rank=0),
          phase("load", 0, 50, pid=2, rank=1), phase("run", 50, 100, pid=2, rank=1)],
         {"load": 50, "run": 100}),
        # One rank waits inside its run for the other to load: 50 and 50, not 50 and 90.
        ([phase("load", 0, 50, rank=0), phase("run", 50, 50, rank=0),
          phase("load", 0, 10, pid=2, rank=1), phase("run", 10, 90, pid=2, rank=1)],
         {"load": 50, "run": 50}),
        # Process ids repeat on two nodes.
        ([phase("run", 0, 100, rank=0, node=0), phase("run", 0, 120, rank=1, node=1)],
         {"run": 120}),
        # The launcher has no rank: it does not speak while ranks do.
        ([phase("prepare", 0, 200, "hook", 9), phase("run", 20, 100, "hook", 1, rank=0)],
         {"prepare": 100, "run": 100}),
    ],
)  # fmt: skip
def test_the_slowest_rank_gives_the_time(phases, found):
    assert totals(*phases) == found


def test_no_attempt_is_longer_in_its_phases_than_it_lasted():
    ranks = [
        part
        for rank in range(8)
        for part in (phase("load", rank, 10 + rank, "hook", 10 + rank, rank),
                     phase("run", 10 + 2 * rank, 50, "hook", 10 + rank, rank))
    ]  # fmt: skip
    found = totals(phase("run", 0, 80, "parent", 1), *ranks)
    # The last rank loads until 7 + 17 = 24 and runs until 10 + 14 + 50 = 74; the rest is the
    # parent's: 80 - 74.
    assert found == {"load": 24, "run": 74 - 24 + 6}


def test_the_course_has_no_overlap_and_names_its_phases():
    outer, inner = phase("run", 0, 130, "parent", 1), phase("load", 7, 20, "hook", 2)
    pieces = stretches([outer, inner])
    assert [(p.phase.layer, p.start_s, p.end_s) for p in pieces] == [
        ("parent", 0, 7), ("hook", 7, 27), ("parent", 27, 130)]  # fmt: skip


def test_an_attempt_says_on_which_layer_the_time_of_a_phase_rests():
    item = attempt(duration_s=135.0, phases=(
        phase("prepare", 0, 60, "parent", 1), phase("run", 61, 70, "parent", 1),
        phase("run", 61, 70, "hook", 2),
    ))  # fmt: skip
    assert (item.layers_of("prepare"), item.layers_of("run")) == (("parent",), ("hook",))
    assert item.layers_of("load") == ()
    assert unattributed_s(item) == pytest.approx(5.0)  # 135 - 60 - 70


@pytest.mark.parametrize(
    ("phases", "preparation"),
    [
        ((phase("prepare", 0, 99, "parent"),), True),  # 1 s is left
        ((phase("prepare", 0, 97, "parent"),), False),  # 3 s, more than 2 % of 100
        ((phase("prepare", 0, 40, "parent"), phase("load", 40, 59, "hook", 2)), True),
        ((phase("prepare", 0, 40, "parent"), phase("run", 40, 59, "hook", 2)), False),
        ((phase("prepare", 0, None, "parent"),), False),
        ((), False),
    ],
)
def test_an_attempt_that_only_prepared_is_no_run(phases, preparation):
    item = attempt(duration_s=100.0, phases=phases)
    assert (item.without_run, item.succeeded) == (preparation, not preparation)


def call(seconds, rank=None, read_by="hook:transformers"):
    return Call(key=f"{rank}-{seconds}-{read_by}", source=LINE, duration_s=seconds, rank=rank,
                read_by=read_by)  # fmt: skip


def test_of_several_ranks_the_calls_of_the_slowest_count():
    both = tuple(call(seconds, rank) for rank in (0, 1) for seconds in (2.0, 3.0))
    slow = call(1.0, 1)
    assert attempt(calls=(*both, slow)).counted_calls == (*both[2:], slow)  # 5 s and 6 s
    assert attempt(calls=both).counted_calls == both[:2]  # equal: the first rank
    assert attempt(calls=(call(2.0), call(3.0))).counted_calls == (call(2.0), call(3.0))


def test_calls_that_the_program_stated_outrank_those_that_the_hook_saw():
    stated, seen = call(2.0, read_by="api"), call(2.0)
    assert attempt(calls=(seen, stated)).counted_calls == (stated,)
