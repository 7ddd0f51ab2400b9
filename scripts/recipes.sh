#!/bin/sh
# recipes.sh [--newest] [NAME]: run the recipes of clients/recipes, each framework in its own environment.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

requirements=clients/recipes/requirements
newest='' failed=''
if [ "${1:-}" = --newest ]; then newest=1; shift; fi
for input in "$requirements"/*.in; do
    name=$(basename "$input" .in)
    if [ $# -gt 0 ] && [ "$1" != "$name" ]; then continue; fi
    lock=$requirements/$name.lock
    if [ -n "$newest" ]; then
        find_index
        lock=.venv/recipes/$name.newest.lock
        mkdir -p .venv/recipes
        .venv/bin/uv pip compile --quiet --upgrade --no-header --output-file "$lock" "$input"
    fi
    # The others run all the same.
    sh scripts/prepare_apart.sh "recipes/$name" "$lock" || { rm -rf ".venv/recipes/$name"; failed="$failed $name"; }
done
PYTHONPATH=clients/python/src .venv/bin/python -m tests.recipes "$@"
if [ -n "$failed" ]; then
    echo "recipes.sh: not installed, and so not run:$failed" >&2
    exit 1
fi
