import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

gest_api = pytest.importorskip("gest_api", reason="needs lcbo[gest]")

from gest_api.vocs import VOCS  # noqa: E402

import lcbo  # noqa: E402
from lcbo.integrations.gest import LcboGenerator  # noqa: E402

DIM, BUDGET = 4, 80


def vocs(**more):
    return VOCS(
        variables={f"x{i}": [0.0, 2.0] for i in range(DIM)},
        objectives={"f": "MINIMIZE"},
        constraints={"ball": ["LESS_THAN", 4.0], "low": ["GREATER_THAN", 0.2], "band": ["BOUNDS", -2.0, 2.0]},
        **more,
    )


def outcomes(x):
    x = np.asarray(x)
    return {
        "f": float(((x - 2.0) ** 2).sum()),
        "ball": float((x**2).sum()),
        "low": float(x[0]),
        "band": float(x[1] - x[2]),
    }


def fails(x):
    """A tenth of the points, in stripes."""
    return bool(3.0 * np.sum(x) % 1.0 < 0.1)


def simulator(input_dict):
    x = [input_dict[f"x{i}"] for i in range(DIM)]
    if fails(x):
        raise RuntimeError("no convergence")
    return outcomes(x)


def simulator_with_nan(input_dict):
    """libEnsemble takes no exception for an answer, so a failure is NaN."""
    try:
        return simulator(input_dict)
    except RuntimeError:
        return dict.fromkeys(["f", "ball", "low", "band"], float("nan"))


def minimized():
    def fun(x):
        return simulator({f"x{i}": v for i, v in enumerate(x)})

    bounds = [(0.0, 2.0)] * DIM
    limits = ["ball <= 4", "low >= 0.2", "-2 <= band <= 2"]
    stated = {"deterministic": True, "progress": False}
    return lcbo.minimize(fun, bounds, limits, "f", budget=BUDGET, **stated)


def told(generator):
    return [e for e in generator._optimizer.log.evaluations if e.role != "data"]


def test_points_are_those_of_ask_and_tell():
    generator = LcboGenerator(vocs(constants={"k": 3.0}), deterministic=True, rng=2)
    problem = lcbo.Problem(
        {f"x{i}": (0.0, 2.0) for i in range(DIM)},
        ["ball <= 4", "low >= 0.2", "-2 <= band <= 2"],
        "f",
        deterministic=True,
    )
    optimizer = lcbo.Optimizer(problem, rng=2)
    for _ in range(5):
        own, points = optimizer.ask(), generator.suggest()
        assert [p.pop("k") for p in points] == [3.0] * len(own)
        assert [p["_id"] for p in points] == [c.id for c in own]
        np.testing.assert_array_equal([[p[f"x{i}"] for i in range(DIM)] for p in points], [c.x for c in own])
        for c in own:
            optimizer.tell(c.id, outcomes(c.x))
        generator.ingest([{**p, **outcomes(c.x)} for p, c in zip(points, own, strict=True)])


def test_suggest_is_exact_or_an_error():
    generator = LcboGenerator(vocs(), "cobyqa")
    assert len(generator.suggest(3)) == 3
    with pytest.raises(ValueError, match="num_points"):
        generator.suggest(50)
    assert len(generator.suggest(1)) == 1  # nothing was lost
    with pytest.raises(ValueError, match="_id"):
        generator.ingest([{"_id": 99, "x0": 0.0, "x1": 0.0, "x2": 0.0, "x3": 0.0, "f": 1.0}])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies_go_on_alike(copied):
    generator = LcboGenerator(vocs())
    for _ in range(4):
        points = generator.suggest(3)
        generator.ingest([p | outcomes([p[f"x{i}"] for i in range(DIM)]) for p in points])
    assert copied(generator).suggest(5) == generator.suggest(5)


def test_foreign_data_failures_and_lost_ids():
    generator = LcboGenerator(vocs())
    points = generator.suggest(4)
    xs = [[p[f"x{i}"] for i in range(DIM)] for p in points]
    generator.ingest(
        [
            points[0] | {"xopt_error": True, "xopt_error_str": "boom"},
            points[1] | {"f": float("nan")},
            {**{k: v for k, v in points[2].items() if k != "_id"}, **outcomes(xs[2])},
            {f"x{i}": 1.0 for i in range(DIM)} | outcomes(np.ones(DIM)) | {"_id": float("nan")},
        ]
    )
    ended = generator._optimizer.log.evaluations
    assert [e.status for e in ended] == ["failed", "failed", "done", "done"]
    assert [e.role for e in ended].count("data") == 1
    assert ended[0].failed == "boom"


def test_noise_is_read_off_the_first_results():
    generator = LcboGenerator(vocs())
    points = generator.suggest(4)
    xs = [[p[f"x{i}"] for i in range(DIM)] for p in points]
    stated = [
        p | outcomes(x) | {"f_var": v, "ball_var": 0.04}
        for p, x, v in zip(points, xs, [0.01, 0.01, 0.01, 9.0], strict=True)
    ]
    generator.ingest(stated)
    assert generator._optimizer.problem.noise == pytest.approx({"f": 0.1, "ball": 0.2})
    assert len(told(generator)) == 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"objectives": {"f": "EXPLORE"}},
        {"objectives": {"f": "MINIMIZE", "g": "MINIMIZE"}},
        {"variables": {"x0": {1, 2, 3}}},
        {"variables": {"x0": [0.0, 1.0], "x1": "CONTEXTUAL"}},
    ],
)
def test_what_it_cannot_do_is_refused(wrong):
    stated = {"variables": {"x0": [0.0, 1.0]}, "objectives": {"f": "MINIMIZE"}} | wrong
    with pytest.raises(ValueError, match=r"lcbo takes"):
        LcboGenerator(VOCS(**stated))


@pytest.mark.filterwarnings("ignore")  # Xopt's own, of pandas and pydantic
def test_xopt_with_four_workers_and_failures():
    xopt = pytest.importorskip("xopt", reason="needs xopt")
    evaluator = xopt.Evaluator(function=simulator, max_workers=4, executor=ThreadPoolExecutor(4))
    X = xopt.Xopt(
        generator=LcboGenerator(vocs(), deterministic=True),
        evaluator=evaluator,
        strict=False,
        stopping_condition={"name": "MaxEvaluationsCondition", "max_evaluations": BUDGET},
    )
    X.run()
    ended = told(X.generator)
    assert len(ended) == len(X.data) == BUDGET
    assert len({e.id for e in ended}) == BUDGET
    assert sum(e.status == "failed" for e in ended) == int(X.data["xopt_error"].sum()) > 0
    own = minimized()
    assert X.generator.result().fun <= 1.02 * own.fun


@pytest.mark.filterwarnings("ignore")
def test_xopt_hands_over_data():
    xopt = pytest.importorskip("xopt", reason="needs xopt")
    pd = pytest.importorskip("pandas")
    points = np.random.default_rng(0).uniform(0.0, 2.0, (6, DIM))
    rows = [{f"x{i}": v for i, v in enumerate(x)} | outcomes(x) for x in points]
    X = xopt.Xopt(
        generator=LcboGenerator(vocs()), evaluator=xopt.Evaluator(function=simulator), data=pd.DataFrame(rows)
    )
    X.step()
    ended = X.generator._optimizer.log.evaluations
    assert [e.role for e in ended].count("data") == 6
    assert len(ended) == 7


@pytest.mark.filterwarnings("ignore")
def test_libensemble_with_four_workers_and_failures(tmp_path, monkeypatch):
    pytest.importorskip("libensemble", reason="needs libensemble")
    from libensemble import Ensemble
    from libensemble.alloc_funcs.start_only_persistent import only_persistent_gens
    from libensemble.specs import AllocSpecs, ExitCriteria, GenSpecs, LibeSpecs, SimSpecs

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["test"])
    generator, space = LcboGenerator(vocs(), deterministic=True), vocs()
    ensemble = Ensemble(
        libE_specs=LibeSpecs(nworkers=4, comms="threads", gen_on_manager=True, final_gen_send=True),
        gen_specs=GenSpecs(generator=generator, initial_batch_size=4, batch_size=4, vocs=space),
        sim_specs=SimSpecs(simulator=simulator_with_nan, vocs=space),
        alloc_specs=AllocSpecs(alloc_f=only_persistent_gens, user={"async_return": False}),
        exit_criteria=ExitCriteria(sim_max=BUDGET),
    )
    H, _, flag = ensemble.run()
    assert flag == 0
    ended = told(generator)
    assert len({e.id for e in ended}) == len(ended) == int(H["sim_ended"].sum()) >= BUDGET
    assert sum(e.status == "failed" for e in ended) > 0
    assert generator.result().fun <= 1.02 * minimized().fun


@pytest.mark.filterwarnings("ignore")
def test_optimas_explores(tmp_path, monkeypatch):
    pytest.importorskip("optimas", reason="needs optimas")
    from optimas.evaluators import FunctionEvaluator
    from optimas.explorations import Exploration
    from optimas.generators import ExternalGenerator

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["test"])

    def evaluated(input_params, output_params):
        for name, value in outcomes([input_params[f"x{i}"] for i in range(DIM)]).items():
            output_params[name] = value

    generator = LcboGenerator(vocs(), deterministic=True)
    # optimas evaluates the outcomes of constraints when they are observables
    shown = VOCS(
        variables=vocs().variables, objectives={"f": "MINIMIZE"}, observables=["ball", "low", "band"]
    )
    exploration = Exploration(
        generator=ExternalGenerator(ext_gen=generator, vocs=shown),
        evaluator=FunctionEvaluator(function=evaluated),
        max_evals=40,
        sim_workers=2,
        libe_comms="local_threading",
        exploration_dir_path=str(tmp_path / "exploration"),
    )
    exploration.run()
    assert len(exploration.history) >= 40
    assert len(told(generator)) >= 38
    assert generator.result().success
