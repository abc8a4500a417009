import subprocess
import sys

import lcbo

PUBLIC = [
    "ArgumentError",
    "Candidate",
    "Command",
    "Constraint",
    "EvaluationError",
    "LcboError",
    "ModelError",
    "NumericalRescueWarning",
    "Objective",
    "Observation",
    "Optimizer",
    "OutcomeError",
    "Problem",
    "Record",
    "Result",
    "Run",
    "RunInUseError",
    "Snapshot",
    "StoreError",
    "StoreWarning",
    "TellError",
    "TooManyFailuresError",
    "WorkerError",
    "minimize",
    "open_run",
    "plot_convergence",
    "problems",
]

HEAVY = {"torch", "botorch", "gpytorch", "matplotlib", "pandas", "scipy"}


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


def test_help_is_light():
    code = (
        "from typer.testing import CliRunner; from lcbo.cli import app; CliRunner().invoke(app, ['--help'])"
    )
    assert not HEAVY & modules_after(code)
