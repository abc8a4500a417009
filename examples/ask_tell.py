"""Your own loop: ask for candidates, evaluate them anywhere and in any order, tell what came out."""

from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np

import lcbo


def experiment(x):
    """Yield and purity of one batch in the laboratory."""
    return {"yield": float(1.0 - np.sum((x - 0.6) ** 2)), "purity": float(1.0 - 0.5 * np.mean(x))}


if __name__ == "__main__":
    problem = lcbo.Problem(
        bounds=[(0.0, 1.0)] * 6,
        constraints=["purity >= 0.8"],
        objective=lcbo.Objective("yield", maximize=True),
        deterministic=True,
    )
    optimizer = lcbo.Optimizer(problem, budget=80, rng=0)
    with ThreadPoolExecutor(max_workers=2) as pool:
        while candidates := optimizer.ask():
            running = {pool.submit(experiment, candidate.x): candidate for candidate in candidates}
            for done in as_completed(running):
                candidate = running[done]
                if candidate.id == 10:
                    optimizer.tell(candidate.id, failed="sample lost")
                else:
                    optimizer.tell(candidate.id, done.result())
    result = optimizer.result("laboratory closed")
    print(result.message)
    print(f"yield {result.fun:.4f}, purity {result.constr['purity']:.4f}, {result.nfail} lost")
    print(np.round(result.x, 3))
