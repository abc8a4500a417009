import json
import os
import signal
import subprocess
import sys
import time

import pytest

import lcbo as library
from lcbo.store.store import tells_in
from tests.cli.conftest import LAB


def test_run_of_a_named_problem_keeps_it_and_prints_the_answer(lcbo, folder):
    done = lcbo("run", "hs71", "--budget", 12, "--seed", 2, "--option", "explore=3", code=(0, 3))
    assert "hs71: minimize" in done.stderr
    assert "kept in hs71.db" in done.stderr
    assert "lcbo report hs71.db" in done.stderr
    assert "after 12 evaluations" in done.stdout
    assert not any(line.endswith(" ") for line in done.stdout.splitlines())
    run = library.open_run(folder / "hs71.db")
    assert run.meta["seed"] == 2
    assert run.meta["options"] == {"explore": 3}
    assert run.status.ended == 12
    expected = library.minimize(library.problems.make("hs71"), budget=12, rng=2, options={"explore": 3})
    assert run.result().fun == expected.fun


def test_run_again_goes_on_and_other_arguments_are_refused_with_a_difference(lcbo):
    lcbo("run", "hs71", "--store", "a.db", "--budget", 6, code=(0, 3))
    done = lcbo("run", "hs71", "--store", "a.db", "--budget", 9, "--json", code=(0, 3))
    assert "going on with a.db" in done.stderr
    assert json.loads(done.stdout)["nfev"] == 9
    done = lcbo("run", "hs71", "--store", "a.db", "--budget", 9, "--seed", 1, code=1)
    assert "seed: the run has 0; now it is 1" in done.stderr


def test_resume_adds_budget_and_equals_one_long_run(lcbo):
    arguments = ("--noise", 0.1, "--seed", 5)
    lcbo("run", "hs71", "--store", "short.db", "--budget", 8, *arguments, code=(0, 3))
    done = lcbo("resume", "short.db", "--budget", 12, "--json", code=(0, 3))
    assert "going on after 8 evaluations" in done.stderr
    run = library.open_run("short.db")
    assert run.status.ended == 12
    assert run.meta["source"]["noise"]["rng"] == 5
    assert run.history["best_feasible"].size == 12


def test_device_may_change_when_a_run_goes_on(lcbo):
    lcbo("run", "g07", "--budget", 4, "--method", "sobol", "--device", "cpu", code=(0, 3))
    lcbo("resume", "g07.db", "--budget", 6, "--device", "cpu", code=(0, 3))
    refused = lcbo("resume", "g07.db", "--budget", 8, "--device", "cuda", code=1).stderr
    assert "device: expected 'cpu' with sobol, which has no model" in refused
    assert library.open_run("g07.db").status.ended == 6


def test_variants_of_a_named_problem(lcbo):
    lcbo("run", "gp_sample", "--variant", "d=3", "--budget", 4, "--method", "sobol", code=(0, 3))
    run = library.open_run("gp_sample.db")
    assert run.problem.dim == 3
    assert run.problem.fun is not None


def test_no_feasible_design_has_its_own_exit_code(lcbo, folder):
    (folder / "never.toml").write_text(
        'objective = "f"\nconstraints = ["c <= -1"]\n[variables]\nx = [0, 1]\n'
        '[command]\nrun = "echo \'{\\"f\\": {{ x }}, \\"c\\": 1}\'"\n[run]\nbudget = 3\nmethod = "sobol"\n'
    )
    done = lcbo("run", "never.toml", code=3)
    assert "nothing feasible was observed" in done.stdout
    assert "violated" in done.stdout
    lcbo("best", "never.db", code=3)


def test_run_and_resume_of_a_problem_file_with_a_command(lcbo, folder):
    lcbo(
        "run",
        "program.toml",
        "--budget",
        4,
        "--retries",
        1,
        "--method",
        "sobol",
        "--timeout",
        20,
        code=(0, 3),
    )
    run = library.open_run("program.db")
    assert run.meta["source"]["evaluation"] == {"timeout": 20.0, "retries": 1}
    assert run.problem.fun is not None
    assert run.history.loc[0, "cost"] == run.history.loc[0, "t"]
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    os.chdir(elsewhere)  # the command is found wherever the run is resumed
    lcbo("resume", folder / "program.db", "--budget", 6, code=(0, 3))
    run = library.open_run(folder / "program.db")
    assert run.status.ended == 6
    assert run.status.failed == 0
    workers = set(run.history["worker"])
    assert f"{os.getpid()}" not in "".join(workers)  # the timeout is remembered: it means a child process


def test_resume_of_a_command_that_a_script_began(lcbo, folder):
    program = "import json, sys; x = float(sys.argv[1]); print(json.dumps({'f': x * x, 'c': 0.2 - x}))"
    command = library.Command([sys.executable, "-c", program, "{{ x }}"], keep="all", workdir="kept")
    problem = library.Problem({"x": (0.0, 1.0)}, ["c <= 0"], "f", fun=command)
    library.minimize(problem, budget=4, method="sobol", rng=0, store="script.db")
    lcbo("resume", "script.db", "--budget", 6)
    run = library.open_run("script.db")
    assert run.status.ended == 6
    assert run.problem.fun == problem.fun
    assert len(list((folder / "kept").iterdir())) == 6


def test_resume_of_a_command_that_is_gone_says_what_is_missing(lcbo, folder):
    (folder / "deck.txt").write_text("{{ t }} {{ w1 }} {{ w2 }}")
    text = (folder / "lab.toml").read_text() + '[command]\nrun = "true"\ntemplates = { deck = "deck.txt" }\n'
    (folder / "deck.toml").write_text(text)
    done = lcbo("run", "deck.toml", "--budget", 3, "--method", "sobol", code=1)
    assert "stdout" in done.stderr  # it wrote nothing
    (folder / "deck.txt").unlink()
    assert "deck.txt" in lcbo("resume", "deck.db", code=1).stderr


def test_resume_without_a_function_says_what_to_do(lcbo):
    lcbo("new", "run.db", "lab.toml")
    assert "lcbo ask and tell" in lcbo("resume", "run.db", code=1).stderr


def test_run_needs_a_command_and_a_budget(lcbo, folder):
    assert "a table [command]" in lcbo("run", "lab.toml", code=1).stderr
    (folder / "open.toml").write_text((folder / "program.toml").read_text().replace("budget = 20", ""))
    assert "--budget: expected" in lcbo("run", "open.toml", code=1).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "PROBLEM: expected a problem file (problem.toml) or one of truss25"),
        (["nonsense.toml"], "nonsense.toml: expected a problem file; got No such file"),
        (["lab.toml", "--noise", "0.1"], "--noise: expected a named problem"),
        (["lab.toml", "--variant", "a=1"], "--variant: expected a named problem"),
        (["hs71", "--variant", "a=1"], "make('hs71'): expected only the arguments tol; got a=1"),
        (["hs71", "--method", "magic"], "method: expected one of"),
        (["hs71", "--option", "magic=1"], "options: expected options of lcbo"),
    ],
)
def test_mistakes_are_one_line(lcbo, arguments, message):
    done = lcbo("run", *arguments, code=1)
    assert f"lcbo: {message}" in done.stderr


def test_check_explains_what_it_saw(lcbo):
    text = lcbo("check", "program.toml", "--repeats", 2).stdout
    for words in (
        "middle of the box",
        "strength",
        "0.5 <= strength",
        "mass <= 2",
        "holds",
        "float",
        "Returned and not used: other.",
        "All constraints hold there.",
        "20 of them take about",
        "Repeated evaluations agree, as stated.",
    ):
        assert words in text, words


def test_check_measures_noise(lcbo):
    text = lcbo("check", "hs71", "--noise", 0.1, "--repeats", 3).stdout
    assert "noise sd" in text
    assert "Repeated evaluations differ: there is noise." in text


def test_check_of_a_failing_command_shows_why(lcbo, folder):
    text = (folder / "program.toml").read_text().replace("echo '", "echo doomed >&2; exit 3; echo '")
    (folder / "bad.toml").write_text(text)
    done = lcbo("check", "bad.toml", code=1)
    assert "The evaluation failed" in done.stdout
    assert "exit code 3" in done.stdout
    assert "doomed" in done.stdout
    assert "Traceback" not in done.stdout
    assert "[command]" in lcbo("check", "lab.toml", code=1).stderr


def test_check_goes_on_after_a_failure(lcbo, folder):
    once = "mkdir ../../first || exit 3; echo '"  # evaluations/NUMBER is where the program runs
    (folder / "once.toml").write_text((folder / "program.toml").read_text().replace("echo '", once))
    done = lcbo("check", "once.toml", "--repeats", 3)
    assert done.stdout.count("The evaluation failed") == 1
    assert "2 of 3 failed; a run records failures and goes on." in done.stdout
    assert "All constraints hold there." in done.stdout


def test_run_stopped_by_failures_can_be_told_to_go_on(lcbo, folder):
    fails = "awk 'BEGIN { exit !({{ t }} > 0.8) }' || exit 3; echo '"
    (folder / "doomed.toml").write_text((folder / "program.toml").read_text().replace("echo '", fails))
    begun = ("run", "doomed.toml", "--method", "sobol", "--budget", 26)
    done = lcbo(*begun, code=5)
    assert "too many evaluations failed" in done.stderr
    assert "lcbo resume doomed.db --max-failure-rate 1" in done.stderr
    assert lcbo("resume", "doomed.db", code=5)
    lcbo("resume", "doomed.db", "--max-failure-rate", 1, code=(0, 3))
    run = library.open_run("doomed.db")
    assert run.status.ended == 26


def test_run_and_resume_stop_at_a_target_and_after_a_time(lcbo):
    done = lcbo("run", "program.toml", "--method", "sobol", "--target", 10, "--json", code=(0, 3))
    assert "Target of 10 reached" in json.loads(done.stdout)["message"]
    done = lcbo("resume", "program.db", "--time-limit", 1e-9, "--target", -10, "--json", code=(0, 3))
    assert "Time limit of 1e-09 s reached" in json.loads(done.stdout)["message"]


def test_resume_shows_the_command_and_asks_where_somebody_else_wrote_it(lcbo, folder, monkeypatch):
    lcbo("run", "program.toml", "--method", "sobol", "--budget", 4, code=(0, 3))
    done = lcbo("resume", "program.db", "--budget", 5, code=(0, 3))
    assert "program.db: evaluates by the command `echo '{" in done.stderr
    (folder / "elsewhere").mkdir()
    (folder / "program.db").rename(folder / "elsewhere" / "program.db")
    moved = ("resume", folder / "elsewhere" / "program.db", "--budget", 6)
    refused = lcbo(*moved, code=1)
    assert "it was written in the folder" in refused.stderr
    assert "--yes" in refused.stderr
    assert library.open_run(moved[1]).status.ended == 5
    assert lcbo(*moved, "--yes", code=(0, 3))
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    assert "on the machine" in lcbo(*moved, code=1).stderr


def test_named_problem_executes_nothing_to_be_asked_about(lcbo, folder):
    lcbo("run", "pressure_vessel", "--method", "sobol", "--budget", 4, code=(0, 3))
    (folder / "elsewhere").mkdir()
    (folder / "pressure_vessel.db").rename(folder / "elsewhere" / "pressure_vessel.db")
    lcbo("resume", folder / "elsewhere" / "pressure_vessel.db", "--budget", 5, code=(0, 3))


def test_ctrl_c_stops_cleanly_and_says_how_to_resume(folder):
    text = (folder / "program.toml").read_text().replace("echo '", "sleep 0.2; echo '")
    (folder / "slow.toml").write_text(text)
    script = "from lcbo.cli import app; app()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, "run", "slow.toml", "--method", "sobol", "--budget", "1000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not tells_in(folder / "slow.db"):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "lcbo resume slow.db" in err
    assert "Traceback" not in err
    assert "Interrupted" in out
    run = library.open_run("slow.db")
    assert run.status.ended >= 1
    assert run.status.writer is None


def test_problem_file_with_a_python_function_runs_and_resumes(lcbo, folder):
    head = LAB.replace("\n[variables]", 'function = "model.py:simulate"\nnamed = true\n\n[variables]')
    (folder / "python.toml").write_text(head)
    (folder / "model.py").write_text(
        "def simulate(x):\n    return {'cost': x['t'], 'strength': x['w1'] + 1, 'mass': x['w2']}\n"
    )
    assert "All constraints hold" in lcbo("check", "python.toml").stdout
    lcbo("run", "python.toml", "--method", "sobol", "--budget", 4)
    done = lcbo("resume", "python.db", "--budget", 6, "--workers", 1)
    assert f"the function model.py:simulate, in {folder}" in done.stderr
    assert library.open_run("python.db").status.ended == 6
    (folder / "model.py").unlink()
    assert "function: expected a Python file" in lcbo("resume", "python.db", "--budget", 8, code=1).stderr
    (folder / "both.toml").write_text(head + '[command]\nrun = "echo"\n')
    assert "either function or [command]" in lcbo("check", "both.toml", code=1).stderr


@pytest.mark.parametrize(
    "run", ['["a-program-that-is-not-there", "{{ t }}"]', '"a-program-that-is-not-there"']
)
def test_a_missing_program_ends_the_run_at_once(lcbo, folder, run):
    text = (folder / "program.toml").read_text()
    before, _ = text.split("[command]")
    (folder / "program.toml").write_text(f"{before}[command]\nrun = {run}\nparameters = 'all.json'\n")
    done = lcbo("run", "program.toml", code=1)
    assert "the first evaluation ended with a programming error: the command cannot be started" in done.stderr
    assert "a-program-that-is-not-there" in done.stderr
    status = library.open_run(folder / "program.db").status
    assert (status.ended, status.pending) == (0, 5)


def test_the_traceback_of_a_broken_function_is_shown(lcbo, monkeypatch):
    monkeypatch.setattr(library.problems.Benchmark, "evaluate", lambda self, x: self.area(x))
    done = lcbo("run", "hs71", "--budget", 6, code=1)
    assert "lcbo: fun: the first evaluation ended with a programming error: AttributeError" in done.stderr
    assert "lambda self, x: self.area(x)" in done.stderr
    assert "AttributeError" in done.stderr.splitlines()[-1]


def test_run_starts_from_earlier_evaluations(lcbo, folder):
    lcbo("run", "program.toml", "--method", "sobol", "--budget", 6, code=(0, 3))
    lcbo("export", "program.db", "earlier.csv")
    for data in ("earlier.csv", "program.db"):
        store = folder / f"from-{data}.db"
        lcbo("run", "program.toml", "--method", "sobol", "--seed", 1, "--budget", 3, "--data", data,
             "--store", store, code=(0, 3))  # fmt: skip
        run = library.open_run(store)
        assert (run.status.ended, run.log.n_data) == (3, 6)
    lcbo("new", "asked.db", "lab.toml", "--data", "earlier.csv")
    assert library.open_run("asked.db").log.n_data == 6
