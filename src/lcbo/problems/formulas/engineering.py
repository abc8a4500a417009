"""Four small engineering designs that the constrained-optimization literature keeps using."""

from __future__ import annotations

import numpy as np

from lcbo.problems.formulas.analytic import Formulas, Inequalities, stated
from lcbo.types import Array

_LEAST_DIVISOR = 1e-12


@stated(Inequalities, [0.125, 0.1, 0.1, 0.1], [5.0, 10.0, 10.0, 5.0])
def welded_beam(X: Array) -> Formulas:
    """Cheapest welded beam, x = (weld h, weld length l, bar height t, bar width b); f* = 1.7248523.

    K. M. Ragsdell and D. T. Phillips 1976, in the five-constraint form of later papers (C. A. Coello Coello
    2000).
    """
    h, length, t, b = X.T
    f = 1.10471 * h**2 * length + 0.04811 * t * b * (14.0 + length)
    load, span, young, shear = 6000.0, 14.0, 30e6, 12e6
    arm = (h + t) / 2.0
    radius = np.sqrt(length**2 / 4.0 + arm**2)
    polar = 2.0 * np.sqrt(2.0) * h * length * (length**2 / 12.0 + arm**2)
    direct = load / (np.sqrt(2.0) * h * length)
    torsion = load * (span + length / 2.0) * radius / polar
    tau = np.sqrt(direct**2 + direct * torsion * length / radius + torsion**2)
    sigma = 6.0 * load * span / (b * t**2)
    delta = 4.0 * load * span**3 / (young * t**3 * b)
    slender = 1.0 - t / (2.0 * span) * np.sqrt(young / (4.0 * shear))
    buckling = 4.013 * young * t * b**3 / (6.0 * span**2) * slender
    # Shear, bending, geometry, deflection, buckling.
    g = (tau / 13600.0 - 1.0, sigma / 30000.0 - 1.0, h - b, delta / 0.25 - 1.0, 1.0 - buckling / load)
    return f, g, ()


@stated(Inequalities, [0.0625, 0.0625, 10.0, 10.0], [6.1875, 6.1875, 200.0, 200.0])
def pressure_vessel(X: Array) -> Formulas:
    """Cheapest pressure vessel, x = (shell, head, radius, length), all continuous; f* = 5885.3327736.

    E. Sandgren, J. Mech. Des. 112, 1990, there with thicknesses in steps of 1/16 in.
    """
    shell, head, radius, length = X.T
    f = (
        0.6224 * shell * radius * length
        + 1.7781 * head * radius**2
        + 3.1661 * shell**2 * length
        + 19.84 * shell**2 * radius
    )
    volume = np.pi * radius**2 * length + 4.0 / 3.0 * np.pi * radius**3
    # Thicknesses, volume, length.
    return f, (0.0193 * radius - shell, 0.00954 * radius - head, 1296000.0 - volume, length - 240.0), ()


@stated(Inequalities, [0.05, 0.25, 2.0], [2.0, 1.3, 15.0])
def tension_spring(X: Array) -> Formulas:
    """Lightest tension spring, x = (wire d, coil D, active coils N); f* = 0.0126652.

    g2 has a pole at d = D; its divisor is kept away from 0
    by 1e-12, on the side of its sign. A. D. Belegundu 1982; J. S. Arora, Introduction to Optimum Design.
    """
    wire, coil, turns = X.T
    f = (turns + 2.0) * coil * wire**2
    divisor = 12566.0 * (coil * wire**3 - wire**4)
    divisor = np.copysign(np.maximum(np.abs(divisor), _LEAST_DIVISOR), divisor)
    # Deflection, shear, surge frequency, outer diameter.
    g = (
        1.0 - coil**3 * turns / (71785.0 * wire**4),
        (4.0 * coil**2 - wire * coil) / divisor + 1.0 / (5108.0 * wire**2) - 1.0,
        1.0 - 140.45 * wire / (coil**2 * turns),
        (wire + coil) / 1.5 - 1.0,
    )
    return f, g, ()


@stated(Inequalities, [2.6, 0.7, 17.0, 7.3, 7.3, 2.9, 5.0], [3.6, 0.8, 28.0, 8.3, 8.3, 3.9, 5.5])
def speed_reducer(X: Array) -> Formulas:
    """Lightest gearbox, d = 7, eleven inequalities, teeth continuous, x5 >= 7.3; f* = 2994.4710661.

    x = (face width, module, teeth, shaft lengths 1 and 2, shaft diameters 1 and 2). J. Golinski,
    J. Mechanisms 5, 1970; bounds as in CEC 2020 RC15 (with x5 >= 7.8 the answer is 2996.348).
    """
    x1, x2, x3, x4, x5, x6, x7 = X.T
    gears = 0.7854 * x1 * x2**2 * (3.3333 * x3**2 + 14.9334 * x3 - 43.0934)
    f = gears - 1.508 * x1 * (x6**2 + x7**2) + 7.4777 * (x6**3 + x7**3) + 0.7854 * (x4 * x6**2 + x5 * x7**2)
    # Teeth bending and contact, shaft deflections and stresses, geometry.
    g = (
        27.0 / (x1 * x2**2 * x3) - 1.0,
        397.5 / (x1 * x2**2 * x3**2) - 1.0,
        1.93 * x4**3 / (x2 * x3 * x6**4) - 1.0,
        1.93 * x5**3 / (x2 * x3 * x7**4) - 1.0,
        np.sqrt((745.0 * x4 / (x2 * x3)) ** 2 + 16.9e6) / (110.0 * x6**3) - 1.0,
        np.sqrt((745.0 * x5 / (x2 * x3)) ** 2 + 157.5e6) / (85.0 * x7**3) - 1.0,
        x2 * x3 / 40.0 - 1.0,
        5.0 * x2 / x1 - 1.0,
        x1 / (12.0 * x2) - 1.0,
        (1.5 * x6 + 1.9) / x4 - 1.0,
        (1.1 * x7 + 1.9) / x5 - 1.0,
    )
    return f, g, ()
