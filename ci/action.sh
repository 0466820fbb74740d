#!/usr/bin/env bash
# What action.yml does: build the program from the sources beside this file, and run it on the device that the
# inputs name, in the folder of whoever calls. The inputs are variables, so that none of them is taken for code.
set -euo pipefail

sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cargo build --release --locked --manifest-path "$sources/Cargo.toml" --package mcp-hil --package reference-native
program=${CARGO_TARGET_DIR:-$sources/target}/release/mcp-hil

reports=$PWD/mcp-hil-reports
[ -z "${GITHUB_OUTPUT:-}" ] || printf 'reports=%s\n' "$reports" >> "$GITHUB_OUTPUT"

arguments=(--dut "${HIL_DUT:-auto}" --out "$reports" --junit "$reports/junit.xml")
[ -z "${HIL_FIRMWARE:-}" ] || arguments+=(--firmware "$HIL_FIRMWARE")
[ -z "${HIL_TRANSPORT:-}" ] || arguments+=(--transport "$HIL_TRANSPORT")
[ -z "${HIL_BASELINE:-}" ] || arguments+=(--baseline "$HIL_BASELINE")
read -r -a more <<< "${HIL_ARGUMENTS:-}"
mkdir -p "$reports"
exec "$program" run "${arguments[@]}" ${more[@]+"${more[@]}"}
