"""The arithmetic of a machine of one's own: annuity, net present value, yearly cost, break-even.

Money is ``Decimal`` in one currency, rates are shares per year (``Decimal("0.08")`` is 8 %).
Depreciation appears nowhere: it is accounting, not cash. Interest belongs in the discount rate,
not also in the flows. Sources: numpy-financial and Excel define ``npv``; the others are the usual
textbook formulas of engineering economics.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

HOURS_PER_YEAR = Decimal(8760)
"""365 days of 24 h, as is usual in utilisation and energy arithmetic."""


def annuity_factor(rate: Decimal, years: Decimal) -> Decimal:
    """Return ``(1 - (1+r)^-n) / r`` in years, or ``n`` when ``r`` is 0: present value of 1 a year.

    Source: ordinary annuity, ``-pv(r, n, 1)`` in numpy-financial. Raises ``ValueError`` when
    ``rate`` is not above -1 or ``years`` is not above 0.
    """
    _check(rate, years)
    if rate == 0:
        return years
    return (1 - (1 + rate) ** -years) / rate


def discount_factor(rate: Decimal, years: Decimal) -> Decimal:
    """Return ``(1+r)^-n``: the present value of 1 that is paid after ``years``.

    Raises ``ValueError`` when ``rate`` is not above -1.
    """
    if rate <= -1:
        raise ValueError("a rate must be above -1")
    return (1 + rate) ** -years


def npv(rate: Decimal, flows: Sequence[Decimal]) -> Decimal:
    """Return ``sum CF_t / (1+r)^t`` with the first flow at t = 0, as numpy-financial does.

    Excel's ``NPV()`` discounts its first flow too: there write ``=CF0+NPV(r,CF1..)``. Raises
    ``ValueError`` when ``rate`` is not above -1.
    """
    return sum(
        (flow * discount_factor(rate, Decimal(year)) for year, flow in enumerate(flows)),
        Decimal(0),
    )


def present_cost(
    price: Decimal, resale: Decimal, years: Decimal, rate: Decimal, yearly_cost: Decimal
) -> Decimal:
    """Return ``P + O*a(r,n) - S/(1+r)^n``: what buying costs over its life, in today's money.

    For whole years it is ``-npv(r, [-P, -O, ..., -O + S])``. Errors as in ``annuity_factor``.
    """
    return price + yearly_cost * annuity_factor(rate, years) - resale * discount_factor(rate, years)


def equivalent_annual_cost(
    price: Decimal, resale: Decimal, years: Decimal, rate: Decimal, yearly_cost: Decimal
) -> Decimal:
    """Return ``(P - S/(1+r)^n) / a(r,n) + O``, money per year.

    ``yearly_cost`` is cash only: the capital is in the first term already. Source: equivalent
    annual cost, which also compares machines of unequal lives. Errors as in ``annuity_factor``.
    """
    capital = price - resale * discount_factor(rate, years)
    return capital / annuity_factor(rate, years) + yearly_cost


def yearly_energy_cost(
    power_kw: Decimal, pue: Decimal, hours: Decimal, tariff_per_kwh: Decimal
) -> Decimal:
    """Return ``kW_IT * PUE * h * tariff``, money per year for ``hours`` under load in a year.

    Do not add it to a colocation price that includes cooling. Source: definition of the power
    usage effectiveness (ISO/IEC 30134-2).
    """
    return power_kw * pue * hours * tariff_per_kwh


def cost_per_useful_gpu_hour(annual_own: Decimal, gpus: int, utilisation: Decimal) -> Decimal:
    """Return ``annual own cost / (N * 8760 * u)``, money per delivered GPU-hour.

    Raises ``ValueError`` when ``gpus`` or ``utilisation`` is not above 0.
    """
    if gpus <= 0 or utilisation <= 0:
        raise ValueError("a machine that delivers nothing has no cost per delivered hour")
    return annual_own / (gpus * HOURS_PER_YEAR * utilisation)


def break_even_utilisation(
    fixed_yearly: Decimal, gpus: int, rent_rate: Decimal, own_energy_per_gpu_hour: Decimal
) -> Decimal | None:
    """Return ``u* = F / (N * 8760 * (p - m))``, the share of the year from which owning pays.

    ``fixed_yearly`` is the yearly cost with capital and without energy, the rates are per
    GPU-hour. None means never within its life: each rented hour is no dearer than one's own
    energy, or a year has too few hours. Raises ``ValueError`` when ``gpus`` is not above 0.
    """
    if gpus <= 0:
        raise ValueError("a machine without GPUs has no GPU-hours")
    if rent_rate <= own_energy_per_gpu_hour:
        return None
    share = fixed_yearly / (gpus * HOURS_PER_YEAR * (rent_rate - own_energy_per_gpu_hour))
    return share if share <= 1 else None


def payback_years(
    price: Decimal, yearly_rent: Decimal, yearly_operating: Decimal
) -> Decimal | None:
    """Return ``P / (yearly rent - yearly O)`` in years, undiscounted; None when it never pays.

    ``yearly_operating`` must not hold the capital: amortisation would be counted twice.
    """
    saving = yearly_rent - yearly_operating
    return price / saving if saving > 0 else None


def gap_break_even_h(
    on_demand_rate: Decimal, setup_h: Decimal, kept_rate: Decimal, storage_per_h: Decimal
) -> Decimal | None:
    """Return ``G* = p_od*setup / (p_res - s)`` in hours: keep a machine through shorter gaps.

    The rates are per hour. None means that keeping it is always cheaper, because it costs no
    more than the storage that would replace it.
    """
    if kept_rate <= storage_per_h:
        return None
    return on_demand_rate * setup_h / (kept_rate - storage_per_h)


def _check(rate: Decimal, years: Decimal) -> None:
    if rate <= -1:
        raise ValueError("a rate must be above -1")
    if years <= 0:
        raise ValueError("a life must be above 0 years")
