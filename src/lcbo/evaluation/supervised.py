"""One worker process as its pool sees it: starting it, talking to it, ending it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing.connection import Pipe
from typing import Any

import cloudpickle

from lcbo.errors import ArgumentError, WorkerError
from lcbo.evaluation import worker
from lcbo.evaluation.evaluate import Attempt, lost
from lcbo.evaluation.processes import kill_tree
from lcbo.problem import Problem
from lcbo.types import Evaluation

_GRACE = 0.25  # seconds after a timeout in which the worker writes down where it hangs
_PATIENCE = 8.0  # seconds its supervisor gets to end the tree


class SupervisedWorker:
    """A worker process; see `lcbo.evaluation.worker` for what goes on inside.

    The problem is pickled anew for every worker: a noisy benchmark gives each copy a noise of its own.

    Attributes:
        connection: gives its messages.
        control: becomes readable when it has ended.
        ready: whether it has loaded the problem.
        listening: whether more messages may come.
        task: the candidate it evaluates, since ``began`` (seconds since the epoch).
        deadline: when it is to be killed or, once it is, given up; monotonic clock.
        overdue: why it is to be killed at the deadline.
        killed: why it was killed, empty before that.
        broken: why it could not load the problem.
    """

    def __init__(self, problem: Problem, environment: Mapping[str, str]) -> None:
        with tempfile.TemporaryFile() as payload:
            _write(payload, problem)
            self.control, control = socket.socketpair()
            self.connection, connection = Pipe()
            with control, connection:
                descriptors = (control.fileno(), connection.fileno(), payload.fileno())
                try:
                    self.process = _start(descriptors, environment)
                except OSError as error:
                    self.control.close()
                    self.connection.close()
                    raise WorkerError(f"a worker process cannot be started: {error}") from error
        self.name = f"{platform.node()}:{self.process.pid}"
        self.ready, self.listening = False, True
        self.task: Evaluation | None = None
        self.began, self.deadline = 0.0, math.inf
        self.overdue = self.killed = self.broken = ""

    @property
    def idle(self) -> bool:
        """Whether it can take a task."""
        return self.ready and self.listening and self.task is None and not self.killed

    def begin(self, candidate: Evaluation, timeout: float | None) -> None:
        """Give it a task; one that has just died says so later."""
        self.task = replace(candidate, record=replace(candidate.record, worker=self.name))
        self.began = time.time()
        if timeout is not None:
            self.deadline = time.monotonic() + timeout + _GRACE
            self.overdue = f"timeout: no result within {timeout:g} s"
        with contextlib.suppress(OSError):
            self.connection.send((self.task, timeout))

    def hear(self) -> list[Attempt]:
        """Take its next message and return the attempt it has ended, if that is what it says."""
        try:
            kind, *content = self.connection.recv()
        except Exception:  # the end of the stream, or something else wrote to it
            self.listening = False
            self.deadline = min(self.deadline, time.monotonic() + 1.0)
            self.overdue = "the worker process lost its connection"
            return []
        if kind == "ready":
            self.ready = True
        elif kind == "broken":
            self.broken = content[0]
        elif kind == "done":
            attempt, leaves_processes = content
            self.task, self.deadline = None, math.inf
            if leaves_processes:
                self.kill("its failed evaluation left processes behind")
            return [attempt]
        return []

    def lose_task(self, how: str, output: str) -> list[Attempt]:
        """Return the attempt it has not ended and never will, as failed."""
        reason = self.killed or f"the worker process {how}"
        return [] if self.task is None else [Attempt(lost(self.task, reason, self.began, output))]

    def dismiss(self) -> None:
        """Let it leave of its own accord, which runs the exit handlers of the user's modules."""
        self.listening = False
        self.connection.close()

    def kill(self, why: str) -> None:
        """Have its supervisor end the whole tree; `control` becomes readable when that is done."""
        self.killed, self.deadline = self.killed or why, time.monotonic() + _PATIENCE
        with contextlib.suppress(OSError):
            self.control.shutdown(socket.SHUT_WR)

    def last_words(self) -> tuple[str, str]:
        """Return how its evaluating process ended and what was printed last; waits for the end."""
        words = b""
        self.control.settimeout(max(0.0, self.deadline - time.monotonic()) if self.killed else None)
        with contextlib.suppress(OSError):
            while piece := self.control.recv(1 << 16):
                words += piece
        try:
            said = json.loads(words)
        except ValueError:  # the supervisor was killed, or cannot end its tree
            return "was lost together with its supervisor", ""
        return _described(said["status"]), said["output"]

    def release(self) -> None:
        """Make sure that nothing is left of it, and close what leads to it."""
        try:
            self.process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            kill_tree(self.process.pid, patience=1.0)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=1.0)
        self.connection.close()
        self.control.close()


def _start(descriptors: tuple[int, ...], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a worker; -P keeps the modules beside its file from hiding those of the library."""
    return subprocess.Popen(
        [sys.executable, "-P", worker.__file__, *map(str, [*descriptors, os.getpid()])],
        stdin=subprocess.DEVNULL,
        env=environment,
        pass_fds=descriptors,
        start_new_session=True,
    )


def _write(file: Any, problem: Problem) -> None:
    """Write the search path as a line of JSON, then the pickled problem."""
    file.write(json.dumps([str(entry) for entry in sys.path]).encode() + b"\n")
    try:
        file.write(cloudpickle.dumps(problem))
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ArgumentError("fun", "a function that can be sent to a worker process", reason) from error
    file.flush()


def _described(status: int | None) -> str:
    if status is None:
        return "was killed"
    if not os.WIFSIGNALED(status):
        return f"ended with exit code {os.waitstatus_to_exitcode(status)}"
    number = os.WTERMSIG(status)
    hint = " (killed from outside, perhaps for want of memory)" if number == signal.SIGKILL else ""
    return f"died of {signal.Signals(number).name}{hint}"
