"""Ctrl-C between two steps of the optimizer rather than in the middle of one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self


class Interrupts:
    """Holds back Ctrl-C while the optimizer's state changes; elsewhere it behaves as usual.

    A second Ctrl-C is not held back. In a thread, or where the program has its own handler, nothing changes.
    """

    def __init__(self) -> None:
        self._shielded = self._asked = self._installed = False

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)
            self._installed = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Hold back Ctrl-C until the block is done."""
        self._shielded = True
        try:
            yield
        finally:
            self._shielded = False
        if self._asked:
            self._asked = False
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._shielded and not self._asked:
            self._asked = True
        else:
            signal.default_int_handler(number, frame)
