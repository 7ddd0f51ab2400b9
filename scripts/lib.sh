# shellcheck shell=sh
# Functions of the other scripts, which read this file with `.`.

# Hand uv the index that pip was told to use, since it does not read pip's settings.
find_index() {
    if [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then
        index=$(.venv/bin/python -m pip config list |
            sed -n "s/^[^=]*\.index-url='\(.*\)'$/\1/p" | tail -n 1)
        [ -z "$index" ] || export UV_INDEX_URL="$index"
    fi
}
