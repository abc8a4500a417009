"""The border between NumPy and torch: where arrays become tensors of the chosen device, and back.

Everything else in the models and acquisitions makes tensors from tensors, so all of them are where the
hyperparameters are. Random numbers are NumPy's and cross here too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from lcbo.errors import ArgumentError
from lcbo.types import Array

CPU = torch.device("cpu")


def chosen_device(name: Any) -> torch.device:
    """Return the device of a name such as ``cpu``, ``cuda`` or ``cuda:1``, if it can be used here."""
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in ("cpu", "cuda"):
        raise ArgumentError("device", "'cpu' or 'cuda'", repr(name))
    found = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= found:
        expected = f"'cpu', or a GPU out of {found}" if found else "'cpu', as torch finds no GPU"
        raise ArgumentError("device", expected, repr(name))
    return device


def to_tensor(values: ArrayLike, place: Tensor | torch.device) -> Tensor:
    """Return the numbers (or flags) of an array as a tensor on the device, or on that of a tensor.

    On the CPU it shares the array's memory.
    """
    tensor = torch.from_numpy(np.asarray(values))
    return tensor.to(place.device if isinstance(place, Tensor) else place)


def room(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Return a tensor for so many numbers, whatever they are now.

    On the CPU the memory is NumPy's, which asks the system for large pages: to touch as much for the first
    time costs less than half.
    """
    return to_tensor(np.empty(shape), like)


def to_array(tensor: Tensor) -> Array:
    """Return the numbers of a tensor as an array, which on the CPU shares its memory."""
    array: Array = tensor.cpu().numpy()
    return array
