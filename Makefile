# Every command of this project, on a laptop and in CI. Needs Python >= 3.11 with venv, and make.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

BIN := .venv/bin

# Modules are compiled once, not at every start, whatever the caller's shell says.
unexport PYTHONDONTWRITEBYTECODE

prepare := sh scripts/prepare.sh
peers := benchmarks/peers/requirements
browser := tests/browser/requirements
node := tests/clients/requirements
recipes := clients/recipes/requirements
release := scripts/release/requirements

compiled = $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header
compile = $(compiled) pyproject.toml --group build $(ARGS)

# What `make generated` rewrites, in the order in which one is made from the other.
generated := schema openapi client reference figures

# What `make run` installs; once `make vendors` has run, more.
run_lock = $(if $(wildcard .venv/lib/python*/site-packages/anthropic),,requirements-run.lock)

# What asks Hypothesis how many cases it should try.
random_tests := $(addprefix tests/properties/,test_contexts.py test_ledger_machine.py \
    test_schemathesis.py test_tool_arguments.py) tests/api/contexts/test_context_random.py

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Set up what is missing, then serve on 127.0.0.1:8000 (options: ARGS="--port 9000")
	@$(prepare) requirements-dev.lock requirements.lock $(run_lock)
	@exec $(BIN)/memory-bank serve $(ARGS)

.PHONY: vendors
vendors: ## Install what `make run` needs, and the packages for models of Anthropic and Google
	@$(prepare) requirements-dev.lock requirements.lock

.PHONY: setup
setup: ## Install everything that development and tests need into .venv
	@$(prepare) requirements-dev.lock

.PHONY: test
test: lint ## Set up what is missing, then run every check and test but those in a browser
ifdef ARGS
	$(BIN)/pytest $(ARGS)
else
	@sh scripts/test.sh
endif

.PHONY: measure
measure: setup ## Print the sizes and shapes of the code beside their budget
	@$(BIN)/python -m scripts.measure_house

.PHONY: test-citus
test-citus: setup ## Run what needs a Citus cluster, which MEMORY_BANK_TEST_CITUS_URL names, and the API's tests on it
	$(BIN)/pytest --on-citus tests/citus tests/api tests/worker tests/access tests/conformance $(ARGS)

.PHONY: test-nightly
test-nightly: setup ## Run random tests with ten times as many cases, all attackers, an hour's soak
	$(BIN)/pytest $(random_tests) tests/access tests/faults/test_crash.py tests/faults/test_erasure_killed.py --hypothesis-profile=nightly $(ARGS)
	@$(MAKE) soak SOAK_SECONDS=3600

.PHONY: soak
soak: setup ## Two minutes of traffic amid faults: a table of figures (SEED=7 SOAK_SECONDS=600)
	SEED=$(SEED) SOAK_SECONDS=$(or $(SOAK_SECONDS),120) $(BIN)/pytest tests/soak -s $(ARGS)

.PHONY: browser
browser: setup ## Use the console in a browser: flows, axe-core, the policy (needs chromium)
	@sh scripts/browser.sh $(ARGS)

.PHONY: test-recipes
test-recipes: setup ## Run the recipes of clients/recipes, their frameworks apart (one: ARGS=NAME; newest: ARGS=--newest)
	@sh scripts/recipes.sh $(ARGS)

.PHONY: test-node
test-node: setup ## Run the tests that need Node: MCP Inspector, the TypeScript clients
	@sh scripts/node.sh $(ARGS)

.PHONY: test-weekly
test-weekly: ## Run what other projects' releases can break: recipes, the wheel with the newest packages, Node
	@failed=0; \
	$(MAKE) test-recipes ARGS=--newest || failed=1; \
	$(MAKE) test-wheel || failed=1; \
	$(MAKE) test-node || failed=1; \
	exit $$failed

.PHONY: screenshots
screenshots: setup ## Draw docs/images anew: the console with the conversations of the demonstration
	@sh scripts/browser.sh tests/browser/screenshots.py

.PHONY: coverage
coverage: setup ## Run all tests and measure which lines and branches they reach
	@rm -f .coverage
	@sh scripts/test.sh --cov --cov-append --cov-report= --cov-fail-under=0 $(ARGS)
	@$(BIN)/coverage report --skip-covered

.PHONY: check
check: lint ## The loop: lint, unit tests and the rules of the architecture
	$(BIN)/pytest -n auto --dist loadfile -m "not alone" tests/unit tests/architecture $(ARGS)

.PHONY: lint
lint: setup ## Check format, lint rules, types and import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/shellcheck --external-sources scripts/*.sh

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
	$(BIN)/python -m scripts.new_migration "$$m"
	$(BIN)/ruff format migrations/versions

.PHONY: schema
schema: setup ## Rewrite migrations/schema.json, by which databases are checked, from the migrations
	$(BIN)/python -m scripts.make_schema

.PHONY: bench-answers
bench-answers: setup ## LongMemEval or LoCoMo with your model: ARGS="locomo FILE --prompts FOLDER --out FOLDER"
	$(BIN)/python -m benchmarks.answers $(ARGS)

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

.PHONY: client
client: setup ## Rewrite the generated files of clients/python and clients/typescript from openapi/openapi.json
	$(BIN)/python -m scripts.make_client

.PHONY: figures
figures: setup ## Write the tables of benchmarks/figures.toml into README and documentation
	$(BIN)/python -m scripts.make_figures

.PHONY: reference
reference: setup ## Rewrite the pages of docs/reference from the code
	$(BIN)/python -m scripts.make_reference

.PHONY: generated
generated: ## Rewrite everything that is made from the code, and held current by tests
	@for target in $(generated); do $(MAKE) $$target || exit 1; done

.PHONY: docs
docs: setup ## Build the documentation into site/
	$(BIN)/zensical build --strict --clean

.PHONY: lock
lock: setup ## Rewrite the lock files from pyproject.toml (newer versions: ARGS=--upgrade)
	@# The tests' packages first: some of them do not take the newest of what the service uses.
	$(compile) --group dev --all-extras --output-file requirements-dev.lock
	$(compile) --extra anthropic --extra google --constraint requirements-dev.lock --output-file requirements.lock
	$(compile) --constraint requirements.lock --output-file requirements-run.lock
	$(compiled) $(peers).in --python-version 3.11 --output-file $(peers).lock $(ARGS)
	$(compiled) $(browser).in --python-version 3.11 --output-file $(browser).lock $(ARGS)
	$(compiled) $(node).in --python-version 3.11 --output-file $(node).lock $(ARGS)
	$(compiled) $(release).in --python-version 3.11 --output-file $(release).lock $(ARGS)
	for input in $(recipes)/*.in; do \
	    $(compiled) $$input --python-version 3.11 --output-file $${input%.in}.lock $(ARGS) || exit 1; \
	done

.PHONY: dist
dist: setup ## Build wheel, source distribution and bill of materials into dist/, and the images (to publish: ARGS=--release)
	@sh scripts/prepare_apart.sh dist $(release).lock
	@$(BIN)/python -m scripts.make_dist $(ARGS)

.PHONY: test-wheel
test-wheel: dist ## Install the wheel of dist/ by plain pip, with the newest packages, and write a first memory
	@$(BIN)/python -m tests.packaging.try_wheel dist/open_memory_bank-*.whl

.PHONY: sbom
sbom: setup ## Rewrite sbom.cdx.json from the lock, LICENSES.md from what its packages declare
	$(BIN)/python -m scripts.make_sbom

.PHONY: bench-contexts
bench-contexts: setup ## Contexts by the length of the session, and what summaries take
	$(BIN)/python -m benchmarks.contexts $(ARGS)

.PHONY: bench-memory
bench-memory: setup ## Memory of processes that serve, and of what they have loaded
	$(BIN)/python -m benchmarks.memory $(ARGS)

.PHONY: bench-peers
bench-peers: setup ## Compare with mem0 and LangGraph, about 20 minutes (shorter: ARGS=--quick)
	@sh scripts/prepare_apart.sh peers $(peers).lock
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
	rm -rf .schemathesis .coverage *.egg-info .cache site
	find app benchmarks migrations tests -name __pycache__ -type d -prune -exec rm -rf {} +
