"""Evaluations as jobs of a SLURM queue, in a run that outlives this process. `pip install submitit`."""

import sys
import time

import numpy as np
import submitit

import lcbo

SLOTS = 4
CLUSTER = "local"  # processes on this machine; "slurm" submits to the queue


def simulate(x):
    """Weight and stress of a part; a simulation that crashes now and then."""
    if np.random.default_rng(int(1e6 * x[0])).random() < 0.1:
        raise RuntimeError("the mesh is broken")
    return {"weight": float(np.sum(x)), "stress": float(np.sum(1.0 / x))}


if __name__ == "__main__":
    executor = submitit.AutoExecutor(folder="jobs", cluster=CLUSTER)
    executor.update_parameters(timeout_min=30)  # and slurm_partition="...", mem_gb=8, ...
    budget = int(sys.argv[1]) if len(sys.argv) > 1 else 24
    problem = lcbo.Problem(
        {f"t{i}": (0.1, 5.0) for i in range(6)}, ["stress <= 9"], "weight", deterministic=True
    )
    with lcbo.Optimizer(problem, budget=budget, store="queue.db") as optimizer:  # Optimizer.open goes on
        jobs = {candidate.id: executor.submit(simulate, candidate.x) for candidate in optimizer.pending}
        while True:
            free = SLOTS - len(jobs)
            for candidate in optimizer.ask(free) if free > 0 else []:
                jobs[candidate.id] = executor.submit(simulate, candidate.x)
            if not jobs:
                break
            time.sleep(0.2)  # a minute on a cluster: polling costs the scheduler
            for id, job in list(jobs.items()):
                if job.done():
                    del jobs[id]
                    error = job.exception()
                    if error is None:
                        optimizer.tell(id, job.result())
                    else:
                        optimizer.tell(id, failed=str(error).strip().splitlines()[-1])
        result = optimizer.result(f"budget of {budget} spent")
    print(f"weight {result.fun:.3f}, stress {result.constr['stress']:.3f}")
    print(f"{result.nfail} of {result.nfev} failed")
