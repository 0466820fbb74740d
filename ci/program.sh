#!/usr/bin/env bash
# Finds the program `mcp-hil`, and builds it only where there is none: a bench is a small machine.
#
#   ci/program.sh                  prints its path: the one that MCP_HIL names, else the one on PATH, else one that
#                                  was built from these sources before, else a build
#   ci/program.sh --copy FOLDER    leaves one of these sources in FOLDER, for other machines
#   ci/program.sh --key            prints `key=` and `folder=` for a cache: what stands for these sources and this
#                                  system, and where a build of them is kept
set -euo pipefail
# Functions are called in `$(...)`, where a failure would go unnoticed.
shopt -s inherit_errexit
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# What the program is made of and for: the sources, the compiler, and the C library, which must not be newer
# where it was built than where it runs.
key() {
    {
        cd "$sources"
        find Cargo.toml Cargo.lock harness firmware scenarios -type f -not -path '*/target/*' -print0 |
            LC_ALL=C sort -z | xargs -0 sha256sum
        rustc --version 2>/dev/null || echo "no compiler"
        uname -sm
        getconf GNU_LIBC_VERSION 2>/dev/null || echo "another C library"
    } | sha256sum | cut -c 1-16
}

kept=${XDG_CACHE_HOME:-$HOME/.cache}/mcp-hil

# Prints the path of a program of these sources.
own() {
    local folder
    folder=$kept/$(key)
    if ! [ -x "$folder/mcp-hil" ]; then
        cargo build --release --locked --manifest-path "$sources/Cargo.toml" --package mcp-hil --bin mcp-hil >&2
        mkdir -p "$folder"
        # In its place at once: another job may look.
        cp "${CARGO_TARGET_DIR:-$sources/target}/release/mcp-hil" "$folder/mcp-hil.$$"
        mv "$folder/mcp-hil.$$" "$folder/mcp-hil"
        find "$kept" -mindepth 1 -maxdepth 1 -type d -mtime +30 -exec rm -rf {} +
    fi
    printf '%s\n' "$folder/mcp-hil"
}

case ${1:-} in
--key)
    word=$(key)
    printf 'key=%s\nfolder=%s\n' "$word" "$kept/$word"
    ;;
--copy)
    folder=${2:?into which folder?}
    program=$(own)
    mkdir -p "$folder"
    cp "$program" "$folder/mcp-hil"
    ;;
'')
    if [ -n "${MCP_HIL:-}" ]; then
        if ! [ -f "$MCP_HIL" ]; then
            echo "MCP_HIL names \`$MCP_HIL\`, which does not exist" >&2
            exit 3
        fi
        # What comes as an artefact has lost this.
        [ -x "$MCP_HIL" ] || chmod +x "$MCP_HIL"
        program=$(cd "$(dirname "$MCP_HIL")" && pwd)/$(basename "$MCP_HIL")
    elif program=$(command -v mcp-hil); then
        :
    else
        program=$(own)
    fi
    echo "using $program" >&2
    printf '%s\n' "$program"
    ;;
*)
    sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
