# Two commands for people: `make demo` and `make test`. Both create .venv when there is none.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Small batched algebra gains nothing from many threads, and two test workers would fight over the cores.
export OMP_NUM_THREADS ?= 1
export PYTHONDONTWRITEBYTECODE ?= 1

.PHONY: demo test lint format docs pictures clean

demo: .venv/.installed
	$(BIN)/lcbo demo --out lcbo-demo

test: lint
	$(BIN)/python -m pytest -n 2

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: .venv/.installed-dev
	$(BIN)/python docs/build_api.py

# The pictures of the README: a real run, to be drawn anew when the default method changes.
pictures: .venv/.installed
	$(BIN)/lcbo demo --budget 1000 --out docs/images

.venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lcbo needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/.installed: pyproject.toml constraints.txt | .venv
	$(INSTALL) -e .
	touch $@

.venv/.installed-dev: pyproject.toml constraints.txt | .venv
	$(INSTALL) -e '.[dev]'
	touch $@ .venv/.installed

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
