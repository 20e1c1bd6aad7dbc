# `make demo` and `make test` set up everything they need in .venv, once.
PYTHON ?= python3
BIN := .venv/bin
# The demo needs little; development needs all of it.
SOLVES := .venv/.solves
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help demo test lint format docs figures clean

help:
	@echo "make demo    solve a bundled instance"
	@echo "make test    lint, type check, all tests, coverage floor"
	@echo "make lint    lint and type check only"
	@echo "make format  format and fix what can be fixed"
	@echo "make docs    build the documentation site in site/"
	@echo "make figures write the tables of README and docs from their records"
	@echo "make clean   remove .venv, caches and build products"

$(SOLVES): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[plots]'
	@touch $@

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@touch $(SOLVES) $@

demo: $(SOLVES)
	$(BIN)/spacevrp demo

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Two workers with one thread each: more threads would only wait for each other.
test: export OMP_NUM_THREADS = 1
test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Needs nothing but Python.
figures:
	$(PYTHON) docs/figures.py

clean:
	rm -rf .venv build dist site src/*.egg-info .coverage .coverage.* htmlcov \
		.pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -type d -name __pycache__ -prune -exec rm -rf {} +
