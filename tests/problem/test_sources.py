import numpy as np
import pytest

import lcbo
from lcbo import ArgumentError, Command, Problem
from lcbo.problem.sources import describe_problem, from_recipe, rebuild_problem


def test_command_is_the_recipe_of_its_problem(tmp_path):
    problem = Problem({"a": (0, 1)}, fun=Command("echo {{ a }}", folder=tmp_path))
    assert problem.source == {"command": {"run": "echo {{ a }}"}, "folder": str(tmp_path)}
    again = rebuild_problem(describe_problem(problem), problem.source)
    assert again.fun == problem.fun
    assert again.source == problem.source


def test_subclass_of_a_command_may_do_more_than_its_fields_say():
    class Special(Command):
        pass

    problem = Problem({"a": (0, 1)}, fun=Special("echo {{ a }}"))
    assert problem.source is None


def test_recipe_that_fails_says_why_or_leaves_the_problem_without_a_function():
    problem = lcbo.problems.make("hs71")
    recipe = {"name": "hs71", "variant": {"depth": 3}}
    with pytest.raises(ArgumentError, match="depth=3"):
        from_recipe(recipe, describe_problem(problem))
    assert rebuild_problem(describe_problem(problem), recipe).fun is None
    assert from_recipe({"evaluation": {}}, describe_problem(problem)) is None


def test_variables_of_old_runs_keep_their_numbers_and_the_function() -> None:
    problem = lcbo.problems.make("hs71")
    old = describe_problem(problem)
    assert list(old["variables"]) == ["x1", "x2", "x3", "x4"]
    old["variables"] = {f"x{i}": pair for i, pair in enumerate(old["variables"].values())}
    again = rebuild_problem(old, problem.source)
    assert again.variables == ("x0", "x1", "x2", "x3")
    assert again.evaluate(np.ones(4)) == problem.evaluate(np.ones(4))
