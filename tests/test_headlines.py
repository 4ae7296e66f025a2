"""The nine headlines in their order, and what each says."""

from datetime import date

import pytest
from factory import (
    AS_OF,
    CAMPAIGN,
    GIB,
    MAC,
    OOM,
    RENTED,
    STEADY,
    assess,
    attempt,
    block,
    condition,
    project,
    replace,
    runs,
    words,
)

from budget.headlines import HEADLINES
from budget.project import Recurrence, Repository, Requirements, Scope


def headline(plan, *attempts, as_of=AS_OF):
    found = assess(plan, *attempts, as_of=as_of).decision
    return found.headline, words(found.headline_text)


def longer(**changes):
    return block("longer", condition=condition(input_tokens=9000), **changes)


def ran_short(name="bad", **changes):
    return attempt(name, outcome="failed", failures=(OOM,), **changes)


def test_the_headlines_stand_in_the_order_of_the_design():
    assert [name for name, _ in HEADLINES] == [
        "campaign-closed",
        "validate-software-first",
        "choose-compatible-environment",
        "not-enough-evidence",
        "run-representative-trial",
        "run-on-available-hardware",
        "compare-durable",
        "rent-for-the-campaign",
        "rent-by-blocks",
    ]


@pytest.mark.parametrize(
    ("states", "as_of", "expected"),
    [
        (("done", "dropped"), date(2027, 2, 1), "campaign-closed"),
        (("done", "dropped"), AS_OF, "campaign-closed"),  # nothing is left, though it is early
        (("done", "planned"), date(2027, 2, 1), "rent-by-blocks"),
        (("done", "planned"), date(2027, 1, 31), "rent-by-blocks"),
    ],
)
def test_a_campaign_is_closed_when_nothing_is_open(states, as_of, expected):
    blocks = [block("done", state=states[0]), block(state=states[1])]
    assert headline(project(*blocks), *runs(*STEADY), as_of=as_of)[0] == expected


def test_software_that_does_not_start_comes_before_any_machine():
    plan = project(scope=Scope(repository=Repository(starts="no")))
    assert headline(plan)[0] == "validate-software-first"


STARTS = Scope(repository=Repository(starts="yes"))


@pytest.mark.parametrize(
    ("blocks", "attempts", "says"),
    [
        ([block()], [ran_short()], "more memory for reference"),
        ([block(environment="cpu")], [], "another platform for reference"),
        (
            [block(environment="cpu"), longer()],
            [ran_short(intended=replace(attempt().intended, input_tokens=9000))],
            "reference needs another platform, longer more memory or a narrower scope",
        ),
    ],
)
def test_another_environment_is_chosen_when_no_open_block_fits(blocks, attempts, says):
    name, text = headline(project(*blocks, scope=STARTS), *attempts)
    assert (name, says in text) == ("choose-compatible-environment", True)


def test_another_environment_is_not_chosen_while_one_block_may_fit():
    plan = project(block(), longer(), requirements=Requirements(accelerator="any"), scope=STARTS)
    assert headline(plan, ran_short())[0] == "run-representative-trial"


def test_memory_without_marked_phases_still_asks_for_memory_and_not_for_the_software():
    assert headline(project(), ran_short(phases=()))[0] == "choose-compatible-environment"


def test_one_block_out_of_memory_leaves_the_others_to_be_rented():
    bad = ran_short(intended=replace(attempt().intended, input_tokens=9000))
    name, text = headline(project(block(), longer()), bad, *runs(*STEADY))
    assert (name, text) == ("rent-by-blocks", "Rent by blocks: reference")


def test_without_evidence_the_cheapest_action_is_named():
    name, text = headline(project())
    assert (name, text) == (
        "not-enough-evidence",
        "Not enough evidence: start the code once under the probe, on any machine at hand",
    )


def test_a_plan_without_blocks_is_not_enough_evidence():
    assert headline(replace(project(), blocks=()))[0] == "not-enough-evidence"


def trial(*blocks, attempts=()):
    plan = project(
        *blocks,
        requirements=Requirements(accelerator="any"),
        scope=Scope(repository=Repository(starts="yes")),
    )
    return headline(plan, *attempts)


@pytest.mark.parametrize(
    ("blocks", "first"),
    [
        ([longer(), block()], "reference"),  # the shorter input
        ([longer(kind="reference"), block("b", kind="extension")], "longer"),
        ([longer(need="essential"), block("b", need="optional")], "longer"),
        ([block("b", gpus=8), longer(gpus=1)], "longer"),
    ],
)
def test_the_trial_that_costs_least_and_settles_most_comes_first(blocks, first):
    name, text = trial(*blocks)
    assert (name, text) == (
        "run-representative-trial",
        f"Run a representative trial of {first} before anything is reserved",
    )


def test_no_trial_is_proposed_where_the_block_does_not_fit_in_memory():
    bad = ran_short()
    assert trial(block(), longer(), attempts=(bad,))[1].startswith(
        "Run a representative trial of longer"
    )


def owned(free=40.0, **campaign):
    lab = replace(RENTED, id="lab", label="our H100", access="owned", available_hours_per_week=free)
    return project(
        block(environment="lab"),
        environments=(lab, MAC),
        campaign=replace(CAMPAIGN, **campaign),
    )


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        (owned(), "run-on-available-hardware"),
        (owned(free=2.0), "rent-by-blocks"),  # 4 weeks x 2 h = 8 h, 11.1 h are needed
        (owned(free=None), "rent-by-blocks"),
        (owned(deadline=None, end=None), "rent-by-blocks"),
    ],
)
def test_hardware_at_hand_is_used_when_its_free_hours_are_known_to_cover_the_need(plan, expected):
    found = assess(plan, *runs(*STEADY)).decision
    assert found.headline == expected
    assert bool(found.go) is (expected == "run-on-available-hardware")
    if not found.go:
        assert words(found.headline_text).startswith("Rent nothing yet")
        assert "free" in words(found.hold[0].why)


def test_rented_and_owned_blocks_are_told_apart():
    lab = replace(RENTED, id="lab", gpu_memory_bytes=40 * GIB, access="owned",
                  available_hours_per_week=100.0)  # fmt: skip
    small = replace(attempt().host.gpus[0], memory_bytes=40 * GIB)
    host = replace(attempt().host, gpus=(small,))
    mine = runs(*STEADY, prefix="m", host=host, peak_bytes=GIB)
    plan = project(block(), block("mine", environment="lab"), environments=(RENTED, lab))
    name, text = headline(plan, *runs(*STEADY), *mine)
    assert (name, text) == (
        "rent-by-blocks",
        "Rent by blocks: reference; run mine on the hardware at hand",
    )


SPREAD = (("s1", 3600.0), ("s1", 3700.0), ("s2", 4500.0), ("s3", 5000.0), ("s3", 5100.0))


@pytest.mark.parametrize(
    ("recurs", "months", "expected"),
    [
        (None, 1.0, "rent-for-the-campaign"),
        (Recurrence(runs_per_week=1, until=date(2027, 1, 31)), 1.0, "rent-for-the-campaign"),
        (Recurrence(runs_per_week=1, until=date(2027, 3, 1)), 1.0, "rent-by-blocks"),
        (Recurrence(runs_per_week=1), None, "rent-by-blocks"),
        (None, 24.0, "rent-by-blocks"),
    ],
)
def test_an_unsettled_load_is_rented_for_the_campaign_only_when_the_need_ends_with_it(
    recurs, months, expected
):
    campaign = replace(CAMPAIGN, need_horizon_months=months)
    plan = project(block(recurs=recurs), campaign=campaign)
    assert headline(plan, *runs(*SPREAD))[0] == expected
