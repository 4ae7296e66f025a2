"""Idle reserved time from samples, and where the reserved time of a session went."""

import pytest
from factory import GPU_HOST, LINE, at, attempt, project, session, wait

from budget.attempts import Gpu, Host, Instance, Measurements, Memory, Sample, Spread
from budget.idle import activity
from budget.sessions import divide, gaps_s
from budget.spans import length
from budget.spending import spending

GIB = 2**30


def window(start, seconds, used_gib=40.0, percent=0.0, device="0", **changes):
    """Samples of one card from ``start`` seconds on."""
    return Sample(
        key=f"{device}-{start}-{changes.get('node')}", source=LINE, device=device,
        at=at((start + seconds) / 3600), window_s=seconds, layer="watch",
        memory_bytes=None if used_gib is None
        else Spread(low=used_gib * GIB, mean=used_gib * GIB, high=used_gib * GIB, count=6),
        utilisation_percent=None if percent is None
        else Spread(low=0.0, mean=percent / 2, high=percent, count=6),
        **changes,
    )  # fmt: skip


FREE = window(0, 30, 1.0)
"""Before anything began: the baseline of the card is 1 GiB."""


def rounded(spans):
    return [(round(start, 3), round(end, 3)) for start, end in spans]


@pytest.mark.parametrize(
    ("windows", "held"),
    [
        # 40 GiB at 0 % from 30 to 90: exactly 60 s
        ([window(30, 30), window(60, 30)], [(30, 90)]),
        ([window(30, 30), window(60, 29)], []),  # 59 s
        ([window(30, 30), window(60, 30, percent=1.0), window(90, 30)], []),  # a kernel ran
        ([window(30, 30), window(64, 30)], [(30, 94)]),  # 4 s between two writers
        ([window(30, 30), window(66, 30)], []),  # 6 s: no longer one
        # 80 GiB x 2 % = 1.6 GiB above the baseline of 1 GiB is not yet held, 1.7 is
        ([window(30, 60, 2.6)], []),
        ([window(30, 60, 2.7)], [(30, 90)]),
        ([window(30, 60, percent=None)], []),  # the card does not tell its utilisation
        ([window(30, 60, used_gib=None)], []),
        # another card is used meanwhile
        ([window(30, 60), window(30, 60, device="1", percent=3.0)], []),
        ([window(30, 90), window(30, 30, device="1", percent=3.0)], [(60, 120)]),
        # another card holds memory and does not tell whether it is used
        ([window(0, 30, 1.0, device="1"), window(30, 90),
          window(30, 30, device="1", percent=None)], [(60, 120)]),
    ],
)  # fmt: skip
def test_memory_held_without_a_kernel_for_a_minute_is_idle(windows, held):
    found = activity(session(samples=(FREE, *windows)), [])
    assert rounded(found.held) == held


def test_a_small_card_holds_nothing_below_500_mib():
    host = Host(gpus=(Gpu(index=0, memory_bytes=10 * GIB),))  # 2 % are 205 MiB
    for size, held in ((1.0 + 500 / 1024, []), (1.0 + 501 / 1024, [(30, 90)])):
        samples = (FREE, window(30, 60, size))
        assert rounded(activity(session(host=host, samples=samples), []).held) == held


def test_the_baseline_of_an_attempt_counts_where_no_sample_saw_the_card_empty():
    item = attempt(memory=(Memory(device="0", layer="parent", baseline_bytes=GIB),))
    samples = (window(30, 60),)
    assert rounded(activity(session(samples=samples), [item]).held) == [(30, 90)]
    assert activity(session(samples=samples), []).held == []  # held all the time: who knows


def test_an_instance_of_a_card_is_held_against_its_own_memory():
    cut = Gpu(index=0, memory_bytes=80 * GIB,
              instances=(Instance(index="0:1", memory_bytes=10 * GIB),))  # fmt: skip
    samples = (window(0, 30, 1.0, device="0:1"), window(30, 60, 2.0, device="0:1"))
    found = activity(session(host=Host(gpus=(cut,)), samples=samples), [])
    assert rounded(found.held) == [(30, 90)]  # 1 GiB is more than 500 MiB, less than 1.6 GiB


def test_cards_of_two_nodes_are_told_apart():
    samples = (window(0, 30, 1.0, node=0), window(30, 60, 40.0, node=0),
               window(0, 90, 40.0, percent=50.0, node=1))  # fmt: skip
    assert activity(session(samples=samples), []).held == []  # node 1 works


def test_the_parts_of_the_reserved_time_do_not_overlap_and_leave_nothing_out():
    # 0..100 attempt (idle inside 20..90), 100..400 idle of which 200..300 is a declared wait,
    # 400..500 free, 500..600 used, 600..700 not sampled.
    samples = (
        window(0, 20, 1.0), window(20, 70), window(90, 10, percent=80.0),
        window(100, 300), window(400, 100, 1.0), window(500, 100, percent=50.0),
    )  # fmt: skip
    item = attempt(started_at=at(0), duration_s=100.0)
    one = session(hours=700 / 3600, samples=samples,
                  waits=(wait("decision", 100 / 3600, 200 / 3600),))  # fmt: skip
    found = divide(one, [item])
    assert rounded(found.attempts) == [(0, 100)]
    assert {name: rounded(spans) for name, spans in found.waits.items()} == {
        "decision": [(200, 300)]}  # fmt: skip
    assert rounded(found.idle) == [(100, 200), (300, 400)]
    assert rounded(found.gaps) == [(400, 700)]
    assert rounded(found.gaps_free) == [(400, 500)]
    assert rounded(found.gaps_used) == [(500, 600)]
    assert rounded(found.idle_inside) == [(20, 90)]
    parts = [found.attempts, *found.waits.values(), found.idle, found.gaps]
    assert sum(length(part) for part in parts) == pytest.approx(700)  # 100 + 100 + 200 + 300
    assert gaps_s(one, [item]) == pytest.approx(300)


def test_two_attempts_at_once_take_the_reserved_time_once():
    items = [attempt("a", duration_s=1800.0), attempt("b", duration_s=3600.0)]
    found = divide(session(hours=2.0), items)
    assert rounded(found.attempts) == [(0, 3600)]
    assert rounded(found.gaps) == [(3600, 7200)]


def test_a_wait_during_an_attempt_is_the_attempts_time():
    one = session(hours=1.0, waits=(wait("fix", 0.5),))  # 0..1800
    found = divide(one, [attempt(duration_s=900.0)])
    assert {name: rounded(spans) for name, spans in found.waits.items()} == {"fix": [(900, 1800)]}


def test_without_samples_of_a_card_idle_time_is_unknown_and_not_zero():
    for samples, idle in (((), None), ((FREE, window(30, 60)), 60 / 3600)):
        measured = Measurements(sessions=(session(samples=samples, host=GPU_HOST),))
        [row] = spending(project(), measured).sessions
        assert row.idle_h == (None if idle is None else pytest.approx(idle))


def test_a_window_that_reaches_into_an_attempt_shows_nothing_unmeasured_beside_it():
    samples = (window(0, 60, percent=50.0), window(60, 60, percent=50.0))
    item = attempt(started_at=at(40 / 3600), duration_s=20.0)
    found = divide(session(hours=120 / 3600, samples=samples), [item])
    assert rounded(found.gaps) == [(0, 40), (60, 120)]
    assert rounded(found.gaps_used) == [(60, 120)]
