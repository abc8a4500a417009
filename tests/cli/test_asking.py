import csv
import json

import pytest

import lcbo as library
from lcbo.cli import asking, screen


def outcomes(x):
    return {"cost": x["t"], "strength": 2.0 * x["w1"] + x["w2"], "mass": x["w1"] + x["w2"]}


def test_a_whole_run_by_ask_and_tell(lcbo, objects):
    done = lcbo("new", "run.db", "lab.toml", "--budget", 8)
    assert "budget 8" in done.stderr
    assert not done.stdout
    for _ in range(50):
        done = lcbo("ask", "run.db", code=(0, 4))
        if done.exit_code == 4:
            break
        candidates = objects(done.stdout)
        results = "\n".join(json.dumps({"id": c["id"], **outcomes(c["x"])}) for c in candidates)
        assert f"told {len(candidates)};" in lcbo("tell", "run.db", "--from", "-", input=results).stderr
    assert "budget of 8 evaluations is handed out" in done.stderr
    best = json.loads(lcbo("best", "run.db", "--json").stdout)
    assert best["success"]
    assert best["nfev"] == 8
    run = library.open_run("run.db")
    assert best["fun"] == run.result().fun
    # the same candidates as the optimizer in Python hands out
    problem = library.Problem(
        {"t": (0.0, 1.0), "w1": (0.0, 1.0), "w2": (0.0, 1.0)},
        ["strength >= 1", library.Constraint("mass", ub=2.0)],
        "cost",
        deterministic=True,
    )
    first = library.Optimizer(problem, budget=8).ask()
    run = library.open_run("run.db")
    assert run.history.loc[0, "t"] == first[0].x[0]


def test_the_output_of_ask_goes_back_to_tell_as_csv(lcbo, folder):
    lcbo("new", "run.db", "lab.toml")
    (folder / "todo.csv").write_text(lcbo("ask", "run.db", "-n", 4, "--csv").stdout)
    rows = list(csv.DictReader((folder / "todo.csv").read_text().splitlines()))
    assert [row["id"] for row in rows] == ["0", "1", "2", "3"]
    results = [
        {**row, "cost": 1, "strength": 1.5, "mass": float(row["w1"]) + float(row["w2"]), "failed": ""}
        for row in rows
    ]
    results[1].update(cost="", strength="", mass="", failed="it, too, broke")
    results[2].update(cost="", strength="", mass="")  # not done yet
    with (folder / "done.csv").open("w") as file:
        writer = csv.DictWriter(file, results[0])
        writer.writeheader()
        writer.writerows(results)
    said = lcbo("tell", "run.db", "--from", "done.csv").stderr
    assert "told 3, of which 1 failed (it, too, broke); 3 of 20 evaluations ended, 1 pending" in said
    assert "1 pending" in lcbo("tell", "run.db", "--from", "done.csv").stderr  # again: nothing happens
    run = library.open_run("run.db")
    history = run.history
    assert history.loc[1, "failed"] == "it, too, broke"
    assert history.loc[3, "mass"] == results[3]["mass"]
    assert [c.id for c in run.pending] == [2]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.json", '[{"id": 0, "cost": 1, "strength": 2, "mass": 3}, {"id": 1, "failed": "why"}]'),
        (
            "r.jsonl",
            '{"id": 0, "outcomes": {"cost": 1, "strength": 2, "mass": 3}}\n\n{"id": 1, "failed": "why"}',
        ),
        ("r.json", '{"id": 0, "x": {"t": 1}, "cost": 1, "strength": 2, "mass": 3, "failed": null}'),
    ],
)
def test_results_come_from_json(lcbo, folder, name, text):
    lcbo("new", "run.db", "lab.toml")
    lcbo("ask", "run.db", "-n", 2)
    (folder / name).write_text(text)
    lcbo("tell", "run.db", "--from", name)
    run = library.open_run("run.db")
    assert run.history.loc[0, "mass"] == 3.0
    assert run.status.failed == text.count("why")


def test_results_come_from_standard_input(lcbo):
    lcbo("new", "run.db", "lab.toml")
    lcbo("ask", "run.db", "-n", 2)
    lcbo("tell", "run.db", "--from", "-", input='{"id": 1, "cost": 1, "strength": 2, "mass": 3}\n')
    run = library.open_run("run.db")
    assert run.history.index.tolist() == [1]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("r.csv", "id,cost,strenght\n0,1,2\n", "r.csv, line 2: expected outcome names out of"),
        ("r.csv", "id,cost\n0,high\n", "outcome 'cost': expected a real number; got str 'high'"),
        ("r.csv", "id,cost\n0,\n", "r.csv: expected results"),
        ("r.csv", "id,cost\n0,1,2,3\n", "as many cells"),
        ("r.csv", "number,cost\n0,1\n", "an id and outcomes"),
        ("r.json", '{"id": "zero", "cost": 1}', "a whole number; got 'zero'"),
        ("r.json", '{"id": 0.5, "cost": 1}', "a whole number; got 0.5"),
        ("r.json", "3", "an id and outcomes; got 3"),
        ("r.json", "{broken", "expected JSON"),
        ("r.txt", "", "ending in .csv, .json"),
        ("r.csv", None, "No such file"),
    ],
)
def test_bad_results_are_refused_and_nothing_is_told(lcbo, folder, name, text, message):
    lcbo("new", "run.db", "lab.toml")
    lcbo("ask", "run.db", "-n", 1)
    if text is not None:
        (folder / name).write_text(text)
    done = lcbo("tell", "run.db", "--from", name, code=1)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    run = library.open_run("run.db")
    assert run.status.ended == 0


def test_an_error_in_the_middle_says_how_many_were_told(lcbo, folder):
    lcbo("new", "run.db", "lab.toml")
    lcbo("ask", "run.db", "-n", 2)
    (folder / "r.csv").write_text("id,cost,strength,mass\n0,1,1,1\n7,1,1,1\n1,1,1,1\n")
    done = lcbo("tell", "run.db", "--from", "r.csv", code=1)
    assert "1 of 3 results were told before this error" in done.stderr
    assert "got 7" in done.stderr


def test_partial_final_and_failed_tells(lcbo):
    lcbo("new", "run.db", "lab.toml")
    lcbo("ask", "run.db", "-n", 3)
    lcbo("tell", "run.db", 0, "cost=1")
    run = library.open_run("run.db")
    assert run.status.pending == 3
    lcbo("tell", "run.db", 0, "strength=2", "--final")
    lcbo("tell", "run.db", 1, "--failed", "mesh did not converge")
    assert "already" in lcbo("tell", "run.db", 1, "cost=1", code=1).stderr
    run = library.open_run("run.db")
    assert run.status.pending == 1
    assert run.history.loc[1, "failed"] == "mesh did not converge"


def test_a_value_that_is_not_finite_is_told_as_a_failure(lcbo):
    lcbo("new", "run.db", "lab.toml", "--method", "sobol")
    lcbo("ask", "run.db", "-n", 2)
    said = lcbo("tell", "run.db", 0, "cost=nan", "strength=1", "mass=1").stderr
    assert "told 1, of which 1 failed (outcome 'cost' is nan); 1 of 20 evaluations ended" in said
    assert "failed" not in lcbo("tell", "run.db", 1, "cost=1", "strength=1", "mass=1").stderr


def test_pending_shows_again_what_was_handed_out(lcbo, objects):
    lcbo("new", "run.db", "lab.toml")
    first = objects(lcbo("ask", "run.db", "-n", 3).stdout)
    assert objects(lcbo("ask", "run.db", "--pending").stdout) == first
    assert [c["id"] for c in objects(lcbo("ask", "run.db", "-n", 2).stdout)] == [3, 4]
    lcbo("new", "other.db", "lab.toml")
    assert "no candidate is pending" in lcbo("ask", "other.db", "--pending", code=4).stderr


def test_nothing_to_hand_out_has_its_own_exit_code(lcbo):
    lcbo("new", "run.db", "lab.toml")
    lcbo("ask", "run.db")
    done = lcbo("ask", "run.db", code=4)
    assert not done.stdout
    assert "candidates are pending" in done.stderr


def test_on_a_terminal_candidates_are_a_table(lcbo, monkeypatch):
    lcbo("new", "run.db", "lab.toml")
    monkeypatch.setattr(screen, "is_terminal", lambda: True)
    text = lcbo("ask", "run.db", "-n", 2).stdout
    assert [line.split()[0] for line in text.splitlines() if line] == ["id", "role", "t", "w1", "w2"]


def test_a_run_is_begun_once_and_by_new(lcbo):
    assert "lcbo new run.db" in lcbo("ask", "run.db", code=1).stderr
    lcbo("new", "run.db", "lab.toml", "--budget", 7, "--seed", 3, "--method", "sobol")
    assert "exists already" in lcbo("new", "run.db", "lab.toml", code=1).stderr
    run = library.open_run("run.db")
    assert (run.status.budget, run.meta["seed"], run.meta["method"]) == (7, 3, "sobol")


def test_another_writer_is_waited_for(lcbo, monkeypatch):
    lcbo("new", "run.db", "lab.toml")
    holder = library.Optimizer.open("run.db")
    assert "is writing to this run" in lcbo("ask", "run.db", "--wait", 0, code=1).stderr
    monkeypatch.setattr(asking.time, "sleep", lambda _: holder.close())
    lcbo("ask", "run.db", "--wait", 60)
