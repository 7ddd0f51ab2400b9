# Every command of this project, on a laptop and in CI. Needs Python >= 3.11 with venv, and make.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin

# Modules are compiled once, not at every start, whatever the caller's shell says.
unexport PYTHONDONTWRITEBYTECODE

define FIND_INDEX
# uv does not read pip's settings: hand it the index that pip was told to use.
if [ -z "$${UV_DEFAULT_INDEX:-}$${UV_INDEX_URL:-}" ]; then
    index=$$(.venv/bin/python -m pip config list |
        sed -n "s/^[^=]*\.index-url='\(.*\)'$$/\1/p" | tail -n 1)
    [ -z "$$index" ] || export UV_INDEX_URL="$$index"
fi
endef

# prepare LOCK...: make .venv agree with the last lock, unless it agrees with one of them already.
define PREPARE
installed=.venv/installed.txt

state() { pwd; cat pyproject.toml "$$1"; }

suits() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The commands in .venv name their folder, so those of a moved checkout do not run.
is_here() { [ ! -f "$$installed" ] || [ "$$(head -n 1 "$$installed")" = "$$(pwd)" ]; }

fail() { echo "$$*" >&2; exit 1; }

find_python() {
    old=
    for candidate in $${PYTHON:-python3.14 python3.13 python3.12 python3.11 python3 python}; do
        suits "$$candidate" || continue
        "$$candidate" -c 'import ensurepip, venv' 2>/dev/null && return
        old=$$candidate
    done
    [ -z "$$old" ] || fail "$$old lacks its venv module: install it" \
        "(on Debian and Ubuntu: apt install python3-venv), then try again."
    fail "There is no Python 3.11 or newer here (looked for $${PYTHON:-python3 on the PATH}):" \
        "install one, or name it: make PYTHON=/path/to/python3 ..."
}

for lock in "$$@"; do
    if [ -x .venv/bin/memory-bank ] && [ -x .venv/bin/python ] &&
        state "$$lock" | cmp -s - "$$installed"; then exit 0; fi
done

echo "Setting up .venv from $$lock ..." >&2
if ! suits .venv/bin/python || ! is_here || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    find_python
    rm -rf .venv
    "$$candidate" -m venv .venv
fi
rm -f "$$installed"

if ! [ -x .venv/bin/uv ]; then
    sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
        --requirement .venv/uv.txt
fi

$(FIND_INDEX)

python=.venv/bin/python
.venv/bin/uv pip sync --quiet --python "$$python" "$$lock"
.venv/bin/uv pip install --quiet --python "$$python" --no-deps --no-build-isolation --editable .
state "$$lock" > "$$installed"
endef
export PREPARE
prepare = sh -euc "$$PREPARE" prepare

# What benchmarks/peers compares with is installed apart, so that nothing of it can come in here.
peers=benchmarks/peers/requirements
define PREPARE_PEERS
$(FIND_INDEX)
[ -x .venv/peers/bin/python ] || .venv/bin/uv venv --quiet --python .venv/bin/python .venv/peers
.venv/bin/uv pip sync --quiet --python .venv/peers/bin/python $(peers).lock
endef
export PREPARE_PEERS

# Writes the difference between the tables and a database that has every migration so far.
define NEW_MIGRATION
import os, tempfile
from pathlib import Path
from app.db import migrate
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings

with tempfile.TemporaryDirectory() as folder:
    Path(folder).chmod(0o755)
    with EmbeddedPostgres(Settings(data_dir=Path(folder))) as postgres:
        migrate.upgrade(postgres.url)
        migrate.make_revision(postgres.url, os.environ["m"])
endef
export NEW_MIGRATION

compiled = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header
compile = $(compiled) pyproject.toml --group build $(ARGS)

# The tests run in two halves at a time, each with its own Postgres: the API, and the rest. Both end
# with the judges of the statements that they have sent.
judges := tests/architecture/test_statements.py tests/architecture/test_conditions.py
api_tests := tests/access tests/api tests/architecture
not_tests := tests/__pycache__ tests/data tests/support
other_tests := $(filter-out $(api_tests) $(not_tests),$(patsubst %/,%,$(wildcard tests/*/))) $(judges)
define IN_HALVES
said=$$(mktemp)
$(BIN)/pytest -p no:cacheprovider $(other_tests) >"$$said" 2>&1 &
others=$$!
trap 'kill $$others; rm -f "$$said"; exit 1' INT TERM
failed=0
$(BIN)/pytest $(api_tests) || failed=1
wait $$others || failed=1
cat "$$said"
rm -f "$$said"
exit $$failed
endef
export IN_HALVES
in_halves = sh -c "$$IN_HALVES"

# What asks Hypothesis how many cases it should try.
random_tests := $(addprefix tests/properties/,test_contexts.py test_ledger_machine.py \
    test_schemathesis.py) tests/api/contexts/test_context_random.py

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Set up what is missing, then serve on 127.0.0.1:8000 (options: ARGS="--port 9000")
	@$(prepare) requirements-dev.lock requirements.lock
	@exec $(BIN)/memory-bank serve $(ARGS)

.PHONY: setup
setup: ## Install everything that development and tests need into .venv
	@$(prepare) requirements-dev.lock

.PHONY: test
test: lint ## Set up what is missing, then run every check and test (what CI runs)
ifdef ARGS
	$(BIN)/pytest $(ARGS)
else
	@$(in_halves)
endif

.PHONY: test-nightly
test-nightly: setup ## Run what tries random cases with ten times as many as `make test` does
	$(BIN)/pytest $(random_tests) --hypothesis-profile=nightly $(ARGS)

.PHONY: check
check: lint ## The loop: lint, unit and property tests
	$(BIN)/pytest tests/unit tests/properties $(ARGS)

.PHONY: lint
lint: setup ## Check format, lint rules, types and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: setup ## Format the code and mend what the linter can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: unit
unit: setup ## Run the unit tests
	$(BIN)/pytest tests/unit $(ARGS)

.PHONY: conformance
conformance: setup ## Run the official client's suite against a live server
	$(BIN)/pytest tests/conformance $(ARGS)

.PHONY: migration
migration: setup ## Write a new migration from the changed tables: m="add x"
	@[ -n "$$m" ] || { echo 'Say what it does: make migration m="add x"' >&2; exit 1; }
	$(BIN)/python -c "$$NEW_MIGRATION"
	$(BIN)/ruff format migrations/versions

.PHONY: bench-api
bench-api: setup ## Get, create, retrieve and search beside a bare and a trivial route
	$(BIN)/python -m benchmarks.api $(ARGS)

.PHONY: bench-bulk
bench-bulk: setup ## Measure memories a second, created many at a time
	$(BIN)/python -m benchmarks.bulk $(ARGS)

.PHONY: bench-artifacts
bench-artifacts: setup ## Uploads and downloads of artifacts with memory; queries of task memory, by size
	$(BIN)/python -m benchmarks.artifacts $(ARGS)

.PHONY: openapi
openapi: setup ## Rewrite openapi/openapi.json from the code
	$(BIN)/memory-bank openapi > openapi/openapi.json.new
	mv openapi/openapi.json.new openapi/openapi.json

.PHONY: lock
lock: setup ## Rewrite the lock files from pyproject.toml (newer versions: ARGS=--upgrade)
	@# The tests' packages first: some of them do not take the newest of what the service uses.
	$(compile) --group dev --extra tokens --output-file requirements-dev.lock
	$(compile) --constraint requirements-dev.lock --output-file requirements.lock
	$(compiled) $(peers).in --python-version 3.11 --output-file $(peers).lock $(ARGS)

.PHONY: bench-contexts
bench-contexts: setup ## Contexts by the length of the session, and what summaries take
	$(BIN)/python -m benchmarks.contexts $(ARGS)

.PHONY: bench-memory
bench-memory: setup ## Memory of a process by what it has loaded so far
	$(BIN)/python -m benchmarks.memory $(ARGS)

.PHONY: bench-peers
bench-peers: setup ## Compare with mem0 and LangGraph, about ten minutes (shorter: ARGS=--quick)
	@sh -euc "$$PREPARE_PEERS"
	$(BIN)/python -m benchmarks.peers $(ARGS)

.PHONY: bench-recall
bench-recall: setup ## How good retrieval is: ARGS="LOCOMO_FILE --tools FOLDER" BEAM=FOLDER (see benchmarks/recall)
	$(BIN)/python -m benchmarks.recall $(ARGS) $(if $(BEAM),--beam "$(BEAM)")

.PHONY: bench-scale
bench-scale: setup ## Latency by the size of the bank, about 15 minutes (shorter: ARGS=--quick)
	$(BIN)/python -m benchmarks.scale $(ARGS)

.PHONY: clean
clean: ## Remove .venv, caches and builds; the data folder stays
	rm -rf .venv dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf .schemathesis .coverage *.egg-info
	find app benchmarks migrations tests -name __pycache__ -type d -prune -exec rm -rf {} +
