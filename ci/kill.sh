#!/usr/bin/env bash
# Kills runs at moments that a seed gives, and looks at what is left: processes, locks, reports, and what a replay makes of
# the run's folder. Prints how many there were of each.
#
#   ci/kill.sh [KILLS]   100 unless told: five minutes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

MCP_HIL_KILLS=${1:-100} exec cargo test --quiet --locked --test killed whenever_a_run_is_killed -- --nocapture
