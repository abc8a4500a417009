import importlib
import tomllib
from pathlib import Path

import numpy as np
import pytest

om = pytest.importorskip("openmdao.api", reason="needs lcbo[openmdao]")

import lcbo  # noqa: E402
from lcbo.integrations.openmdao import LcboDriver  # noqa: E402

# OpenMDAO's own, at import or while it writes its reports
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::openmdao.utils.om_warnings.OpenMDAOWarning"),
]


def refused(width, height):
    """Stripes that cover a tenth of the designs."""
    return 7.0 * (width + 1.7 * height) % 1.0 < 0.1


class Deflection(om.ImplicitComponent):
    """A stiffening spring, w + w**3 = load / stiffness, where Newton finds no solution on some designs."""

    def setup(self):
        self.add_input("width", 1.0)
        self.add_input("height", 1.0)
        self.add_output("w", 0.5)
        self.declare_partials("w", ["width", "height"], method="fd")
        self.declare_partials("w", "w")

    def apply_nonlinear(self, inputs, outputs, residuals):
        stiffness = (inputs["width"] * inputs["height"] ** 3).item()
        w = outputs["w"].item()
        bad = refused(inputs["width"].item(), inputs["height"].item())
        residuals["w"] = (w**2 + 1.0) if bad else w + w**3 - 2.0 / stiffness

    def linearize(self, inputs, outputs, partials):  # noqa: ARG002
        partials["w", "w"] = 1.0 + 3.0 * outputs["w"] ** 2


def beam(recorder=None, **options):
    problem = om.Problem(reports=False)
    model = problem.model
    design = model.add_subsystem("design", om.IndepVarComp(), promotes=["*"])
    design.add_output("width", 1.5, units="m")
    design.add_output("height", 1.5, units="m")
    model.add_subsystem("beam", Deflection(), promotes=["*"])
    model.add_subsystem("mass", om.ExecComp("mass = width * height"), promotes=["*"])
    model.nonlinear_solver = om.NewtonSolver(
        solve_subsystems=False, maxiter=20, err_on_non_converge=True, iprint=-1
    )
    model.linear_solver = om.DirectSolver()
    model.add_design_var("width", lower=0.5, upper=2.0, ref=10.0)
    model.add_design_var("height", lower=50.0, upper=200.0, units="cm")
    model.add_objective("mass", scaler=3.0)
    model.add_constraint("w", upper=0.5)
    problem.driver = LcboDriver(**{"budget": 40, "deterministic": True, **options})
    if recorder is not None:
        problem.driver.add_recorder(om.SqliteRecorder(str(recorder), record_viewer_data=False))
    problem.setup()
    return problem


def test_newton_fails_on_designs_and_the_last_case_is_the_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = beam(tmp_path / "cases.sql")
    result = problem.run_driver()
    answer = problem.driver.answer
    assert result.success
    assert answer.nfail > 0
    # w <= 0.5 says width * height^3 >= 2 / 0.625, so the least mass is at the least width
    assert problem.get_val("mass").item() == pytest.approx(0.5 * 6.4 ** (1 / 3), rel=2e-2)
    assert problem.get_val("w").item() <= 0.5
    reader = om.CaseReader(str(tmp_path / "cases.sql"))
    cases = reader.list_cases("driver", out_stream=None)
    assert len(cases) == 41
    last = reader.get_case(cases[-1])
    assert last.get_val("mass").item() == problem.get_val("mass").item()
    np.testing.assert_allclose([last.get_val("width").item(), 100 * last.get_val("height").item()], answer.x)
    problem.cleanup()


def test_same_points_as_minimize():
    problem = beam(budget=15)
    problem.run_driver()

    def fun(x):
        if refused(x[0], x[1] / 100):
            raise RuntimeError
        stiffness = x[0] * (x[1] / 100) ** 3
        w = np.roots([1.0, 0.0, 1.0, -2.0 / stiffness])
        return 3.0 * x[0] * x[1] / 100, [w[np.isreal(w)].real[0]]

    bounds, stated = [(0.5, 2.0), (50.0, 200.0)], {"deterministic": True, "progress": False}
    own = lcbo.minimize(fun, bounds, ["w <= 0.5"], budget=15, x0=[1.5, 150.0], **stated)
    found = problem.driver.answer
    # The Newton solver stops at its tolerance, so the points agree for a while and then nearly.
    np.testing.assert_allclose(found.history.X[:5], own.history.X[:5], rtol=1e-6)
    assert found.fun == pytest.approx(own.fun, rel=2e-2)


def paraboloid(**options):
    problem = om.Problem(reports=False)
    model = problem.model
    model.add_subsystem("x", om.IndepVarComp("x", [0.5, 0.5, 0.5]), promotes=["*"])
    comp = om.ExecComp(["f = -sum((x - 1)**2)", "total = sum(x)", "h = x[0] - x[1]"], x=np.zeros(3))
    model.add_subsystem("comp", comp, promotes=["*"])
    model.add_design_var("x", lower=0.0, upper=2.0)
    model.add_objective("f", scaler=-1)  # OpenMDAO's way to maximize
    problem.driver = LcboDriver(**{"budget": 60, "deterministic": True, **options})
    return problem


def test_equality_two_sided_and_constrained_design_variable():
    problem = paraboloid(eq_tol=1e-2)
    problem.model.add_constraint("h", equals=0.4)
    problem.model.add_constraint("total", lower=1.0, upper=2.0)
    problem.model.add_constraint("x", upper=[1.5, 1.0, 0.5], lower=-np.inf)
    problem.setup()
    assert problem.run_driver().success
    x = problem.get_val("x")
    # projection of (1, 1, 1) on x0 - x1 = 0.4, x2 <= 0.5 and sum <= 2, by hand: x2 = 0.5, x0 + x1 = 1.5
    assert problem.get_val("f").item() == pytest.approx(-(0.05**2 + 0.45**2 + 0.25), rel=4e-2)
    assert abs(x[0] - x[1] - 0.4) <= 1e-2
    assert x.sum() <= 2.0


def test_equality_wants_a_tolerance_and_budget_is_required():
    problem = paraboloid()
    problem.model.add_constraint("h", equals=0.4)
    problem.setup()
    with pytest.raises(lcbo.ArgumentError, match="eq_tol"):
        problem.run_driver()


def test_other_exceptions_are_raised():
    class Broken(om.ExplicitComponent):
        def setup(self):
            self.add_input("x", 0.5)
            self.add_output("f", 0.0)
            self.declare_partials("f", "x", method="fd")

        def compute(self, inputs, outputs):  # noqa: ARG002
            raise ZeroDivisionError

    problem = om.Problem(reports=False)
    problem.model.add_subsystem("comp", Broken(), promotes=["*"])
    problem.model.add_design_var("x", lower=0.0, upper=1.0)
    problem.model.add_objective("f")
    problem.driver = LcboDriver(budget=5)
    problem.setup()
    with pytest.raises(ZeroDivisionError):
        problem.run_driver()


def test_driver_is_an_entry_point():
    stated = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    entry = stated["project"]["entry-points"]["openmdao_driver"]["lcbodriver"]
    module, name = entry.split(":")
    assert getattr(importlib.import_module(module), name) is LcboDriver


def test_stored_run_goes_on(tmp_path):
    def run(budget, store=None):
        problem = paraboloid(budget=budget, store=store)
        problem.setup()
        problem.run_driver()
        return problem.driver.answer

    whole = run(20)
    run(12, str(tmp_path / "run.db"))
    goes_on = run(20, str(tmp_path / "run.db"))
    assert goes_on.nfev == whole.nfev == 20
