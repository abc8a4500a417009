"""What is to be solved, in the user's words: variables, outcomes, thresholds, noise."""

from lcbo.problem.constraint import Constraint, Objective
from lcbo.problem.outcomes import is_finite, not_finite, outcome_value
from lcbo.problem.problem import Problem
from lcbo.problem.variable import Variable

__all__ = ["Constraint", "Objective", "Problem", "Variable", "is_finite", "not_finite", "outcome_value"]
