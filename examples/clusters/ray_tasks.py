"""Evaluations as Ray tasks: every free slot gets a candidate at once. `pip install ray`."""

import sys

import numpy as np
import ray

import lcbo

SLOTS = 4


def simulate(x):
    """Weight and stress of a part; a simulation that crashes now and then."""
    if np.random.default_rng(int(1e6 * x[0])).random() < 0.1:
        raise RuntimeError("the mesh is broken")
    return {"weight": float(np.sum(x)), "stress": float(np.sum(1.0 / x))}


if __name__ == "__main__":
    # ray.init() begins a cluster on this machine; ray.init(address="auto") joins one.
    ray.init(num_cpus=SLOTS, include_dashboard=False, log_to_driver=False, logging_level="error")
    remote = ray.remote(simulate)
    budget = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    problem = lcbo.Problem(
        {f"t{i}": (0.1, 5.0) for i in range(6)}, ["stress <= 9"], "weight", deterministic=True
    )
    optimizer = lcbo.Optimizer(problem, budget=budget)
    running = {}
    while True:
        free = SLOTS - len(running)
        for candidate in optimizer.ask(free) if free else []:
            running[remote.remote(candidate.x)] = candidate
        if not running:
            break
        (task,), _ = ray.wait(list(running), num_returns=1)
        candidate = running.pop(task)
        try:
            optimizer.tell(candidate.id, ray.get(task))
        except ray.exceptions.RayError as error:
            optimizer.tell(candidate.id, failed=str(error).splitlines()[-1])
    result = optimizer.result(f"budget of {budget} spent")
    print(f"weight {result.fun:.3f}, stress {result.constr['stress']:.3f}")
    print(f"{result.nfail} of {result.nfev} failed")
    ray.shutdown()
