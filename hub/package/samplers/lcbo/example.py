"""A disc to stay in and a corner to reach: `python example.py`."""

import optuna
import optunahub
from optuna.distributions import FloatDistribution


def objective(trial: optuna.Trial) -> float:
    """Return the squared distance to the corner; feasible within the disc."""
    x, y = trial.suggest_float("x", 0.0, 2.0), trial.suggest_float("y", 0.0, 3.0)
    trial.set_constraint("disc", x**2 + y**2 - 4.0)
    return (x - 2.0) ** 2 + (y - 3.0) ** 2


if __name__ == "__main__":
    package = optunahub.load_module("samplers/lcbo")
    space = {"x": FloatDistribution(0.0, 2.0), "y": FloatDistribution(0.0, 3.0)}
    study = optuna.create_study(sampler=package.LcboSampler(space, ["disc"]))
    study.optimize(objective, n_trials=40)
    print(study.best_trial.params, study.best_value)
