import json
import pickle
import sys
import time
import tomllib

import numpy as np
import pytest

import lcbo
from lcbo import ArgumentError, Command, EvaluationError, OutcomeError, Problem, TooManyFailuresError
from lcbo.evaluation import processes
from lcbo.evaluation.command.search import end_of
from lcbo.evaluation.evaluate import evaluate
from lcbo.types import Evaluation

pytestmark = pytest.mark.usefixtures("uniform")

BOUNDS = {"width": (0.0, 10.0), "height": (0.0, 10.0)}
AREA = """
import json
p = json.load(open('parameters.json'))
print(json.dumps({'area': p['width'] * p['height']}))
"""


def problem_of(tmp_path, bounds=BOUNDS, constraints=(), **fields):
    return Problem(bounds, constraints, "area", fun=Command(folder=tmp_path, **fields))


def evaluated(problem, *x, id=None):
    """Return the outcomes, or the reason of the failure."""
    candidate = Evaluation(id or 0, np.array(x), np.array(x), "init", 0)
    ended = evaluate(problem, candidate, numbered=id is not None).evaluation
    return ended.outcomes if ended.failed is None else ended.failed


def test_parameters_go_out_as_json_and_outcomes_come_from_stdout(tmp_path):
    problem = problem_of(tmp_path, run=[sys.executable, "-c", AREA])
    assert evaluated(problem, 0.1, 3.0) == {"area": 0.1 * 3.0}
    assert list((tmp_path / "evaluations").iterdir()) == []


def test_last_json_line_of_a_talkative_program_counts(tmp_path):
    line = """echo 'solver {1}'; echo '{"area": 1}'; echo '{"area": 2.5, "note": "x"}'; echo bye"""
    assert evaluated(problem_of(tmp_path, run=line), 1.0, 1.0) == {"area": 2.5}


def test_templates_arguments_and_output_file(tmp_path):
    (tmp_path / "deck.tpl").write_text("SECTION {{ width:10.3E }} {{height}}\nEND {{width:.1f}}\n")
    problem = problem_of(
        tmp_path,
        run=[
            "/bin/sh",
            "-c",
            "cp deck.inp copy; echo '{\"area\": '$1'}' > out.json",
            "sh",
            "{{ height:.2f }}",
        ],
        templates={"deck.inp": "deck.tpl"},
        output="out.json",
        keep="all",
    )
    assert evaluated(problem, 0.5, 1 / 3, id=12) == {"area": 0.33}
    place = tmp_path / "evaluations" / "000012"
    assert (place / "deck.inp").read_text() == f"SECTION  5.000E-01 {1 / 3!r}\nEND 0.5\n"
    assert sorted(path.name for path in place.iterdir()) == [
        "copy",
        "deck.inp",
        "out.json",
        "stderr.txt",
        "stdout.txt",
    ]
    evaluated(problem, 0.5, 0.5, id=12)
    assert (tmp_path / "evaluations" / "000012-2").exists()


def test_patterns_find_the_last_number(tmp_path):
    (tmp_path / "log").write_text("AREA = 1.0\nMAX 7\nAREA = -2.5D+02\n")
    problem = problem_of(
        tmp_path,
        constraints=["peak <= 1"],
        run="echo 'peak: 3e-1 MPa'",
        files=["log"],
        patterns={
            "area": {"file": "log", "pattern": r"^AREA\s*=\s*(\S+)"},
            "peak": r"peak: (?P<value>[-+.\de]+)",
        },
    )
    assert evaluated(problem, 1.0, 1.0) == {"area": -250.0, "peak": 0.3}


def test_files_and_directories_are_copied_and_environment_is_set(tmp_path):
    (tmp_path / "mesh").mkdir()
    (tmp_path / "mesh" / "nodes").write_text("5")
    (tmp_path / "sim.sh").write_text(
        '#!/bin/sh\necho "{\\"area\\": $(cat mesh/nodes)$OFFSET$LCBO_EVALUATION}"\n'
    )
    (tmp_path / "sim.sh").chmod(0o755)
    problem = problem_of(tmp_path, run=["./sim.sh"], files=["mesh", "sim.sh"], env={"OFFSET": "00"})
    assert evaluated(problem, 1.0, 1.0, id=7) == {"area": 5007.0}


@pytest.mark.parametrize(
    ("run", "fields", "reasons"),
    [
        ("echo no licence >&2; exit 3", {}, ["exit code 3", "stderr ends with:\nno licence"]),
        ("echo so far so good; exit 1", {}, ["exit code 1", "stdout ends with:\nso far so good"]),
        ("kill -SEGV $$", {}, ["died of SIGSEGV"]),
        (["./not-there"], {}, ["cannot be started", "not-there"]),
        ("true", {}, ["stdout: expected a JSON object", "'nothing'"]),
        ("echo '[1]'", {}, ["expected a JSON object"]),
        ("echo '{\"area\": 1'", {}, ["expected a JSON object"]),
        (
            "echo warming up >&2",
            {"output": "out.json"},
            ["out.json: the command did not write it", "warming up"],
        ),
        ("echo nothing", {"patterns": {"area": r"A=(\d+)"}}, ["outcome 'area': no match of"]),
        ("echo A=x", {"patterns": {"area": r"A=(\w)"}}, ["outcome 'area': expected a number", "'x'"]),
        ("echo '{\"area\": NaN}'", {}, ["outcome 'area' is nan"]),
        ("echo '{\"area\": null}'", {}, ["outcome 'area' is None"]),
        (
            "echo start; sleep 60",
            {"timeout": 0.3},
            ["timeout: the command did not end within 0.3 s", "start"],
        ),
    ],
)
def test_failure_is_recorded_with_its_reason(tmp_path, run, fields, reasons):
    failed = evaluated(problem_of(tmp_path, run=run, **fields), 1.0, 1.0, id=4)
    for reason in reasons:
        assert reason in failed
    assert f"files: {tmp_path / 'evaluations' / '000004'}" in failed
    assert (tmp_path / "evaluations" / "000004").exists()


def test_a_program_that_failed_has_no_traceback_and_a_function_has(tmp_path):
    def meshed(_):
        raise EvaluationError("the mesh is tangled")

    candidate = Evaluation(0, np.ones(2), np.ones(2), "init", 0)
    assert evaluate(problem_of(tmp_path, run="exit 3"), candidate).evaluation.record.traceback == ""
    assert "in meshed" in evaluate(Problem(BOUNDS, fun=meshed), candidate).evaluation.record.traceback


@pytest.mark.parametrize(("keep", "kept"), [("all", 2), ("failed", 1), ("none", 0)])
def test_directories_are_kept_as_told(tmp_path, keep, kept):
    problem = problem_of(
        tmp_path, run="echo '{\"area\": 1}'; exit {{ width:.0f }}", keep=keep, parameters="p"
    )
    assert evaluated(problem, 0.0, 1.0) == {"area": 1.0}
    assert "exit code 1" in evaluated(problem, 1.0, 1.0)
    assert len(list((tmp_path / "evaluations").iterdir())) == kept


def test_long_output_is_not_read_whole_into_the_reason(tmp_path):
    failed = evaluated(problem_of(tmp_path, run="seq 100000 >&2; exit 1"), 1.0, 1.0)
    assert "99999\n100000" in failed
    assert len(failed) < 500


@pytest.mark.parametrize(
    ("run", "file"),
    [
        ("yes", "stdout.txt"),
        ("yes >&2", "stderr.txt"),
        ("yes > out.json", "out.json"),
        ("""head -c 5000000 /dev/zero; echo '{"area": 1}'""", "stdout.txt"),
    ],
)
def test_endless_output_fails_the_evaluation(tmp_path, monkeypatch, run, file):
    monkeypatch.setattr("lcbo.evaluation.command.command.OUTPUT_LIMIT", 1 << 20)
    fields = {"output": file} if file == "out.json" else {}
    run = f"ulimit -f 1000000; {run}"  # a gigabyte, for the sake of the disk
    reason = evaluated(problem_of(tmp_path, run=run, keep="none", **fields), 1.0, 1.0)
    assert reason.startswith(f"{file}: more than 1 MB of output")


def test_a_file_without_an_end_is_not_waited_for():
    assert end_of("/dev/zero", 50) == "\0" * 50


def test_output_limit_is_64_mb():
    from lcbo.evaluation.command.command import OUTPUT_LIMIT

    assert OUTPUT_LIMIT == 64 * 2**20


def test_pattern_that_never_ends_fails_the_evaluation(tmp_path, monkeypatch):
    monkeypatch.setattr("lcbo.evaluation.command.exchange.SEARCH_SECONDS", 1.0)
    problem = problem_of(tmp_path, run="echo " + "a" * 60 + "c", patterns={"area": "((a+)+)b"})
    began = time.monotonic()
    reason = evaluated(problem, 1.0, 1.0)
    assert reason.startswith("patterns: no end of the search for '((a+)+)b' in 1 s")
    assert time.monotonic() - began < 20.0


def test_template_may_lie_in_a_subfolder(tmp_path):
    (tmp_path / "deck.tpl").write_text("{{ width }} {{ height }}")
    run = """echo '{"area": '$(wc -w < model/deck.inp)'}'"""
    problem = problem_of(tmp_path, run=run, templates={"model/deck.inp": "deck.tpl"})
    assert evaluated(problem, 1.0, 1.0) == {"area": 2}


def test_nothing_a_command_starts_outlives_it(tmp_path):
    line = "sleep 600 & echo $! > ../pid1; (setsid sleep 600 & echo $! > ../pid2; wait) & sleep {{ width }}"
    problem = problem_of(
        tmp_path, run=line + "; echo '{}'", timeout=0.5, parameters="p", patterns={"area": "({)"}
    )
    assert "timeout" in evaluated(problem, 60.0, 0.0)
    pids = {int((tmp_path / "evaluations" / name).read_text()) for name in ("pid1", "pid2")}
    until = time.monotonic() + 10
    while pids & {p.pid for p in processes.table()}:
        assert time.monotonic() < until
    evaluated(problem, 0.0, 0.0)
    assert int((tmp_path / "evaluations" / "pid1").read_text()) not in {p.pid for p in processes.table()}


def test_missing_outcome_name_is_a_mistake_not_a_failure(tmp_path):
    with pytest.raises(OutcomeError, match=r"expected the outcomes \['area'\] too; got 'aera'"):
        lcbo.minimize(problem_of(tmp_path, run="echo '{\"aera\": 1}'"), budget=5)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"run": []}, "^run: .*got \\[\\]"),
        ({"run": [1]}, "^run"),
        ({"run": "x", "keep": "some"}, "^keep: expected all or failed or none"),
        ({"run": "x", "timeout": 0}, "^timeout"),
        ({"run": "x", "files": "mesh"}, "^files"),
        ({"run": "x", "files": ["mesh"]}, "^files: .*mesh"),
        ({"run": "x", "env": {"N": 4}}, "^env"),
        ({"run": "x", "patterns": {"area": "(" * 2}}, "^patterns, 'area': expected a regular expression"),
        ({"run": "x", "patterns": {"area": "[0-9]+"}}, "^patterns, 'area': .*parentheses"),
        ({"run": "x", "patterns": {"area": {"path": "o"}}}, "^patterns, 'area': .*file and pattern"),
        ({"run": "x", "patterns": {"weight": "(x)"}}, r"^patterns: .*none for \['area'\]"),
        ({"run": "x {{ widht }}"}, r"^run: expected placeholders out of width, height; got {{ widht }}"),
        ({"run": "x {{ width:5q }}"}, "^run: expected a format for 'width'"),
        ({"run": "x {{ width }}"}, r"^run: expected every variable .*none of \['height'\]"),
        (
            {"run": "x", "templates": {"a": "deck"}},
            r"^templates, 'a': expected placeholders out of .*{{ depth }}",
        ),
        ({"run": "x", "templates": {"a": "not there"}}, "^templates: .*not there"),
        (
            {"run": "x", "templates": {"../a": "deck"}},
            r"^templates: .*within the working directory.*'\.\./a'",
        ),
        ({"run": "x", "templates": {"/tmp/a": "deck"}}, "^templates: .*within the working directory"),
        ({"run": "x", "templates": {"b/../../a": "deck"}}, "^templates: .*within the working directory"),
        ({"run": "x", "parameters": "../p.json"}, "^parameters: .*within the working directory"),
        ({"run": "x", "files": [".."]}, "^files: .*within the working directory"),
        ({"run": "x", "patterns": {"area": {"file": 3, "pattern": "(x)"}}}, "^patterns, 'area'"),
        ({"run": "x", "outptu": "y"}, "^command: expected keys out of run, parameters, .*'outptu'"),
        ({"output": "y"}, "^command: expected run"),
    ],
)
def test_wrong_fields_are_refused_before_anything_runs(tmp_path, fields, message):
    (tmp_path / "deck").write_text("{{ depth }}")
    with pytest.raises(ArgumentError, match=message):
        Problem(BOUNDS, (), "area", fun=Command.from_dict(fields, tmp_path))


def test_table_of_a_problem_file_makes_a_command(tmp_path):
    table = tomllib.loads(
        """
        [command]
        run = ["solver", "-i", "beam.inp"]
        templates = { "beam.inp" = "beam.tpl" }
        files = ["mesh.dat"]
        output = "beam.out"
        keep = "all"
        timeout = 600
        env = { THREADS = "4" }
        [command.patterns]
        weight = 'WEIGHT = (\\S+)'
        stress = { file = "stress.out", pattern = 'MAX (\\S+)' }
        """
    )["command"]
    command = Command.from_dict(table, tmp_path)
    assert command.templates == {"beam.inp": "beam.tpl"}
    assert command.patterns["stress"]["file"] == "stress.out"
    assert command.folder == tmp_path


def test_fixed_variables_need_no_placeholder(tmp_path):
    bounds = BOUNDS | {"gauge": (5.0, 5.0)}
    problem = problem_of(tmp_path, bounds, run="echo '{\"area\": {{ width }}}' # {{ height }}")
    assert evaluated(problem, 2.0, 1.0, 5.0) == {"area": 2.0}


def test_command_runs_in_workers(tmp_path):
    """A pickled command in two workers; its working directories do not collide."""
    problem = problem_of(tmp_path, run=[sys.executable, "-S", "-c", AREA], keep="all")
    assert pickle.loads(pickle.dumps(problem.fun)) == problem.fun
    result = lcbo.minimize(problem, budget=6, method="uniform", workers=2)
    assert result.nfail == 0
    names = sorted(path.name for path in (tmp_path / "evaluations").iterdir())
    assert names == [f"{i:06d}" for i in range(6)]
    for place, x in zip(names, result.history.X[result.history.id.argsort()], strict=True):
        written = json.loads((tmp_path / "evaluations" / place / "parameters.json").read_text())
        assert list(written.values()) == list(x)


def test_command_that_always_fails_ends_the_run(tmp_path):
    with pytest.raises(TooManyFailuresError, match="no licence"):
        lcbo.minimize(problem_of(tmp_path, run="echo no licence >&2; exit 1"), budget=20, method="uniform")


def test_command_alone_numbers_its_variables(tmp_path):
    command = Command(run="cat parameters.json", folder=tmp_path)
    assert command(np.array([1.0, 2.0])) == {"x1": 1.0, "x2": 2.0}
    with pytest.raises(EvaluationError, match="exit code 7"):
        Command(run="exit 7", folder=tmp_path)(np.zeros(1))
