"""Local constrained Bayesian optimization, by the package lcbo."""

from lcbo.integrations.optuna import LcboSampler

__all__ = ["LcboSampler"]
