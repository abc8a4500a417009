"""What methods that model all their data share: the model as they see it, and the answer from it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lcbo.methods.base.queued import QueuedMethod
from lcbo.methods.base.recommend import believed, forecast, recommended
from lcbo.methods.base.transforms import TRANSFORMS, Transform
from lcbo.methods.protocol import Array, Belief, Forecast, Setup
from lcbo.models.border import to_array
from lcbo.models.builder import GrowingBuilder, Model
from lcbo.terms import Terms


class ModelBased(QueuedMethod):
    """Sees the outputs through a transform; its belief is in user units all the same."""

    def __init__(self, setup: Setup, builder: GrowingBuilder, transform: Transform) -> None:
        super().__init__(setup)
        self._builder = builder
        self._transform = transform
        self._user_model: Model | None = None

    @property
    @abstractmethod
    def _fitted(self) -> bool:
        """Whether there is a model to answer from."""

    def tell(self, id: int, y: Array | None) -> None:
        """Report a proposal's outputs, NaN where an outcome will never come; ``None`` is a failure."""
        self.archive.settle(id, y)
        self._user_model = None

    @torch.inference_mode()
    def recommend(self) -> Array | None:
        """Return the evaluated point with the best posterior."""
        if not self._fitted:
            return None
        model, _, terms = self._model(whole=True)
        return to_array(model.gp.u[recommended(model, terms)]).copy()

    @torch.inference_mode()
    def belief(self, u: Array) -> Belief | None:
        """Return the model's belief at a point, or ``None`` before the first fit."""
        return believed(self._current_model(), u) if self._fitted else None

    def candidates(self) -> Array | None:
        """Return every evaluated point, or ``None`` before the first fit."""
        return self.archive.u[self.archive.recent(None)].copy() if self._fitted else None

    @torch.inference_mode()
    def forecast(self, u: Array) -> Forecast | None:
        """Return the model's belief at points, or ``None`` before the first fit."""
        return forecast(self._current_model(), u) if self._fitted else None

    @torch.inference_mode()
    def surrogate(self) -> Any:
        """Return the model, which sees the cube as it is."""
        return (self._current_model(), None) if self._fitted else None

    def _known(self) -> NDArray[np.intp]:
        """Ids of what the search may look at: everything told."""
        return self.archive.recent(None)

    def _model(self, refit: bool = False, whole: bool = False) -> tuple[Model, Array, Terms]:
        """The model of everything known so far, the outputs it saw and the conditions on them.

        Args:
            refit: learn the hyperparameters anew.
            whole: of everything told, what the search forgot included.
        """
        told = self.archive.recent(None)
        ids = told if whole else self._known()
        y, terms = self._transform(self.archive.y[ids], self.setup.terms)
        model = self._builder.build(ids, self.archive.u[ids], y, refit=refit)
        plain = self._transform is TRANSFORMS["zscore"] and len(ids) == len(told)
        self._user_model = model if plain else None
        return model, y, terms

    def _current_model(self) -> Model:
        """The model in user units; hyperparameters as last fitted."""
        if self._user_model is None:
            ids = self.archive.recent(None)
            self._user_model = self._builder.build(ids, self.archive.u[ids], self.archive.y[ids], refit=False)
        return self._user_model
