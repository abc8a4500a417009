"""What is to be solved, in the user's words: variables, outcomes, thresholds, noise."""

from lcbo.problem.constraint import Constraint, Objective
from lcbo.problem.problem import Problem, is_finite, not_finite, outcome_value

__all__ = ["Constraint", "Objective", "Problem", "is_finite", "not_finite", "outcome_value"]
