#!/usr/bin/env bash
# All tests of the project; arguments go to `cargo test`. The last lines count them, and say what was not
# run and why: MCP_HIL_LEAVE_OUT names what may be missing on this machine (qemu, chromium, ...; `all`, as here,
# if it is not set).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${CARGO_TARGET_DIR:-target}
log=$target/tests.log
not_run=$target/tmp/not-run.txt
mkdir -p "$target"
rm -f "$not_run"
export MCP_HIL_LEAVE_OUT=${MCP_HIL_LEAVE_OUT-all}

# Many tests wait for a device rather than for the processor.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((3 * $(getconf _NPROCESSORS_ONLN)))}

status=0
cargo test --workspace --no-fail-fast "$@" 2>&1 | tee "$log" || status=$?

# Every test program writes `test result: ok. 12 passed; 0 failed; ...`.
sum() {
    awk -v word="$1" '
        /^test result:/ { for (i = 2; i <= NF; i++) if ($i ~ "^" word) n += $(i - 1) }
        END { print n + 0 }' "$log"
}
left_out=0
printf '\n'
grep -E '^test .* FAILED$' "$log" | sort -u || true
if [ -s "$not_run" ]; then
    sort -u "$not_run" | sed 's/^/not run: /'
    left_out=$(sort -u "$not_run" | wc -l)
fi
# A test that was left out returned early, which its program calls passed.
passed=$(($(sum passed) - left_out))
if [ "$passed" -le 0 ]; then
    echo "no test passed"
    [ "$status" -ne 0 ] || status=1
fi
echo "$passed passed, $(sum failed) failed, $left_out not run"
exit "$status"
