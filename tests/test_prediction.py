"""Totals of further units: published examples, the session model by hand, what never matters."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from budget.prediction import none_failed_bound, predict_total


def test_five_runs_of_one_session_predict_twenty_as_published():
    # mean 100, s = sqrt(40/4) = 3.162278, t(4) = 2.776445, sqrt(20 + 400/5) = 10: 2000 +- 87.80
    found = predict_total([[100, 104, 96, 102, 98]], 20, 1, 0.95)
    assert (found.mid, round(found.low, 1), round(found.high, 1)) == (2000, 1912.2, 2087.8)
    assert (found.n, found.k) == (5, 1)


def test_two_runs_of_one_session_predict_ten_as_published():
    # mean 10.5, s = 0.707107, t(1) = 12.706205, sqrt(10 + 100/2) = 7.745967: 105 +- 69.59
    found = predict_total([[10, 11]], 10, 1, 0.95)
    assert found.mid == 105
    assert found.high - found.mid == pytest.approx(69.59, abs=0.01)
    assert found.mid - found.low == pytest.approx(69.59, abs=0.01)


def test_a_one_sided_upper_end_of_95_percent_is_the_end_of_the_90_percent_range():
    # t(4, 0.95) = 2.131847, so 2000 + 2.131847 x 3.162278 x 10 = 2067.4; 139.6 for 10 and 11
    highs = [predict_total([[100, 104, 96, 102, 98]], 20, 1, 0.90).high,
             predict_total([[10, 11]], 10, 1, 0.90).high]  # fmt: skip
    assert highs == pytest.approx([2067.4, 139.6], abs=0.05)


def test_two_sessions_by_hand():
    # means 100 and 110; s_b^2 = 50; s_w^2 = (2 + 2)/(4 - 2) = 2, m = 2
    # sigma_a^2 = 50 - 2/2 = 49; N = 10, S = 2: 100*49/2 + 10*2 + 100*50/2 = 2450 + 20 + 2500
    # half = t(1) * sqrt(4970) = 12.706205 * 70.498227 = 895.765
    found = predict_total([[99, 101], [109, 111]], 10, 2, 0.95)
    assert found.mid == 1050
    assert found.high - found.mid == pytest.approx(895.765, abs=0.01)
    assert (found.n, found.k) == (4, 2)


def test_three_sessions_by_hand():
    # means 10, 12, 14, mean 12; s_b^2 = 4; s_w^2 = (2 + 2 + 2)/3 = 2, m = 2; sigma_a^2 = 3
    # N = 6, S = 3: 36*3/3 + 6*2 + 36*4/3 = 36 + 12 + 48 = 96
    # half = t(2) * sqrt(96) = 4.302653 * 9.797959 = 42.157
    found = predict_total([[9, 11], [11, 13], [13, 15]], 6, 3, 0.95)
    assert found.mid == 72
    assert found.high - found.mid == pytest.approx(42.157, abs=0.01)


def test_sessions_that_do_not_differ_count_no_session_shift_twice():
    # means 10 and 10: s_b^2 = 0, sigma_a^2 = max(0, 0 - 2/2) = 0; half = t(1)*sqrt(4*2) = 35.939
    found = predict_total([[9, 11], [9, 11]], 4, 2, 0.95)
    assert found.high - found.mid == pytest.approx(35.939, abs=0.01)


def test_units_lie_in_no_more_sessions_than_there_are_units():
    # one further unit is in one session, however many are planned
    groups = [[99, 101], [109, 111]]
    assert predict_total(groups, 1, 5, 0.95) == predict_total(groups, 1, 1, 0.95)


def test_one_measurement_is_a_point_and_none_is_nothing():
    once = predict_total([[7.0]], 3, 1, 0.95)
    assert (once.mid, once.low, once.high, once.n, once.k) == (21.0, None, None, 1, 1)
    assert predict_total([], 3, 1, 0.95) is None
    assert predict_total([[], []], 3, 1, 0.95) is None


def test_a_duration_below_zero_is_cut_off():
    assert predict_total([[1, 9]], 3, 1, 0.95).low == 0.0


@pytest.mark.parametrize(("n", "share"), [(3, 0.63), (5, 0.45), (10, 0.26), (20, 0.14)])
def test_none_failed_still_allows_the_published_share(n, share):
    assert none_failed_bound(n) == pytest.approx(share, abs=0.005)


values = st.lists(st.floats(0.1, 1e5), min_size=1, max_size=5)


@given(groups=st.lists(values, min_size=1, max_size=4), data=st.data())
def test_the_order_of_attempts_and_sessions_never_matters(groups, data):
    mixed = [data.draw(st.permutations(group)) for group in data.draw(st.permutations(groups))]
    one, other = predict_total(groups, 7, 2, 0.95), predict_total(mixed, 7, 2, 0.95)
    assert (one.n, one.k, one.low is None) == (other.n, other.k, other.low is None)
    assert math.isclose(one.mid, other.mid, rel_tol=1e-9)
    if one.high is not None:
        assert math.isclose(one.high, other.high, rel_tol=1e-6)
