import subprocess
import sys

import lcbo

PUBLIC = [
    "ArgumentError",
    "Candidate",
    "Command",
    "Constraint",
    "DataWarning",
    "Evaluation",
    "EvaluationError",
    "FunctionError",
    "Known",
    "LcboError",
    "Measured",
    "Method",
    "MethodSpec",
    "ModelError",
    "NumericalRescueWarning",
    "Objective",
    "Optimizer",
    "OutcomeError",
    "Problem",
    "Proposal",
    "Record",
    "Result",
    "RunInUseError",
    "Snapshot",
    "StoreError",
    "StoreWarning",
    "StoredRun",
    "TellError",
    "TooManyFailuresError",
    "Variable",
    "WorkerError",
    "minimize",
    "open_run",
    "plot_convergence",
    "plot_sensitivities",
    "problems",
    "register",
    "scipy_method",
]

HEAVY = {"torch", "botorch", "gpytorch", "matplotlib", "pandas", "scipy"}
DOORS = {"ax", "botorch", "gest_api", "libensemble", "openmdao", "optimas", "optuna", "ray", "xopt"}


def modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nsys.stdout.write(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_public_names_are_pinned():
    assert sorted(lcbo.__all__) == sorted(PUBLIC)


def test_every_public_name_resolves():
    for name in PUBLIC:
        assert getattr(lcbo, name) is not None
        assert name in dir(lcbo)


def test_unknown_name_is_an_attribute_error():
    assert not hasattr(lcbo, "maximize")


def test_import_is_light():
    assert not HEAVY & modules_after("import lcbo; lcbo.Problem; lcbo.Constraint; lcbo.ArgumentError")


def test_import_and_a_run_load_no_door():
    assert not DOORS & modules_after("import lcbo; [getattr(lcbo, name) for name in lcbo.__all__]")


def test_help_is_light():
    code = (
        "from typer.testing import CliRunner; from lcbo.cli import app; CliRunner().invoke(app, ['--help'])"
    )
    assert not HEAVY & modules_after(code)


def test_optimizer_alone_loads_nothing_of_store_benchmarks_and_workers():
    loaded = modules_after("import lcbo.optimizer.optimizer")
    assert not loaded & {"sqlite3", "tomllib", "matplotlib", "pandas", "multiprocessing", "cloudpickle"}
    rooms = {name.split(".")[1] for name in loaded if name.startswith("lcbo.")}
    assert not rooms & {"store", "evaluation", "problems", "loop", "reporting", "cli", "testing"}


def test_candidate_is_the_name_of_a_pending_evaluation():
    assert lcbo.Candidate is lcbo.Evaluation


def test_asking_methods_without_a_model_loads_no_torch_and_no_store():
    code = """
import lcbo
for method in ("cobyqa", "cobyla", "slsqp", "cmaes", "sobol"):
    optimizer = lcbo.Optimizer(lcbo.Problem([(0, 1)] * 2, ["c <= 0.5"], "f"), method, budget=8)
    while batch := optimizer.pending or optimizer.ask():
        optimizer.tell(batch[0].id, {"f": float(batch[0].x.sum()), "c": float(batch[0].x[0])})
    optimizer.result()
    optimizer.close()
    assert "torch" not in sys.modules, method
"""
    loaded = modules_after(code)
    assert "sqlite3" not in loaded
    assert not {n for n in loaded if n.startswith(("lcbo.store", "lcbo.evaluation", "lcbo.problems"))}
