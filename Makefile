# `make demo` and `make test` do all the set-up on a fresh machine: a virtual environment in .venv,
# the pinned packages, and Java for Spark. PYTHON=path/to/python3 chooses the interpreter.

SHELL := /bin/sh
.DEFAULT_GOAL := help
# The targets share one .venv, and pytest's closing line must come last: never side by side.
.NOTPARALLEL:

PYTHON ?=
export PYTHON

BIN := .venv/bin
STAMP := .venv/.installed
# Finds Java (or installs it) and hands it to what follows. Spark would start its Python workers with the
# python3 on PATH, which lacks our packages: it is told to use ours. Each worker is a process that imports Muntin, and
# pip compiles no bytecode of sources that stay where they are: where Python may not write it either (a container
# that says PYTHONDONTWRITEBYTECODE), every worker compiled 167 modules, half a second, before its first row.
WITH_SPARK = $(BIN)/python -m compileall -q src && JAVA_HOME="$$(scripts/java)" && export JAVA_HOME PYSPARK_PYTHON="$(CURDIR)/$(BIN)/python"

.PHONY: help demo test lint pytest bench docs soak format clean

help:
	@echo "make demo     set up, then run the demonstration"
	@echo "make test     set up, then lint and run the tests"
	@echo "make lint     formatting, lint rules and types only"
	@echo "make format   put the code in the shape that lint wants"
	@echo "make bench    run the papers' figures and the benchmarks (BENCH=--quick: small sizes)"
	@echo "make docs     build the documentation as a site in build/site"
	@echo "make soak     run the tests for hours, with new random logs"
	@echo "make clean    remove what these commands made"

demo: $(STAMP)
	@$(WITH_SPARK) && $(BIN)/muntin demo

test: lint pytest

pytest: $(STAMP)
	@$(WITH_SPARK) && $(BIN)/python -m pytest -n 2

lint: $(STAMP)
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

format: $(STAMP)
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

# All figures, each in the size of the report, and a page of them; BENCH=--quick for small sizes, BENCH=--full for all of them large.
bench: $(STAMP)
	@$(WITH_SPARK) && $(BIN)/muntin bench --report bench/results.md $(BENCH)
	@$(WITH_SPARK) && $(BIN)/python -m muntin.bench
	@$(WITH_SPARK) && $(BIN)/python -m muntin.spark.bench && $(BIN)/python -m muntin.spark.transfer
	@$(WITH_SPARK) && $(BIN)/python -m muntin.spark.parity

# Strict: a warning fails. The notice of the theme's own future is not one of ours.
docs: $(STAMP)
	@test -x $(BIN)/mkdocs || $(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/site/index.html"

# Hours: the whole suite at the sizes of docs/reliability.md, with new random logs. MUNTIN_SOAK=0.1 does a tenth,
# MUNTIN_SEED repeats a run, SOAK=tests/reliability/test_fuzz.py does one part. Seeds and totals are printed at the end.
SOAK ?= tests
soak: $(STAMP)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[soak]' || \
		echo "pip-audit could not be installed: what is installed will not be audited"
	@$(WITH_SPARK) && MUNTIN_SOAK=$${MUNTIN_SOAK:-1} MUNTIN_SEED=$${MUNTIN_SEED:-$$(date +%s)} \
		$(BIN)/python -m pytest -rs $(SOAK)

# Installs again only when what to install has changed. An environment whose interpreter is gone is made anew.
$(STAMP): pyproject.toml constraints.txt
	@if ! $(BIN)/python -c '' 2>/dev/null; then \
		python="$$(scripts/python)" || exit 1; \
		echo "Making .venv with $$python"; \
		"$$python" -m venv --clear .venv || exit 1; \
	fi
	@echo "Installing the pinned packages into .venv (some minutes the first time: Spark is large)"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

clean:
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist spark-warehouse metastore_db derby.log
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
