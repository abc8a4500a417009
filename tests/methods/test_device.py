"""All that models and acquisitions compute is on the chosen device; only the border moves numbers.

Without a GPU the tensors that cross the border are marked: like those of a GPU they mix with no others and
become no arrays, except by way of the border.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from lcbo.errors import ArgumentError
from lcbo.methods import registry
from lcbo.methods.base.archive import FAILED, PENDING
from lcbo.methods.protocol import Method, Outcome, Proposal, Setup
from lcbo.models import border
from lcbo.terms import Term, Terms

SOURCE = Path(__file__).parents[2] / "src" / "lcbo"
MODELS = ["lcbo", "cei", "logcei", "epbo", "scbo", "furbo", "hdsafebo", "bayesqp"]
ADAM = {"starts": 2, "steps": 4}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("lcbo", {}),
    ("lcbo", {"explorer": "axes", "kernel": "rbf"}),
    ("lcbo", {"fit": "map", "ard": True, "learn_noise": True}),
    ("lcbo-paper", {"explorer_options": {"starts": 2, "steps": 3}}),
    ("cei", {"optimizer_options": ADAM}),
    ("cei", {"optimizer": "lbfgs", "optimizer_options": {"starts": 2, "steps": 3, "raw": 8}, "ard": True}),
    ("epbo", {"optimizer_options": ADAM, "kernel": "matern52", "transforms": "original"}),
    ("scbo", {"n_candidates": 32}),
    ("scbo", {"n_candidates": 32, "sampler": "exact", "kernel": "matern52", "perturbation": 0.5}),
    ("hdsafebo", {"n_candidates": 32, "beta": 0.5}),
    ("furbo", {"n_candidates": 32, "inspectors_per_dim": 20}),
    ("logcei", {"optimizer_options": {"starts": 2, "steps": 3, "raw": 8}}),
    ("bayesqp", {"n_candidates": 8}),
]


class OnDevice(Tensor):
    """A tensor that behaves as if it were on a GPU."""

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in (Tensor.numpy, Tensor.__array__):
            raise TypeError("a tensor of the device is made an array outside the border")
        if func is Tensor.cpu:
            return args[0].as_subclass(Tensor)
        operands = args[:1] if func is Tensor.__getitem__ else args
        for operand in tensors([*operands, *(kwargs or {}).values()]):
            if not isinstance(operand, OnDevice) and operand.dim() > 0:
                raise RuntimeError(f"{func} mixes a tensor of the device with one of the CPU")
        return super().__torch_function__(func, types, args, kwargs or {})


def tensors(arguments: Any) -> Iterator[Tensor]:
    for argument in arguments:
        if isinstance(argument, Tensor):
            yield argument
        elif isinstance(argument, list | tuple):
            yield from tensors(argument)


def mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every tensor that comes over the border be one of the device."""

    def from_numpy(array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).as_subclass(OnDevice)

    fake = SimpleNamespace(from_numpy=from_numpy, device=torch.device, cuda=torch.cuda)
    monkeypatch.setattr(border, "torch", fake)


def make(name: str, options: dict[str, Any], device: str = "cpu") -> Method:
    terms = Terms((Term(1, 1.0, 0.2), Term(2, -1.0, -3.0)))
    setup = Setup(4, 3, terms, (None,) * 3, 60, 8, np.zeros((0, 4)), 1, device)
    return registry.make(name, setup, options)


def outputs(u: np.ndarray) -> np.ndarray:
    return np.array([np.sum((u - 0.7) ** 2), np.mean(u) - 0.35, np.sin(5.0 * u[0])])


def drive(method: Method) -> list[np.ndarray]:
    """A design with a failure and a missing outcome, three iterations, a point beyond, and the answer."""
    asked = []
    for _ in range(4):
        for proposal in method.ask():
            y = outputs(proposal.u)
            asked.append(proposal.u)
            if proposal.id == 3:
                y[1] = np.nan
            method.tell(proposal.id, None if proposal.id == 5 else y)
    asked += [proposal.u for proposal in method.ask(3)]
    best = method.recommend()
    assert best is not None
    belief = method.belief(best)
    assert belief is not None
    return [*asked, best, belief.mean, belief.std, belief.gradient]


def resumed(method: Method, name: str, options: dict[str, Any]) -> Method:
    other = make(name, options)
    state = method.state()
    assert state is not None
    other.restore(state, calls_of(method))
    return other


def calls_of(method: Any) -> list[Any]:
    archive = method.archive
    asked = [Proposal(i, u, "explore", 0) for i, u in enumerate(archive.u)]
    told = [
        Outcome(i, None if archive.status[i] == FAILED else archive.y[i])
        for i in range(archive.size)
        if archive.status[i] != PENDING
    ]
    return [*asked, *told]


@pytest.mark.parametrize(("name", "options"), CASES)
def test_nothing_bypasses_the_border(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = drive(make(name, options))
    mark(monkeypatch)
    method = make(name, options)
    for mine, other in zip(drive(method), plain, strict=True):
        assert type(mine) is np.ndarray
        np.testing.assert_array_equal(mine, other)
    assert resumed(method, name, options).recommend() is not None


def test_a_bypass_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    mark(monkeypatch)
    here = border.to_tensor(np.ones(3), border.CPU)
    with pytest.raises(RuntimeError, match="mixes"):
        here + torch.ones(3)
    with pytest.raises(RuntimeError, match="mixes"):
        torch.cat([here, torch.ones(3)])
    with pytest.raises(TypeError, match="outside the border"):
        (here + 1.0).numpy()
    np.testing.assert_array_equal(border.to_array(here + 1.0), [2.0, 2.0, 2.0])


@pytest.mark.parametrize("folder", ["models", "acquisition", "methods"])
def test_tensors_are_made_from_arrays_at_the_border_only(folder: str) -> None:
    crossing = re.compile(
        r"\.numpy\(|torch\.(tensor|as_tensor|from_numpy|zeros|ones|eye|empty|full|arange)\("
    )
    for path in sorted((SOURCE / folder).rglob("*.py")):
        if path != SOURCE / "models" / "border.py":
            found = crossing.search(path.read_text())
            assert found is None, f"{path.relative_to(SOURCE)} has {found.group() if found else ''}"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("device", ["gpu", "meta", "mps", 3, None, "cuda:99"])
def test_a_device_that_cannot_be_used_is_refused(name: str, device: Any) -> None:
    with pytest.raises(ArgumentError, match="^device: expected 'cpu'"):
        make(name, {}, device)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("name", MODELS)
def test_a_missing_gpu_is_named(name: str) -> None:
    with pytest.raises(ArgumentError, match="as torch finds no GPU; got 'cuda'"):
        make(name, {}, "cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("name", "options"), CASES)
def test_runs_on_a_gpu(name: str, options: dict[str, Any]) -> None:
    assert all(type(found) is np.ndarray for found in drive(make(name, options, "cuda")))
