"""Ownership arithmetic against published worked examples."""

from __future__ import annotations

from decimal import Decimal as D

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.ownership import (
    annuity_factor,
    break_even_utilisation,
    cost_per_useful_gpu_hour,
    equivalent_annual_cost,
    gap_break_even_h,
    npv,
    payback_years,
    present_cost,
    yearly_energy_cost,
)

# legitlads.com accelerator ROI console: 64 GPUs, 2.00 per GPU-hour, 70 %, 4 years, 10 %.
PRICE, GPUS, RENT, SHARE, YEARS, RATE = D(1920000), 64, D("2.00"), D("0.70"), D(4), D("0.10")
OPERATING = D(728681) / 4  # 182,170.25 a year
YEARLY_RENT = GPUS * D(8760) * SHARE * RENT  # 784,896


def test_own_or_cloud_example_is_met_to_the_printed_digit() -> None:
    assert D("784896") == YEARLY_RENT
    flows = [-PRICE, *[YEARLY_RENT - OPERATING] * 4]
    assert round(npv(RATE, flows), 2) == D("-9440.47")
    annual = equivalent_annual_cost(PRICE, D(0), YEARS, RATE, OPERATING)
    assert round(annual, 2) == D("787874.19")
    paid = payback_years(PRICE, YEARLY_RENT, OPERATING)
    assert paid is not None
    assert round(paid, 4) == D("3.1855")


def test_break_even_of_the_example_undiscounted_and_discounted() -> None:
    # Undiscounted the capital is a quarter of the price a year: 662,170.25 / 1,121,280.
    plain = break_even_utilisation(PRICE / 4 + OPERATING, GPUS, RENT, D(0))
    annual = equivalent_annual_cost(PRICE, D(0), YEARS, RATE, OPERATING)
    discounted = break_even_utilisation(annual, GPUS, RENT, D(0))
    assert plain is not None
    assert discounted is not None
    assert round(plain, 5) == D("0.59055")
    assert round(discounted, 4) == D("0.7027")
    assert discounted > SHARE  # so renting is cheaper, although the payback is within the life


def test_npv_is_the_one_of_numpy_financial() -> None:
    flows = [D(-40000), D(5000), D(8000), D(12000), D(30000)]
    assert round(npv(D("0.08"), flows), 5) == D("3065.22267")


def test_gap_example_is_met_to_the_printed_digit() -> None:
    gap = gap_break_even_h(D(4), D(3), D(4), D("0.1"))
    assert gap is not None
    assert round(gap, 3) == D("3.077")


@pytest.mark.parametrize("kept", [D("0.1"), D("0.05")])
def test_a_machine_no_dearer_than_its_storage_is_always_kept(kept: D) -> None:
    assert gap_break_even_h(D(4), D(3), kept, D("0.1")) is None


def test_depreciation_is_not_added_to_the_capital() -> None:
    # Without interest capital costs (30000 - 7500) / 10 = 2250 a year, which is the straight line
    # depreciation: it is there once, and operating cost of 100 is all that comes on top.
    assert equivalent_annual_cost(D(30000), D(7500), D(10), D(0), D(100)) == D(2350)
    # Over its life: 30000 + 10 * 100 - 7500, without ten times 2250 again.
    assert present_cost(D(30000), D(7500), D(10), D(0), D(100)) == D(23500)


def test_wrong_published_payback_is_not_reproduced() -> None:
    months = payback_years(D(1899), D(24), D(0))
    assert months == D("79.125")  # published as about 46


def test_wrong_published_bill_is_not_reproduced() -> None:
    # 31.46 an hour over 48 h is 1,510.08; the published 22,600 is that of 720 h.
    assert yearly_energy_cost(D(1), D(1), D(48), D("31.46")) == D("1510.08")


def test_energy_is_power_times_pue_times_hours_times_tariff() -> None:
    # 5.6 kW * 1.3 = 7.28 kW; * 8760 h = 63,772.8 kWh; * 0.20 = 12,754.56
    assert yearly_energy_cost(D("5.6"), D("1.3"), D(8760), D("0.20")) == D("12754.56")


def test_cost_per_delivered_gpu_hour_counts_only_useful_hours() -> None:
    # 8760 a year on one GPU in use half of the time: 8760 / 4380 = 2
    assert cost_per_useful_gpu_hour(D(8760), 1, D("0.5")) == 2


@pytest.mark.parametrize(
    ("fixed", "rent", "energy"),
    [(D(1000), D("0.1"), D("0.1")), (D(1000), D("0.1"), D("0.2")), (D(100000), D(1), D(0))],
)
def test_owning_that_never_pays_within_its_life_is_none(fixed: D, rent: D, energy: D) -> None:
    assert break_even_utilisation(fixed, 1, rent, energy) is None


def test_payback_is_none_when_operating_costs_as_much_as_renting() -> None:
    assert payback_years(D(1000), D(10), D(10)) is None


def test_annuity_without_interest_is_the_number_of_years() -> None:
    assert annuity_factor(D(0), D("2.5")) == D("2.5")


@pytest.mark.parametrize(("rate", "years"), [(D(-1), D(1)), (D("0.1"), D(0)), (D(0), D(-1))])
def test_annuity_refuses_what_has_no_meaning(rate: D, years: D) -> None:
    with pytest.raises(ValueError, match="must be above"):
        annuity_factor(rate, years)


@given(
    price=st.decimals(1, 10**6, places=2),
    cost=st.decimals(0, 10**5, places=2),
    resale=st.decimals(0, 10**5, places=2),
    rate=st.decimals(0, 1, places=3),
    years=st.integers(1, 10),
)
def test_present_cost_is_the_negative_npv_of_its_flows(
    price: D, cost: D, resale: D, rate: D, years: int
) -> None:
    flows = [-price, *[-cost] * (years - 1), resale - cost]
    result = present_cost(price, resale, D(years), rate, cost)
    assert abs(result + npv(rate, flows)) < D("1e-12")
    annual = equivalent_annual_cost(price, resale, D(years), rate, cost)
    assert abs(annual * annuity_factor(rate, D(years)) - result) < D("1e-12")
