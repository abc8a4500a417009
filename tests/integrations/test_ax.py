import numpy as np
import pytest

pytest.importorskip("ax.api.client", reason="needs lcbo[ax]")

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.generation_strategy.generation_strategy import GenerationStrategy

import lcbo
from lcbo.integrations.ax import LcboNode

pytestmark = pytest.mark.filterwarnings("ignore")  # Ax's own


def outcomes(params):
    x = np.array([params["x"], np.log10(params["rate"]), params["layers"] / 4])
    return {"f": float(((x - [1.0, -2.0, 1.0]) ** 2).sum()), "g": float(x[0] + x[2])}


def client(constraints=("g <= 1.5",), objective="-f", parameters=None, **node):
    found = Client(random_seed=0)
    found.configure_experiment(
        parameters=parameters
        or [
            RangeParameterConfig(name="x", parameter_type="float", bounds=(0.0, 2.0)),
            RangeParameterConfig(name="rate", parameter_type="float", bounds=(1e-4, 1.0), scaling="log"),
            RangeParameterConfig(name="layers", parameter_type="int", bounds=(1, 8)),
        ]
    )
    found.configure_optimization(objective=objective, outcome_constraints=list(constraints))
    found.set_generation_strategy(GenerationStrategy(nodes=[LcboNode(**node)], name="lcbo"))
    return found


def go_on(client, trials, sem=None):
    for _ in range(trials):
        ((number, params),) = client.get_next_trials(max_trials=1).items()
        raw = {name: value if sem is None else (value, sem) for name, value in outcomes(params).items()}
        client.complete_trial(trial_index=number, raw_data=raw)


def node_of(client):
    return client._generation_strategy._curr


def test_twenty_trials_with_an_outcome_constraint():
    ax = client()
    go_on(ax, 20, sem=0.0)
    params, values, _, _ = ax.get_best_parameterization(use_model_predictions=False)
    assert values["g"][0] <= 1.5
    assert values["f"][0] < 0.5
    assert isinstance(params["layers"], int)
    log = node_of(ax)._follower.optimizer.log
    assert [e.role for e in log.evaluations].count("data") == 0
    assert node_of(ax)._noise == {"f": 0.0, "g": 0.0}


def test_points_are_those_of_ask_and_tell():
    ax = client(constraints=["g <= 1.5"])
    go_on(ax, 12)
    bounds = {"x": (0.0, 2.0), "rate": (np.log(1e-4), 0.0), "layers": (1.0, 8.0)}
    optimizer = lcbo.Optimizer(lcbo.Problem(bounds, ["g <= 1.5"], "f"))
    own = []
    while len(own) < 12:
        for c in optimizer.ask():
            params = {"x": c.x[0], "rate": float(np.exp(c.x[1])), "layers": round(c.x[2])}
            own.append(params)
            optimizer.tell(c.id, outcomes(params))
    found = [t.arm.parameters for t in ax._experiment.trials.values()]
    for mine, theirs in zip(own, found, strict=False):
        assert theirs == pytest.approx(mine, rel=1e-9)


def test_new_node_goes_on_and_failures_and_foreign_trials_are_told():
    whole, begun = client(), client()
    go_on(whole, 14)
    go_on(begun, 8)
    begun.set_generation_strategy(GenerationStrategy(nodes=[LcboNode()], name="lcbo"))
    go_on(begun, 6)
    trials = [[t.arm.parameters for t in c._experiment.trials.values()] for c in (whole, begun)]
    assert trials[0] == trials[1]
    number = begun.attach_trial({"x": 0.5, "rate": 0.01, "layers": 4})
    begun.complete_trial(trial_index=number, raw_data=outcomes({"x": 0.5, "rate": 0.01, "layers": 4}))
    ((number, _),) = begun.get_next_trials(max_trials=1).items()
    begun.mark_trial_failed(trial_index=number)
    go_on(begun, 1)
    log = node_of(begun)._follower.optimizer.log
    assert log.n_failed == 1
    assert log.n_data == 1


def test_several_trials_at_once():
    ax = client()
    for _ in range(3):
        for number, params in ax.get_next_trials(max_trials=4).items():
            ax.complete_trial(trial_index=number, raw_data=outcomes(params))
    go_on(ax, 1)
    assert len(node_of(ax)._follower.optimizer.log.evaluations) == 12


def test_sides_and_directions():
    ax = client(constraints=["g >= -1.5", "-2*h <= 3"], objective="f")
    ax.get_next_trials(max_trials=1)
    problem = node_of(ax)._follower.optimizer.problem
    assert problem.objective == lcbo.Objective("f", maximize=True)
    assert [str(c) for c in problem.constraints] == ["-1.5 <= g", "-1.5 <= h"]


def test_what_it_cannot_do_is_refused():
    choice = [ChoiceParameterConfig(name="kind", parameter_type="str", values=["a", "b", "c"])]
    with pytest.raises(lcbo.ArgumentError, match="kind"):
        client(parameters=choice).get_next_trials(max_trials=1)
