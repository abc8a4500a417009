"""An external simulator as the function of a problem: parameters out to files, a program run, outcomes in."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from itertools import count
from pathlib import Path, PurePath
from typing import Any, Self

from lcbo.checks import positive
from lcbo.errors import ArgumentError, EvaluationError, OutcomeError
from lcbo.evaluation.command import exchange, search
from lcbo.evaluation.command.exchange import (
    FORMATS,
    STDERR,
    STDOUT,
    last_lines,
    placeholders,
    render,
    text_of,
)
from lcbo.evaluation.evaluate import current, current_seed
from lcbo.evaluation.processes import kill_members, kill_tree
from lcbo.problem import Problem, not_finite
from lcbo.types import Array

KEEP = ("all", "failed", "none")
OUTPUT_LIMIT = search.READ_LIMIT  # bytes of any file the outcomes are read from
_LOOK = 0.1  # seconds between looks at how much has been written
NOT_FOUND = 127  # exit code of a shell that does not find a program
_FILLED_IN = ("folder", "variables", "integers", "outcomes")  # fields that are not a problem file's


@dataclass(frozen=True)
class Command:
    """A program that evaluates one point, usable as the ``fun`` of a `Problem` or of `minimize`.

    Every evaluation has a working directory of its own. The parameters are written there, the program runs
    there, and its outcomes are read from there. A non-zero exit, a timeout, output that is missing or cannot
    be read, more than 64 MB of output and a value that is not finite are failed evaluations, recorded with
    the last lines of stderr.

    All fields but ``variables``, ``integers`` and ``outcomes`` can stand in the ``[command]`` table of a
    problem file.

    Attributes:
        run: program and arguments as a list, or one line for the shell. ``{{ name }}`` stands for the value
            of a variable, ``{{ name:.6g }}`` formats it.
        parameters: name of a JSON file for the parameters, ``{"name": value, ...}``. By default
            ``parameters.json``, or none where there are templates or placeholders in ``run``.
        templates: files to write, by name, from templates with placeholders. All files are written into the
            working directory; a name that leads out of it is refused.
        format: ``"dakota"`` or ``"nomad"`` speaks the files of these programs instead of JSON, so that a
            driver written for them runs unchanged: as ``run params.in results.out`` with Dakota's standard
            files, or as ``run x.txt`` with the point in the file and ``f c1 c2 ...`` on stdout. Outcomes
            come in the order of the problem, the objective first.
        files: further files and directories to copy into the working directory.
        output: where the outcomes are: ``stdout``, or the name of a file the program writes. Without
            patterns it holds a JSON object; on stdout the last line that is one counts.
        patterns: regular expressions by outcome, the first group of the last match being the value; they
            search ``output``, or another file with ``{"file": "beam.out", "pattern": "..."}``.
        workdir: directory for the working directories, each named by the number of its evaluation.
        keep: which working directories stay: ``"all"``, ``"failed"`` or ``"none"``.
        env: environment variables to add, kept in the run file; ``LCBO_EVALUATION`` holds the number of the
            evaluation, ``LCBO_SEED`` a seed of its own.
        timeout: seconds until the program is killed with all it has started.
        folder: directory the paths above are relative to; by default the current one.
        variables: names of the variables; a `Problem` fills them in.
        integers: names of those that are written without a decimal point, likewise.
        outcomes: names of the outcomes that must come; a `Problem` fills them in.
    """

    run: str | Sequence[str]
    parameters: str | None = None
    templates: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[str] = ()
    output: str = "stdout"
    patterns: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)
    workdir: str = "evaluations"
    keep: str = "failed"
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    format: str = "json"
    folder: str | Path = "."
    variables: tuple[str, ...] = ()
    integers: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_fields(self)
        object.__setattr__(self, "folder", Path(self.folder).absolute())

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], folder: str | Path = ".") -> Self:
        """Return the command a table describes (the ``[command]`` of a problem file in ``folder``)."""
        known = [f.name for f in fields(cls) if f.name not in _FILLED_IN]
        unknown = [key for key in table if key not in known]
        if unknown:
            raise ArgumentError("command", f"keys out of {', '.join(known)}", repr(unknown[0]))
        if "run" not in table:
            raise ArgumentError("command", "run = the program to run", "none")
        return cls(**table, folder=folder)

    @property
    def source(self) -> dict[str, Any] | None:
        """The recipe a run file keeps: the table of all that differs from the defaults, and the folder.

        A subclass has none: it may do more than its fields say.
        """
        if type(self) is not Command:
            return None
        plain = Command(self.run)
        stated = [f.name for f in fields(self) if f.name not in _FILLED_IN]
        table = {name: getattr(self, name) for name in stated if getattr(self, name) != getattr(plain, name)}
        return {"command": {"run": self.run, **table}, "folder": str(self.folder)}

    def bound_to(self, problem: Problem, outcomes: Sequence[str]) -> Self:
        """Return the command with the names of a problem, everything checked that can be before a run.

        It must give all of ``outcomes``.
        """
        names = problem.variables
        used = set().union(*(exchange.check("run", line, names) for line in self._lines))
        for name, source in self.templates.items():
            used |= exchange.check(f"templates, {name!r}", self._text_of(source), names)
        for source in self.files:
            if not self._path(source).exists():
                raise ArgumentError("files", "files and directories that exist", str(self._path(source)))
        unused = [name for name in names if name not in used and name not in problem.fixed]
        if unused and self._parameters is None:
            expected = "every variable in a template or in run (or parameters = a file with all of them)"
            raise ArgumentError("templates" if self.templates else "run", expected, f"none of {unused}")
        missing = [name for name in outcomes if name not in self.patterns]
        if self.patterns and missing:
            raise ArgumentError("patterns", f"one for each of {', '.join(outcomes)}", f"none for {missing}")
        integers = tuple(n for n, whole in zip(names, problem.space.integer, strict=True) if whole)
        return replace(self, variables=names, integers=integers, outcomes=tuple(outcomes))

    def __call__(self, x: Array) -> dict[str, Any]:
        """Return the outcomes of one point, or raise `EvaluationError` with why and where the files are."""
        names = self.variables or tuple(f"x{i}" for i in range(1, len(x) + 1))
        values = {n: int(v) if n in self.integers else float(v) for n, v in zip(names, x, strict=True)}
        place = self._working_directory()
        try:
            self._prepare(place, values)
            self._execute(place, values)
            outcomes = self._read(place)
        except BaseException as error:
            if self.keep == "none":
                shutil.rmtree(place, ignore_errors=True)
            elif isinstance(error, EvaluationError):
                raise EvaluationError(f"{error}\nfiles: {place}") from error.__cause__
            raise
        if self.keep != "all":
            shutil.rmtree(place, ignore_errors=True)
        return outcomes

    @property
    def _lines(self) -> Sequence[str]:
        names = FORMATS[self.format][2]
        return [" ".join([self.run, *names])] if isinstance(self.run, str) else [*self.run, *names]

    @property
    def _searches(self) -> list[tuple[str, str, str]]:
        """Outcome, pattern and file of every pattern."""
        own = {name: entry for name, entry in self.patterns.items() if isinstance(entry, str)}
        stated = {name: entry for name, entry in self.patterns.items() if isinstance(entry, Mapping)}
        return [
            *((name, pattern, self.output) for name, pattern in own.items()),
            *((name, entry["pattern"], entry["file"]) for name, entry in stated.items()),
        ]

    @property
    def _outputs(self) -> set[str]:
        """The files the outcomes are read from."""
        return {file for _, _, file in self._searches} or {self.output}

    @property
    def _parameters(self) -> str | None:
        """The file for the parameters; JSON is not needed where placeholders take them."""
        usual = FORMATS[self.format][0]
        if self.format != "json":
            return usual
        placed = bool(self.templates) or any(placeholders(line) for line in self._lines)
        return self.parameters or (None if placed else usual)

    def _path(self, name: str) -> Path:
        return Path(self.folder) / Path(name).expanduser()

    def _text_of(self, template: str) -> str:
        try:
            return self._path(template).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ArgumentError("templates", "text files that can be read", error) from None

    def _working_directory(self) -> Path:
        """Make the directory of this evaluation; one tried before keeps its own."""
        id = current.get()
        stem = time.strftime("%Y%m%d-%H%M%S") if id is None else f"{id:06d}"
        parent = self._path(self.workdir)
        parent.mkdir(parents=True, exist_ok=True)
        place, attempts = parent / stem, count(2)
        while True:
            try:
                place.mkdir()
                return place
            except FileExistsError:
                place = parent / f"{stem}-{next(attempts)}"

    def _prepare(self, place: Path, values: Mapping[str, float]) -> None:
        for source in self.files:
            path = self._path(source)
            if path.is_dir():
                shutil.copytree(path, place / path.name)
            else:
                shutil.copy2(path, place / path.name)
        for name, source in self.templates.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(render(self._text_of(source), values), encoding="utf-8")
        if self._parameters is not None:
            text = exchange.parameters_text(self.format, values, self.outcomes, current.get())
            (place / self._parameters).write_text(text, encoding="utf-8")

    def _execute(self, place: Path, values: Mapping[str, float]) -> None:
        shell = isinstance(self.run, str)
        line = [render(part, values) for part in self._lines]
        environment = {**os.environ, **self.env}
        if (id := current.get()) is not None:
            environment["LCBO_EVALUATION"] = str(id)
        if (seed := current_seed.get()) is not None:
            environment["LCBO_SEED"] = str(seed)
        with (place / STDOUT).open("wb") as out, (place / STDERR).open("wb") as err:
            try:
                process = subprocess.Popen(
                    line[0] if shell else line,
                    shell=shell,
                    cwd=place,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
            except OSError as error:
                raise EvaluationError(f"the command cannot be started: {error}") from error
            try:
                code = self._watched(process, place)
            finally:
                if process.returncode is None:
                    _stop(process)
                else:
                    kill_members(process.pid)  # what it left running in the background
        if shell and code == NOT_FOUND:
            reason = f"the command cannot be started: the shell does not find it{last_lines(place)}"
            raise EvaluationError(reason) from FileNotFoundError(line[0])
        if code:
            how = f"ended with exit code {code}" if code > 0 else f"died of {signal.Signals(-code).name}"
            raise EvaluationError(f"the command {how}{last_lines(place)}")

    def _watched(self, process: subprocess.Popen[bytes], place: Path) -> int:
        """Return the exit code of the program; raise when it takes too long or writes too much."""
        until = math.inf if self.timeout is None else time.monotonic() + self.timeout
        files = {STDOUT, STDERR, *(str(exchange.output_path(place, file)) for file in self._outputs)}
        while True:
            left = until - time.monotonic()
            if left <= 0.0:
                _stop(process)  # before its output is read, which it would go on writing
                reason = f"timeout: the command did not end within {self.timeout:g} s"
                raise EvaluationError(reason + last_lines(place))
            with suppress(subprocess.TimeoutExpired):
                process.wait(min(left, _LOOK))
            for path in map(place.joinpath, files):
                if path.is_file() and path.stat().st_size > OUTPUT_LIMIT:
                    _stop(process)
                    size = f"{OUTPUT_LIMIT >> 20} MB"
                    raise EvaluationError(f"{path.name}: more than {size} of output{last_lines(place)}")
            if process.returncode is not None:
                return process.returncode

    def _read(self, place: Path) -> dict[str, Any]:
        read: dict[str, Any] = {}
        if self.format != "json":
            file = FORMATS[self.format][1]
            read |= exchange.listed_values(self.format, file, text_of(place, file), self.outcomes)
        elif not self.patterns:
            read = exchange.json_object(self.output, text_of(place, self.output))
        else:
            read |= exchange.last_matches(place, self._searches)
        missing = [name for name in self.outcomes if name not in read]
        if missing:
            came = f"{', '.join(map(repr, read)) or 'nothing'} (files: {place})"
            raise OutcomeError(f"{self.output}: expected the outcomes {missing} too; got {came}")
        numbers = {name: read[name] for name in self.outcomes if isinstance(read[name], float | None)}
        if broken := not_finite(numbers):
            raise EvaluationError(broken)
        return read


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a program and everything it started."""
    kill_tree(process.pid)
    process.wait()


def _check_fields(command: Command) -> None:
    """Raise `ArgumentError` for a field of the wrong type; tables of a file come unchecked."""
    for name, right, expected in (
        ("run", command.run and _texts(command.run), "a list of texts, or one line for the shell"),
        ("files", _texts(command.files) and not isinstance(command.files, str), "a list of paths"),
        ("templates", _table(command.templates), "a table of texts"),
        ("env", _table(command.env), "a table of texts"),
        ("output", isinstance(command.output, str) and command.output, "stdout or the name of a file"),
        ("workdir", isinstance(command.workdir, str) and command.workdir, "the path of a directory"),
        ("parameters", command.parameters is None or isinstance(command.parameters, str), "a file name"),
        ("keep", command.keep in KEEP, " or ".join(KEEP)),
        ("format", command.format in FORMATS, " or ".join(FORMATS)),
        ("patterns", isinstance(command.patterns, Mapping), "a table of regular expressions by outcome"),
    ):
        if not right:
            raise ArgumentError(name, expected, repr(getattr(command, name)))
    positive("timeout", command.timeout)
    written = [("templates", name) for name in command.templates]
    written += [("files", Path(name).expanduser().name) for name in command.files]
    written += [("parameters", command.parameters)] if command.parameters is not None else []
    for field_name, name in written:
        path = PurePath(name)
        if not name or "\0" in name or path.is_absolute() or ".." in path.parts or path == PurePath("."):
            expected = "names of files within the working directory"
            raise ArgumentError(field_name, expected, repr(name))
    told = {"parameters": command.parameters, "patterns": command.patterns}
    if command.format != "json" and (beside := [name for name, value in told.items() if value]):
        raise ArgumentError(
            beside[0], f"none beside format={command.format!r}, which has its own files", "one"
        )
    for name, entry in command.patterns.items():
        _check_pattern(f"patterns, {name!r}", entry)


def _check_pattern(where: str, entry: Any) -> None:
    pattern = entry
    if isinstance(entry, Mapping):
        if set(entry) != {"file", "pattern"} or not isinstance(entry["file"], str):
            raise ArgumentError(where, "a text, or a table with file and pattern", repr(entry))
        pattern = entry["pattern"]
    try:
        groups = re.compile(pattern).groups
    except (re.error, TypeError) as error:
        raise ArgumentError(where, "a regular expression", f"{pattern!r} ({error})") from None
    if not groups:
        raise ArgumentError(where, "a group in parentheses around the number", repr(pattern))


def _texts(values: Any) -> bool:
    return isinstance(values, Sequence) and all(isinstance(value, str) for value in values)


def _table(values: Any) -> bool:
    return isinstance(values, Mapping) and _texts([*values, *values.values()])
