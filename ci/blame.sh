#!/usr/bin/env bash
# Faults of the bench, the device, a file and this program, each put in at several moments of a run, and who is told as the
# culprit. Prints, for each kind of fault, how many were blamed rightly, each that was not with what was told, and how
# many that are not the device's were blamed on it.
#
#   ci/blame.sh [WHICH]   all of them unless told: a number tries every so many, a text those whose names hold it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

MCP_HIL_FAULTS=${1:-all} exec cargo test --quiet --locked --test blame every_fault -- --nocapture
