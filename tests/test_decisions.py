"""The situations of the design, each through the whole assessment, and what a decision shows."""

from datetime import date
from decimal import Decimal

import pytest
from factory import (
    AS_OF,
    CAMPAIGN,
    GPU_HOST,
    H100,
    MAC_HOST,
    NO_WAITS,
    OOM,
    QUOTE,
    RENTED,
    STEADY,
    assess,
    at,
    attempt,
    block,
    condition,
    facts,
    project,
    replace,
    runs,
    session,
    words,
)

from budget.figures import State
from budget.messages import msg
from budget.project import (
    Durable,
    Model,
    Recurrence,
    Repository,
    Requirements,
    Scope,
)
from budget.readiness import held_blocks

BUSY = Recurrence(runs_per_week=80)
LASTING = replace(CAMPAIGN, need_horizon_months=24.0)
ABLE = Durable(can_administer="yes")
MEASURED = runs(*STEADY)
LONG = replace(attempt().intended, input_tokens=9000)
PURCHASE = replace(
    QUOTE, id="buy", kind="purchase", amount=Decimal(30000), per="machine", environment="h100"
)
DRIFT = (("s1", 3600.0), ("s1", 3600.0), ("s2", 4300.0), ("s3", 5040.0), ("s3", 5040.0))
"""40 % more in the last session than in the first."""


def longer(**changes):
    return block("longer", **{"condition": condition(input_tokens=9000), **changes})


def decided(plan, *attempts, **more):
    return assess(plan, *attempts, **more).decision


def continuous(**changes):
    given = {"campaign": LASTING, "durable": ABLE, **changes}
    return project(block(recurs=BUSY), **given)


A100 = replace(RENTED, id="a100", label="one A100", gpu="NVIDIA A100-SXM4-80GB")
A100_HOST = replace(GPU_HOST, gpus=(replace(H100, name="NVIDIA A100-SXM4-80GB"),))
LAB = replace(RENTED, access="granted", available_hours_per_week=40.0)
SITUATIONS = {
    "all measured, no quote": (project(quotes=()), MEASURED, "rent-by-blocks", ["reference"]),
    # the code is declared to start, so that only the unknown platform decides
    "continuous load, CUDA unknown": (
        replace(continuous(), scope=Scope(repository=Repository(starts="yes"))),
        (),
        "not-enough-evidence",
        [],
    ),
    "two environments": (
        project(block(), block("other", environment="a100"), environments=(RENTED, A100)),
        (*MEASURED, attempt("x", host=A100_HOST, session="s8")),
        "rent-by-blocks",
        ["reference", "other"],
    ),
    "campaign over": (
        project(block(state="done"), campaign=replace(CAMPAIGN, end=date(2027, 1, 3))),
        MEASURED,
        "campaign-closed",
        [],
    ),
    "one block undetermined": (
        project(block(), longer(status="undetermined")), MEASURED, "rent-by-blocks", ["reference"],
    ),
    "n = 1": (project(), (attempt(),), "rent-by-blocks", ["reference"]),
    "Mac with any accelerator": (
        project(
            block(environment="mac", gpus=0), requirements=Requirements(accelerator="any")
        ),
        runs(*STEADY, host=MAC_HOST),
        "run-on-available-hardware",
        ["reference"],
    ),
    "one block out of memory": (
        project(block(), longer()),
        (*MEASURED, attempt("x", outcome="failed", failures=(OOM,), intended=LONG)),
        "rent-by-blocks",
        ["reference"],
    ),
    "stable and short": (project(), MEASURED, "rent-by-blocks", ["reference"]),
    "hardware owned": (
        project(environments=(LAB,)), MEASURED, "run-on-available-hardware", ["reference"],
    ),
    "host of 8 GPUs, block uses 1": (
        project(environments=(replace(RENTED, gpu_count=8),)),
        runs(*STEADY, host=replace(GPU_HOST, gpus=(H100,) * 8)),
        "rent-by-blocks",
        ["reference"],
    ),
    "purchase quote, no rent quote": (
        continuous(quotes=(PURCHASE,)), MEASURED, "compare-durable", ["reference"],
    ),
    "continuous but run time drifts 40 %": (
        continuous(), runs(*DRIFT), "rent-by-blocks", ["reference"],
    ),
    "weights declared missing, yet a run succeeded": (
        project(scope=Scope(models=(Model(id="m", weights="missing"),))),
        MEASURED,
        "rent-by-blocks",
        ["reference"],
    ),
    "continuous and steady": (continuous(), MEASURED, "compare-durable", ["reference"]),
    "continuous, nobody to administer": (
        continuous(durable=Durable(can_administer="no")), MEASURED, "rent-by-blocks", ["reference"],
    ),
    "continuous, administration unknown": (
        continuous(durable=Durable()), MEASURED, "rent-by-blocks", ["reference"],
    ),
    "unsettled and short": (project(), runs(*DRIFT), "rent-for-the-campaign", ["reference"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_situation_has_its_headline_and_lets_go_what_passes(name):
    plan, attempts, headline, go = SITUATIONS[name]
    found = decided(plan, *attempts)
    assert (found.headline, list(found.go)) == (headline, go)


@pytest.mark.parametrize("name", SITUATIONS)
def test_in_each_situation_every_block_goes_or_is_held_or_is_closed(name):
    plan, attempts, _, _ = SITUATIONS[name]
    found = decided(plan, *attempts)
    named = [*found.go, *(item.block for item in found.hold)]
    assert sorted(named) == sorted(
        item.id for item in plan.blocks if item.state not in ("done", "dropped")
    )
    assert all(words(item.why) and words(item.do_next) for item in found.hold)
    assert all(item.do_next for item in found.verdicts if item.outcome == "unknown")


def situation(name):
    plan, attempts, _, _ = SITUATIONS[name]
    return decided(plan, *attempts)


def held(found):
    return {item.block: (words(item.why), words(item.do_next)) for item in found.hold}


def test_without_a_quote_there_are_hours_and_no_amount_and_the_quote_is_asked_for():
    found = situation("all measured, no quote")
    three = (found.totals.spent, found.totals.remaining, found.totals.sum)
    assert all(item.machine_hours.known for item in three)
    assert [item.cost.state for item in three] == [State.MISSING] * 3
    assert [item.cost.part for item in three] == [None] * 3
    assert [words(need.what) for need in found.missing] == ["no rental price for h100"]
    assert "no usable quote stands behind this yet" in words(found.remarks)


def test_an_undetermined_block_makes_every_total_partial_and_is_named():
    remaining = situation("one block undetermined").totals.remaining
    for figure in (remaining.machine_hours, remaining.gpu_hours, remaining.cost):
        assert not figure.known
        assert figure.part.value > 0
        assert "1 of 2 blocks" in words(figure.part.why)
        assert "longer" in words(figure.part.why)
    found = held(situation("one block undetermined"))
    assert found["longer"][0] == "undetermined: nobody decided what it is"


def test_an_undetermined_block_that_was_measured_is_not_counted_all_the_same():
    plan = project(block(), longer(status="undetermined"))
    found = decided(plan, *MEASURED, *runs(*STEADY, prefix="l", intended=LONG))
    alone = decided(project(), *MEASURED)
    assert found.totals.remaining.machine_hours.part.value == pytest.approx(
        alone.totals.remaining.machine_hours.value
    )


def test_one_measurement_approves_the_next_stage_only_and_promises_no_upper_end():
    found = situation("n = 1")
    assert words(found.approve).startswith("Approve now: about ")
    assert "(no range) on one H100 for reference" in words(found.approve)
    assert "reference measured once: approve the next stage only" in words(found.remarks)


def test_the_mac_states_its_unified_memory_and_needs_no_quote():
    found = situation("Mac with any accelerator")
    assert "of unified memory" in words([item.because for item in found.verdicts])
    assert found.totals.remaining.gpu_hours.state is State.NOT_APPLICABLE


def test_a_block_out_of_memory_is_held_with_more_memory_or_a_narrower_scope():
    why, do_next = held(situation("one block out of memory"))["longer"]
    assert "ran out of memory" in why
    assert do_next == "a machine with more memory, or a narrower scope as a new condition"


def test_a_failure_is_the_reason_before_what_nobody_could_tell():
    # other code, so nothing shows that the platform fits; but its run ended for want of memory
    other = replace(attempt().code, commit="fedcba987654")
    bad = attempt("x", outcome="failed", failures=(OOM,), intended=LONG, code=other)
    plan = project(block(), longer(condition=condition(input_tokens=9000, code="fedcba987654")))
    assert "ran out of memory" in held(decided(plan, *MEASURED, bad))["longer"][0]


def test_on_a_host_of_eight_used_and_billed_are_both_shown():
    plan, attempts, _, _ = SITUATIONS["host of 8 GPUs, block uses 1"]
    result = assess(plan, *attempts)
    item = result.estimates[0]
    assert item.gpu_hours_billed.value == pytest.approx(8 * item.gpu_hours_used.value)
    assert result.decision.totals.remaining.gpu_hours.value == item.gpu_hours_billed.value
    # 3 sessions of 4 h on 8 GPUs
    assert result.decision.totals.spent.gpu_hours.value == 96.0


def test_a_purchase_quote_alone_is_not_compared_with_anything():
    found = situation("purchase quote, no rent quote")
    assert words(found.headline_text).startswith("Compare renting with owning: ")
    assert "no rental price for h100" in words(found.headline_text)
    assert found.totals.remaining.cost.state is State.MISSING


def test_weights_declared_missing_that_ran_are_shown_as_a_contradiction():
    found = situation("weights declared missing, yet a run succeeded")
    assert [words(item) for item in found.contradictions] == [
        "declared: the weights of m are missing; yet attempt a1 ran: the log wins"
    ]


def test_a_closed_campaign_has_nothing_left_and_keeps_what_it_cost():
    found = situation("campaign over").totals
    assert (found.remaining.machine_hours.value, found.remaining.cost.value) == (0.0, Decimal(0))
    # 3 sessions of 4 h at 2.50 EUR
    assert found.sum.cost.value == Decimal("30.00")


def test_the_sentence_to_copy_names_hours_machine_blocks_and_what_comes_later():
    plan = project(block(), block("comparison", condition=condition(batch_size=8)), longer())
    wide = replace(attempt().intended, batch_size=8)
    found = decided(plan, *MEASURED, *runs(*STEADY, prefix="c", intended=wide))
    hours = sum(
        item.remaining_h.high
        for item in assess(plan, *MEASURED, *runs(*STEADY, prefix="c", intended=wide)).estimates[:2]
    )
    cost = sum(  # each block's upper end at 2.50 an hour, no rounding stated
        Decimal(repr(item.remaining_h.high)) * Decimal("2.50")
        for item in assess(plan, *MEASURED, *runs(*STEADY, prefix="c", intended=wide)).estimates[:2]
    )
    assert words(found.approve) == (
        f"Approve now: up to {hours:.4g} h on one H100 for reference, comparison: "
        f"up to {cost} EUR, tax not included; decide again after longer"
    )


@pytest.mark.parametrize(
    ("changes", "not_counted"),
    [
        ({"waits_h": {}}, "wait"),
        ({"sessions": None, "load_per": "session"}, "load"),
    ],
)
def test_what_the_approved_hours_do_not_hold_stands_in_the_sentence(changes, not_counted):
    found = decided(project(block(**changes)), *MEASURED)
    assert f"({not_counted} not counted)" in words(found.approve)


@pytest.mark.parametrize(
    ("plan", "attempts"),
    [
        (project(scope=Scope(repository=Repository(starts="no"))), ()),
        (project(), ()),
        (replace(project(), blocks=()), ()),
        (project(block(environment="cpu")), MEASURED),
    ],
)
def test_nothing_goes_unless_the_headline_lets_somebody_rent_or_run(plan, attempts):
    found = decided(plan, *attempts)
    assert found.go == ()
    assert words(found.approve).startswith("Approve nothing yet. ")
    assert [item.block for item in found.hold] == [item.id for item in plan.blocks]


def test_a_block_that_is_ready_is_held_where_the_headline_lets_nothing_go():
    given = facts(project(), *MEASURED)
    verdicts = decided(project(), *MEASURED).verdicts
    found = held_blocks(given, verdicts, (), msg("make the software start"))
    assert [words(item.why) for item in found] == [
        "it is ready, but first: make the software start"
    ]


def test_a_block_whose_runs_are_all_done_costs_nothing_more_though_nobody_closed_it():
    done = tuple(replace(item, role="campaign") for item in MEASURED)
    found = decided(project(block(planned_runs=5)), *done).totals.remaining
    assert (found.machine_hours.value, found.cost.value) == (0.0, 0)


def test_spent_is_the_reserved_time_at_the_quoted_rate_and_says_that_no_bill_was_read():
    found = decided(project(), *MEASURED).totals.spent
    assert found.machine_hours.value == 12.0
    assert found.cost.value == Decimal("30.00")  # 12 h x 2.50 EUR
    assert found.cost.state is State.QUOTED
    assert "no bill has been read" in words(found.cost.why)


def test_an_example_quote_marks_the_spent_cost_too():
    found = decided(project(quotes=(replace(QUOTE, example=True),)), *MEASURED).totals
    assert (found.spent.cost.state, found.sum.cost.state) == (State.EXAMPLE, State.EXAMPLE)


def test_the_sum_is_spent_plus_remaining():
    found = decided(project(), *MEASURED).totals
    for name in ("machine_hours", "gpu_hours", "cost"):
        parts = [getattr(item, name).value for item in (found.spent, found.remaining, found.sum)]
        assert float(parts[0]) + float(parts[1]) == pytest.approx(float(parts[2]))


def test_before_anything_is_measured_spent_is_missing_and_not_zero():
    found = decided(project()).totals.spent
    assert (found.machine_hours.value, found.cost.value) == (None, None)


def test_a_machine_that_is_not_in_the_plan_leaves_the_spent_cost_missing():
    strange = session("s9", host=A100_HOST)
    found = decided(project(), *MEASURED, sessions=(session(), strange)).totals.spent.cost
    assert (found.value, found.part.value) == (None, Decimal("10.00"))


UNSETTLED = runs(*DRIFT)


@pytest.mark.parametrize(
    ("as_of", "sessions", "hours"),
    [
        (date(2027, 1, 1), (), 28 * 24),  # the whole campaign, 4 to 31 January
        (AS_OF, (), 28 * 24),
        (date(2027, 1, 11), (), 21 * 24),
        # a session on 11 January itself: the next day is the first that is still to come
        (date(2027, 1, 11), (session("s9", 4.0, 8 * 24.0),), 20 * 24),
    ],
)
def test_renting_for_the_campaign_counts_only_what_is_still_to_come(as_of, sessions, hours):
    held_ones = (
        *(session(n, start=-24.0 * i) for i, n in enumerate(("s1", "s2", "s3"))),
        *sessions,
    )
    quote = replace(QUOTE, verified_on=date(2026, 12, 31))
    found = decided(project(quotes=(quote,)), *UNSETTLED, sessions=held_ones, as_of=as_of)
    remaining = found.totals.remaining
    assert (found.headline, remaining.scenario) == ("rent-for-the-campaign", "continuous")
    assert (remaining.machine_hours.value, remaining.gpu_hours.value) == (hours, hours)
    assert remaining.cost.value == hours * Decimal("2.50")


def test_renting_names_the_age_of_the_quote_to_confirm_again():
    found = words(decided(project(), *MEASURED).remarks)
    assert "Before booking confirm availability, term and price again" in found
    assert "quote q1 was verified 3 days ago" in found


def test_limits_are_checked_against_the_totals():
    found = {item.name: item.outcome for item in decided(project(), *MEASURED).checks}
    assert found == {"deadline": "pass", "cap": "pass"}


# What is missing


def needs(plan, *attempts):
    return [(need.where, words(need.what)) for need in decided(plan, *attempts).missing]


def test_nothing_is_asked_for_that_is_there():
    assert needs(project(), *MEASURED) == []


def test_waits_are_asked_once_with_the_blocks_concerned_and_only_after_a_trial():
    bare = {"waits_h": {"decision": 1.0}}
    plan = project(block(**bare), block("b", condition=condition(batch_size=8), **bare))
    wide = replace(attempt().intended, batch_size=8)
    both = (*MEASURED, *runs(*STEADY, prefix="c", intended=wide))
    waits = [what for where, what in needs(plan, *both) if where == "blocks"]
    assert waits == ["expected waits of reference, b: fix, files"]
    one = [what for where, what in needs(plan, *MEASURED) if where == "blocks"]
    assert one == ["expected waits of reference: fix, files"]


def test_trials_that_are_lacking_are_one_need_with_their_blocks():
    plan = project(block(), longer(), block("b", condition=condition(batch_size=8)))
    assert needs(plan, *MEASURED) == [("measurements", "a representative run of longer, b")]


def test_needs_are_sorted_as_verdicts_hours_money():
    plan = project(block(planned_runs=None, sessions=None), longer(), quotes=())
    wanted = ["measurements", "blocks", "blocks", "quotes"]
    assert [where for where, _ in needs(plan, *MEASURED)] == wanted


def test_no_need_is_listed_twice():
    for plan, attempts, _, _ in SITUATIONS.values():
        found = needs(plan, *attempts)
        assert len(found) == len(set(found))


def test_an_unsettled_platform_names_its_blocks_together():
    # other code than what ran there, so that nothing shows that it fits
    other = condition(code="fedcba987654")
    plan = project(block(), block("b", condition=other), block("c", condition=other))
    found = [what for where, what in needs(plan, *MEASURED) if where == "scope"]
    assert found == ["b, c: no attempt has succeeded on one H100, and nobody declared that it fits"]


def test_whether_the_load_is_settled_is_asked_only_of_blocks_that_ran():
    found = needs(project(block(), longer()), *MEASURED[:2])
    assert [what for _, what in found if "settled" in what] == [
        "whether the load of reference is settled: 2 measured units in 1 sessions are too few to "
        "tell"
    ]


def test_a_spent_session_without_a_price_asks_for_one_though_all_blocks_are_done():
    plan = project(block(state="done"), quotes=())
    assert ("quotes", "no rental price for h100") in needs(plan, *MEASURED)


def test_a_plan_without_an_open_block_asks_for_one():
    plan = replace(project(), blocks=())
    assert "no block is open" in [what for _, what in needs(plan)]


def test_hours_that_happened_are_not_counted_again_as_still_to_come():
    done = tuple(
        replace(item, role="campaign", started_at=at(index)) for index, item in enumerate(MEASURED)
    )
    plan = project(block(waits_h=dict(NO_WAITS)))
    found = assess(plan, *done)
    assert found.estimates[0].units.value == 5
    # 5 of the 10 runs are left: about 5 x 3970 s
    assert found.decision.totals.remaining.machine_hours.value == pytest.approx(
        5 * 3971 / 3600, rel=1e-3
    )


def test_a_price_for_rounded_time_says_how_much_time_it_counts():
    # 12.19 h at the upper end, in one session billed by 6 h: 3 x 6 = 18 h
    coarse = replace(QUOTE, billing=replace(QUOTE.billing, increment_s=6 * 3600))
    once = block(planned_runs=11, sessions=1, waits_h={"decision": 0, "fix": 0, "files": 0})
    texts = [words(item) for item in decided(project(once, quotes=(coarse,)), *MEASURED).remarks]
    assert any("the price counts up to 18 h for up to" in text for text in texts)
    plain = [words(item) for item in decided(project(once), *MEASURED).remarks]
    assert not any("the price counts" in text for text in plain)
