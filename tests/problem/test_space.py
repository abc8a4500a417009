import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lcbo.problem.space import Space

fractions = st.integers(0, 2**53).map(lambda k: k / 2**53)  # no underflow when scaled
finite = st.floats(-1e100, 1e100, allow_subnormal=False)


@st.composite
def boxes_with_point(draw):
    pairs = draw(st.lists(st.tuples(finite, finite), min_size=1, max_size=5))
    box = np.sort(np.array(pairs), axis=1)
    space = Space(box[:, 0], box[:, 1])
    u = draw(st.lists(st.floats(0, 1), min_size=space.dim, max_size=space.dim))
    return space, np.array(u)


@given(boxes_with_point())
def test_points_never_leave_the_bounds(case):
    space, u = case
    x = space.from_unit(u)
    assert np.all((x >= space.lb) & (x <= space.ub))


@given(boxes_with_point())
def test_corners_map_to_corners(case):
    space, _ = case
    for end, bound in ((0.0, space.lb), (1.0, space.ub)):
        x = space.from_unit(np.full(space.dim, end))
        np.testing.assert_array_equal(x[space.free], bound[space.free])
        np.testing.assert_array_equal(space.to_unit(bound), np.full(space.dim, end))


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), fractions), min_size=1, max_size=5),
    st.integers(-40, 40),
)
def test_power_of_two_scaling_is_exact(variables, power):
    low, width, u = np.array(variables).T
    low, width = np.round(low, 3), np.round(width, 3) + 0.5
    space = Space(low, low + width)
    scaled = Space(low * 2.0**power, (low + width) * 2.0**power)
    x, x_scaled = space.from_unit(u), scaled.from_unit(u)
    np.testing.assert_array_equal(x * 2.0**power, x_scaled)
    np.testing.assert_array_equal(space.to_unit(x), scaled.to_unit(x_scaled))


def test_fixed_variables_are_dropped_and_put_back():
    space = Space(np.array([0.0, 5.0, -1.0]), np.array([2.0, 5.0, 1.0]))
    assert space.dim == 2
    np.testing.assert_array_equal(space.to_unit(np.array([1.0, 5.0, 0.0])), [0.5, 0.5])
    np.testing.assert_array_equal(space.from_unit(np.array([0.5, 0.25])), [1.0, 5.0, -0.5])


def test_batches_keep_their_shape():
    space = Space(np.array([0.0, 5.0, -1.0]), np.array([2.0, 5.0, 1.0]))
    u = np.linspace(0, 1, 14).reshape(7, 2)
    assert space.from_unit(u).shape == (7, 3)
    np.testing.assert_allclose(space.to_unit(space.from_unit(u)), u, rtol=1e-15)
