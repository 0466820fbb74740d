#!/usr/bin/env bash
# Damaged input for every reader of what devices and strangers write: none may panic or take long. Prints how many inputs
# each reader got, and how long the slowest took. What fails is kept in `harness/tests/fuzz/`, to be tried first from then on.
#
#   ci/fuzz.sh [MINUTES]   60 unless told
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

MCP_HIL_FUZZ=$((${1:-60} * 60)) exec cargo test --quiet --locked --test fuzz -- --nocapture --test-threads 1
