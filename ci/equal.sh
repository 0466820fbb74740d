#!/usr/bin/env bash
# Equal runs, equal reports: the reference device, the same seed, again and again while the machine is busy; each run is
# compared with the first by `mcp-hil diff --normalised`. Ends with how many were equal.
#
#   ci/equal.sh [REPETITIONS] [OPTION]...   50 unless told; the options go to `mcp-hil run`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

repetitions=${1:-50}
cargo build --quiet --locked --bin mcp-hil
hil=${CARGO_TARGET_DIR:-target}/debug/mcp-hil
out=$(mktemp -d)
trap 'kill $(jobs -p); rm -rf "$out"' EXIT
# As much other work as there are processors.
for _ in $(seq "$(nproc)"); do
    while :; do :; done &
done

# Time would end what is generated sooner in one run than in the other.
run() {
    local exit=0
    "$hil" run --dut native --transport both --seed 7 --max-time 1h --no-confirm --out "$out/$1" "${@:2}" \
        >"$out/$1.log" 2>&1 || exit=$?
    # A device that does not conform does so again and again.
    if [ "$exit" -gt 1 ]; then
        cat "$out/$1.log" >&2
        exit "$exit"
    fi
}

run first "${@:2}"
equal=0
for repetition in $(seq "$repetitions"); do
    run again "${@:2}"
    if "$hil" diff --normalised "$out/first/latest" "$out/again/latest" >"$out/told"; then
        equal=$((equal + 1))
    else
        printf '%s: repetition %d\n' "$(basename "$0")" "$repetition"
        cat "$out/told"
    fi
    rm -rf "$out/again"
done
printf '%d of %d repetitions equal to the first run, with %d busy loops beside\n' "$equal" "$repetitions" "$(nproc)"
[ "$equal" = "$repetitions" ]
