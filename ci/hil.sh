#!/usr/bin/env bash
# Runs one attached board, named by its device file; the last word on it is the exit code of `mcp-hil run`.
#
#   ci/hil.sh ci/duts/desk-c3.toml [arguments of `mcp-hil run`]
#   ci/hil.sh --list      the files of boards in this repository, as GitHub wants them for a matrix
#
# The program is the one that MCP_HIL names, or one on PATH; without either it is built. A board that somebody
# else uses is waited for, half an hour or as long as HIL_WAIT says. A baseline of the file's name,
# ci/baselines/desk-c3.toml, is used where there is one.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "${1:-}" = --list ]; then
    program=$(ci/program.sh)
    duts=$("$program" duts --format json)
    case $duts in
    *'"broken_files":[]'*) printf 'duts=%s\n' "$duts" ;;
    *)
        # For people; a board must not be left out because its file has a mistake.
        "$program" duts >&2
        echo "a device file cannot be read, see above" >&2
        exit 2
        ;;
    esac
    exit
fi

dut=${1:?which device file, such as ci/duts/desk-c3.toml?}
shift
baseline=ci/baselines/$(basename "$dut")
known=()
[ ! -e "$baseline" ] || known=(--baseline "$baseline")
program=$(ci/program.sh)
exec "$program" run --dut "$dut" --wait-for-board "${HIL_WAIT:-30m}" ${known[@]+"${known[@]}"} "$@"
