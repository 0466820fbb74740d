#!/usr/bin/env bash
# Runs one attached board, named by its device file; the last word on it is the exit code of `mcp-hil run`.
#
#   ci/hil.sh ci/duts/desk-c3.toml [arguments of `mcp-hil run`]
#   ci/hil.sh --list      the files of boards in this repository, as GitHub wants them for a matrix
#
# A baseline of the same name, ci/baselines/desk-c3.toml, is used where there is one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "${1:-}" = --list ]; then
    shopt -s nullglob
    list=""
    for file in ci/duts/*.toml; do
        ! grep -q '^target *= *"board"' "$file" || list+="\"$file\","
    done
    printf 'files=[%s]\n' "${list%,}"
    exit
fi

dut=${1:?which device file, such as ci/duts/desk-c3.toml?}
shift
baseline=ci/baselines/$(basename "$dut")
known=()
[ ! -e "$baseline" ] || known=(--baseline "$baseline")
exec cargo run --release -- run --dut "$dut" ${known[@]+"${known[@]}"} "$@"
