import copy
import math
import multiprocessing
import os
import pickle
import signal
import time
from pathlib import Path

import pytest

optuna = pytest.importorskip("optuna", minversion="5.0", reason="needs lcbo[optuna]")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402
from optuna.testing.pytest_samplers import (  # noqa: E402
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

import lcbo  # noqa: E402
from lcbo.integrations.optuna import LcboSampler  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)
SPACE = {"x": FloatDistribution(0.0, 2.0), "y": FloatDistribution(0.0, 3.0)}


class TestOptunasOwn(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return LcboSampler


def objective(trial):
    x, y = trial.suggest_float("x", 0.0, 2.0), trial.suggest_float("y", 0.0, 3.0)
    trial.set_constraint("disc", x**2 + y**2 - 4.0)
    return (x - 2.0) ** 2 + (y - 3.0) ** 2


def points(study):
    return [(t.params["x"], t.params["y"]) for t in study.trials if t.params]


def test_points_are_those_of_ask_and_tell():
    sampler = LcboSampler(SPACE, ["disc"], deterministic=True, seed=4)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=25)
    constraints, bounds = ["disc <= 0"], [(0.0, 2.0), (0.0, 3.0)]
    optimizer = lcbo.Optimizer(lcbo.Problem(bounds, constraints, "f", deterministic=True), rng=4)
    own = []
    while len(own) < 25:
        for c in optimizer.ask():
            x, y = c.x
            own.append((x, y))
            optimizer.tell(c.id, {"f": (x - 2.0) ** 2 + (y - 3.0) ** 2, "disc": x**2 + y**2 - 4.0})
    assert points(study) == own[:25]


def test_names_of_constraints_are_learned_and_the_study_goes_on_from_its_storage(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    whole = optuna.create_study(sampler=LcboSampler(SPACE, ["disc"]))
    whole.optimize(objective, n_trials=20)
    begun = optuna.create_study(study_name="s", storage=storage, sampler=LcboSampler(SPACE))
    begun.optimize(objective, n_trials=7)
    for _ in range(2):  # each time with a new sampler that knows nothing but the trials
        goes_on = optuna.load_study(study_name="s", storage=storage, sampler=LcboSampler(SPACE))
        goes_on.optimize(objective, n_trials=7 if len(goes_on.trials) == 7 else 6)
    assert points(goes_on) == points(whole)


def test_constraints_func_is_asked_and_recorded():
    def constraints(trial):
        return (trial.params["x"] ** 2 + trial.params["y"] ** 2 - 4.0,)

    def plain(trial):
        x, y = trial.suggest_float("x", 0.0, 2.0), trial.suggest_float("y", 0.0, 3.0)
        return (x - 2.0) ** 2 + (y - 3.0) ** 2

    study = optuna.create_study(sampler=LcboSampler(SPACE, constraints_func=constraints))
    study.optimize(plain, n_trials=25)
    assert all(len(t.constraints) == 1 for t in study.trials)
    best = study.best_trial
    assert best.constraints["0"] <= 0.0
    assert best.value == pytest.approx((math.sqrt(13.0) - 2.0) ** 2, rel=5e-2)


def test_failed_and_pruned_trials_are_failures():
    def broken(trial):
        value = objective(trial)
        if trial.params["x"] > 1.3:
            raise ValueError
        if trial.params["x"] < 0.4:
            raise optuna.TrialPruned
        return value

    sampler = LcboSampler(SPACE, ["disc"])
    study = optuna.create_study(sampler=sampler)
    study.optimize(broken, n_trials=20, catch=ValueError)
    states = [t.state.name for t in study.trials[:-1]]
    failed = sampler._run.optimizer.log.n_failed
    assert failed == sum(state != "COMPLETE" for state in states) > 0


def test_log_integer_and_step_are_searched_and_categories_sampled():
    def mixed(trial):
        rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
        layers = trial.suggest_int("layers", 1, 9)
        width = trial.suggest_float("width", 0.0, 2.0, step=0.25)
        kind = trial.suggest_categorical("kind", ["a", "b"])
        return (math.log10(rate) + 3.0) ** 2 + (layers - 4) ** 2 + (width - 0.5) ** 2 + 0.01 * (kind == "a")

    space = {
        "rate": FloatDistribution(1e-5, 1e-1, log=True),
        "layers": IntDistribution(1, 9),
        "width": FloatDistribution(0.0, 2.0, step=0.25),
        "kind": CategoricalDistribution(["a", "b"]),
    }
    study = optuna.create_study(sampler=LcboSampler(space))
    study.optimize(mixed, n_trials=30)
    assert study.best_value < 0.3
    assert {t.params["kind"] for t in study.trials} == {"a", "b"}


def test_trials_of_others_are_data_and_enqueued_ones_cost_no_candidate():
    plain = optuna.create_study(sampler=LcboSampler(SPACE, ["disc"]))
    plain.optimize(objective, n_trials=4)
    study = optuna.create_study(sampler=LcboSampler(SPACE, ["disc"]))
    study.enqueue_trial({"x": 1.0, "y": 1.5})
    study.optimize(objective, n_trials=3)
    assert points(study)[1:] == points(plain)[:2]
    optimizer = study.sampler._run.optimizer
    assert [e.role for e in optimizer.log.evaluations].count("data") == 1


def test_threads_share_one_run():
    study = optuna.create_study(sampler=LcboSampler(SPACE, ["disc"]))
    study.optimize(objective, n_trials=24, n_jobs=4)
    assert len(set(points(study))) > 12
    assert study.best_value < 5.0


def test_a_copy_knows_its_study_again():
    study = optuna.create_study(sampler=LcboSampler(SPACE, ["disc"]))
    study.optimize(objective, n_trials=6)
    twin = copy.deepcopy(study)
    twin.sampler = pickle.loads(pickle.dumps(study.sampler))
    for each in (study, twin):
        each.optimize(objective, n_trials=4)
    assert points(study) == points(twin)


def work(storage, count):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name="s", storage=storage, sampler=LcboSampler(SPACE, ["disc"]))
    study.optimize(objective, n_trials=count)


@pytest.mark.slow
def test_two_processes_on_one_sqlite_study(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(study_name="s", storage=storage)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(storage, 15)) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [w.exitcode for w in workers] == [0, 0]
    assert len(study.trials) == 30
    assert all(t.state.name == "COMPLETE" for t in study.trials)
    assert study.best_value == pytest.approx((math.sqrt(13.0) - 2.0) ** 2, rel=5e-2)


@pytest.mark.slow
def test_a_killed_worker_s_study_goes_on(tmp_path):
    storage = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(study_name="s", storage=storage)
    worker = multiprocessing.get_context("spawn").Process(target=work, args=(storage, 1000))
    worker.start()
    while len(study.trials) < 8:
        time.sleep(0.05)
    os.kill(worker.pid, signal.SIGKILL)
    worker.join()
    before = points(study)[:7]
    work(storage, 25 - len(study.trials))
    whole = optuna.create_study(sampler=LcboSampler(SPACE, ["disc"]))
    whole.optimize(objective, n_trials=7)
    assert points(whole) == before
    assert sum(t.state.name != "COMPLETE" for t in study.trials) <= 1  # the one that was under way
    assert study.best_value < 5.0


def test_hub_package_loads():
    hub = pytest.importorskip("optunahub", reason="needs optunahub")
    root = Path(__file__).parents[2] / "hub" / "package"
    package = hub.load_local_module("samplers/lcbo", registry_root=str(root))
    study = optuna.create_study(sampler=package.LcboSampler(SPACE, ["disc"]))
    study.optimize(objective, n_trials=4)
    assert len(study.trials) == 4
