"""A solver of the old kind: reads a deck in fixed columns, writes a listing with Fortran's exponents."""

import sys

with open(sys.argv[1]) as deck:
    cards = [line for line in deck if not line.startswith("**")]
areas = [float(card[10:20]) for card in cards if card.startswith("SECTION")]
load = next(float(card[10:20]) for card in cards if card.startswith("LOAD"))
lengths, shares = (3.0, 4.0, 3.0), (0.7, 1.0, 0.5)


def fortran(value):
    """Return a number as Fortran's D format writes it."""
    return f"{value:14.6E}".replace("E", "D")


members = list(zip(areas, lengths, shares, strict=True))
mass = sum(7850 * area * length for area, length, _ in members)
stress = max(share * load / area for area, _, share in members)
drift = sum(share * load * length / (2.1e11 * area) for area, length, share in members) * 1e3
with open("frame.out", "w") as listing:
    print(" ITERATION   1   DRIFT = ", fortran(1.0), file=listing)
    print(" ITERATION   2   DRIFT = ", fortran(drift), file=listing)
    print(" TOTAL MASS      = ", fortran(mass), file=listing)
    print(" MAXIMUM STRESS  = ", fortran(stress), file=listing)
