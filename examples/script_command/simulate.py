"""A tube under its load: reads parameters.json, writes outcomes.json, stops where there is no tube."""

import json
import math
import sys

with open("parameters.json") as file:
    p = json.load(file)
outer, inner, length = p["outer"], p["outer"] - 2 * p["wall"], 3.0
if inner <= 0:
    sys.exit("the wall is thicker than the tube")
area = math.pi / 4 * (outer**2 - inner**2)
inertia = math.pi / 64 * (outer**4 - inner**4)
outcomes = {
    "mass": 7850 * area * length,
    "stress": 150e3 / area / 1e6,  # MPa
    "buckling": math.pi**2 * 2.1e11 * inertia / (4 * length**2) / 150e3,  # critical load over load
}
with open("outcomes.json", "w") as file:
    json.dump(outcomes, file)
