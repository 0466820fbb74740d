#!/usr/bin/env bash
# What action.yml does: run the program on the device that the inputs name, in the folder of whoever calls. The
# inputs are variables, so that none of them is taken for code. The program is found, or built, by program.sh.
set -euo pipefail

# The step that keeps the reports needs to know where they would be, whatever fails from here on.
reports=$PWD/mcp-hil-reports
mkdir -p "$reports"
[ -z "${GITHUB_OUTPUT:-}" ] || printf 'reports=%s\n' "$reports" >> "$GITHUB_OUTPUT"

[ -z "${HIL_PROGRAM:-}" ] || export MCP_HIL=$HIL_PROGRAM
program=$("$(dirname "${BASH_SOURCE[0]}")/program.sh")

arguments=(--dut "${HIL_DUT:-auto}" --out "$reports" --junit "$reports/junit.xml")
[ -z "${HIL_WAIT:-}" ] || arguments+=(--wait-for-board "$HIL_WAIT")
[ -z "${HIL_FIRMWARE:-}" ] || arguments+=(--firmware "$HIL_FIRMWARE")
[ -z "${HIL_TRANSPORT:-}" ] || arguments+=(--transport "$HIL_TRANSPORT")
[ -z "${HIL_BASELINE:-}" ] || arguments+=(--baseline "$HIL_BASELINE")
read -r -a more <<< "${HIL_ARGUMENTS:-}"
exec "$program" run "${arguments[@]}" ${more[@]+"${more[@]}"}
