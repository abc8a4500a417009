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
