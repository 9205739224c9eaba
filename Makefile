# Two commands for a newcomer: `make demo` and `make test`. Everything is installed into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
FOLDER ?=
DATA ?=

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all check serve bench eval gate docs clean

help: ## Say what there is.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit("Engrain needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	@$(BIN)/python -m compileall -q tools stores rest_bridge auth cli evals
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

install: $(VENV)/.dev ## Install everything, development tools included.

demo: $(VENV)/.run ## Start a server, feed it real text, ask it questions. FOLDER=… adds a folder of yours.
	@$(BIN)/engrain demo $(if $(FOLDER),--folder "$(FOLDER)")

# Tests wait for threads and processes half of the time: one worker more than there are cores.
TESTS := $(BIN)/python -m pytest -n $$(( $$(nproc 2>/dev/null || sysctl -n hw.ncpu) + 1 )) --maxprocesses 5 --dist loadfile --no-loadscope-reorder

test: $(VENV)/.dev ## Run the tests without the slow ones.
	$(TESTS) -m "not slow"

test-all: $(VENV)/.dev ## Run all tests, as CI does: also the wheel, the demo, servers that are killed, real corpora.
	$(TESTS)

check: $(VENV)/.dev ## Lint, types, architecture, documentation drift, budgets.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/engrain reference --check docs/reference
	$(BIN)/python scripts/house.py

serve: $(VENV)/.run ## Serve on loopback from the default data folder.
	$(BIN)/engrain serve

bench: $(VENV)/.run ## Measure speed; prints a table.
	$(BIN)/engrain bench

$(VENV)/.eval: $(VENV)/.run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[eval]'
	@touch $@

eval: $(VENV)/.eval ## Measure retrieval on labelled data; fail below a floor or above the limit of time. DATA=… names the folder.
	$(BIN)/engrain eval --strict $(if $(DATA),--data "$(DATA)")

gate: $(VENV)/.eval ## Measure retrieval on two sets in this repository; fail where it fell beyond noise.
	$(BIN)/engrain eval --set evals/sets/workshop.jsonl,evals/sets/assistant.jsonl --name gate
	$(BIN)/engrain eval gate evals/sets/baseline.jsonl

docs: $(VENV)/.dev ## Write the generated reference anew.
	$(BIN)/engrain reference --write docs/reference

clean: ## Remove what was installed and built.
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .schemathesis .import_linter_cache
