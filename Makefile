# Two commands for people: `make demo` and `make test`. Both create .venv when there is none.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Small batched algebra gains nothing from many threads, and two test workers would fight over the cores.
export OMP_NUM_THREADS ?= 1
# Tests start many processes: with the bytecode kept, not every one of them compiles the library anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test suite test-slow test-doors lint format docs pictures reproduce-quick reproduce reproducing reproduction-check clean

demo: .venv/.installed
	$(BIN)/python examples/demo.py --out lcbo-demo

# Lint and types run beside the suite, whose tests wait now and then; either failing fails `make test`.
test: .venv/.installed-dev
	$(MAKE) --no-print-directory -j 2 lint suite

suite: .venv/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal

# What `make test` leaves out for its time.
test-slow: .venv/.installed-dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m slow

# The tools of docs/howto/doors.md, beside the packages of .venv; their tests are skipped in `make test`.
# optimas brings mpi4py, which OpenMDAO would load even where there is no MPI.
DOORS := build/doors
TOOLS := optuna optunahub openmdao gest-api xopt libensemble optimas ax-platform ray submitit

test-doors: $(DOORS)/.installed
	OPENMDAO_USE_MPI=0 $(DOORS)/bin/python -m pytest -m "slow or not slow" tests/integrations tests/evaluation/test_formats.py

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The site, build/site/index.html: pages, reference, gallery, search and links checked; nothing of it needs a network.
# Examples that have not changed are not executed again; `make clean` forgets them.
SITE := build/docs-tools
SITE_TOOLS := sphinx furo myst-parser sphinx-gallery latex2mathml

docs: $(SITE)/.installed
	$(BIN)/python docs/draw_architecture.py
	$(SITE)/bin/python -m sphinx -q -W --keep-going -d build/doctrees docs build/site
	@echo "Open build/site/index.html"

# The pictures of the README: a real run, to be drawn anew when the default method changes.
pictures: .venv/.installed
	$(BIN)/python examples/demo.py --budget 1000 --out docs/images
	MPLBACKEND=agg $(BIN)/python examples/gallery/plot_01_walk.py docs/images/walk.gif

# The paper's experiments. Runs that are there are not run again; a run that fails does not keep the figures
# from being drawn, but is an error in the end. `reproducing` draws and writes from the results that are there.
EXPERIMENT := $(BIN)/python -m reproduction
SPECS := $(foreach name,main control batch components penalty,reproduction/$(name).toml)
QUICK := --quick --root build/quick

reproduce-quick: .venv/.installed-cma
	$(EXPERIMENT) run $(SPECS) $(QUICK); failed=$$?; \
	for study in theory mechanism2d; do $(EXPERIMENT) $$study $(QUICK) --images build/quick/figures \
		--out build/quick/theory-results.md || failed=1; done; \
	$(EXPERIMENT) figures $(SPECS) $(QUICK) --out build/quick/figures && \
	$(EXPERIMENT) page $(SPECS) $(QUICK) --images build/quick/figures --out build/quick/reproducing.md && \
	exit $$failed

reproduce: .venv/.installed-mujoco
	$(EXPERIMENT) run $(SPECS); failed=$$?; \
	for study in theory mechanism2d; do $(EXPERIMENT) $$study || failed=1; done; \
	$(MAKE) reproducing && exit $$failed

reproducing: .venv/.installed
	$(EXPERIMENT) figures $(SPECS) --out docs/images/reproduction
	$(EXPERIMENT) page $(SPECS) --images docs/images/reproduction --out docs/reproducing.md --readme README.md
	$(MAKE) reproduction-check

# The committed results and the page written from them; not part of `make test`.
reproduction-check: .venv/.installed
	$(EXPERIMENT) check $(SPECS) --readme README.md

.venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lcbo needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/.installed: pyproject.toml constraints.txt | .venv
	$(INSTALL) -e .
	touch $@

.venv/.installed-dev: pyproject.toml constraints.txt | .venv
	$(INSTALL) -e '.[dev]'
	touch $@ .venv/.installed

.venv/.installed-cma: pyproject.toml constraints.txt | .venv
	$(INSTALL) -e '.[cma]'
	touch $@ .venv/.installed

.venv/.installed-mujoco: pyproject.toml constraints.txt | .venv
	$(INSTALL) -e '.[cma,mujoco]'
	touch $@ .venv/.installed-cma .venv/.installed

# An environment beside the packages of .venv: what is there is not installed again.
BESIDE = $(BIN)/python -c 'import site; print(f"import site; site.addsitedir({site.getsitepackages()[0]!r})")' \
	> $$(echo $(1)/lib/python*/site-packages)/shared.pth

$(DOORS)/.installed: constraints-doors.txt .venv/.installed-dev
	$(BIN)/python -m venv $(DOORS)
	$(call BESIDE,$(DOORS))
	$(DOORS)/bin/python -m pip install --quiet --disable-pip-version-check \
		-c constraints.txt -c constraints-doors.txt $(TOOLS)
	touch $@

$(SITE)/.installed: constraints-docs.txt .venv/.installed
	$(BIN)/python -m venv $(SITE)
	$(call BESIDE,$(SITE))
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check \
		-c constraints.txt -c constraints-docs.txt $(SITE_TOOLS)
	touch $@

clean:
	rm -rf .venv $(DOORS) $(SITE) build/site build/doctrees docs/gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
