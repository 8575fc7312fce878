# Everything a person or CI does here. Only Python 3.11 or later and make are needed; the rest is set up on demand.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
PEER := .peer
BIN := $(VENV)/bin
PIP := PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install -qq --no-input
# Two processes, each with servers of its own; the tests of a file stay together.
SIDE_BY_SIDE := --numprocesses=2 --dist=loadfile
# More words for pytest or the bench, such as ARGS="-k windows".
ARGS ?=

.PHONY: help install demo test test-long check format bench peer servers clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18
	@echo
	@echo '  PYTHON=python3.12 chooses the Python, ARGS="-k windows" goes on to pytest or the bench.'

install: $(VENV)/.installed ## Install the command into .venv
	@echo 'Ready: $(BIN)/rivet --help'

demo: $(VENV)/.demo ## Export 240,000 rows from SQLite by day, validate them and read them with DuckDB
	@$(BIN)/python demo/demo.py

test: check servers ## Run the checks and every test, on servers of their own
	@$(BIN)/python -m pytest $(SIDE_BY_SIDE) $(ARGS)

test-long: check servers ## Run every test, those that take minutes too
	@$(BIN)/python -m pytest -m '' $(SIDE_BY_SIDE) $(ARGS)

check: $(VENV)/.ready ## Run ruff, mypy, the import law and, once a day, the audit of what Rivet needs
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo 'error: not formatted: make format' >&2; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python .ci/audit $(VENV)/.audited

format: $(VENV)/.ready ## Format the code and mend what ruff can mend
	@$(BIN)/ruff check --fix --quiet . || true
	@$(BIN)/ruff format .

bench: $(VENV)/.ready servers peer ## Measure Rivet beside its peers and the bare query, on this machine
	@$(BIN)/python -m benchmarks $(ARGS)
	@$(if $(ARGS),true,for name in sqlite partitions validation startup; do echo; $(BIN)/python -m benchmarks.$$name; done)

peer: $(VENV)/.made ## Install rivet-cli, a peer in the bench, into .peer: its command is called rivet, too
	@test -x $(PEER)/bin/rivet || { .ci/venv '$(PYTHON)' $(PEER) && \
	  PIP_DISABLE_PIP_VERSION_CHECK=1 $(PEER)/bin/python -m pip install -qq --no-input rivet-cli==0.32.2; } || \
	  { rm -rf $(PEER); echo 'rivet-cli is not to be had here: the bench does without' >&2; }

servers: $(VENV)/.ready
	@.ci/servers $(BIN)/python

clean: ## Remove .venv, .demo and every cache
	rm -rf $(VENV) $(PEER) .demo build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# A stamp for each degree of set-up: a second call does nothing, a change of pyproject.toml installs again.

$(VENV)/.made:
	@.ci/venv '$(PYTHON)' $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	@echo 'Installing Rivet into $(VENV), a minute or two …'
	@$(PIP) --editable .
	@touch $@

$(VENV)/.demo: $(VENV)/.made pyproject.toml
	@echo 'Installing Rivet and DuckDB into $(VENV), a minute or two …'
	@$(PIP) --editable '.[demo]'
	@touch $@

$(VENV)/.ready: $(VENV)/.made pyproject.toml
	@echo 'Installing Rivet and the tools of its tests into $(VENV), a minute or two …'
	@$(PIP) --editable '.[test,dev]'
	@touch $@
