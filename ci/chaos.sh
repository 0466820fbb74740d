#!/usr/bin/env bash
# Peers that misbehave by a seed, over raw sockets: each run must end in time with a verdict and readable reports, without
# a panic, and within its memory. Prints, for each transport, how the runs ended, and the longest and the largest of them.
#
#   ci/chaos.sh [SEEDS]   500 seeds over each transport unless told: half an hour
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

MCP_HIL_CHAOS=${1:-500} exec cargo test --quiet --locked --test chaos whatever_a_peer_does -- --nocapture
