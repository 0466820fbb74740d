#!/usr/bin/env bash
# All that must hold before a change is taken in. Needs Rust, a C compiler, and no hardware.
# A step that fails stops nothing, so that one call shows all that is wrong. The tests come last; then what failed is
# shown once more, and the last line is the tests' sum.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${CARGO_TARGET_DIR:-target}
export MCP_HIL_LEAVE_OUT=${MCP_HIL_LEAVE_OUT-all}
mkdir -p "$target"

status=0
failed_steps=""

step() {
    printf '\n== %s\n' "$*"
    local began=$SECONDS
    "$@" 2>&1 | tee "$target/step.log" || failed "$?" "$*" "$target/step.log"
    echo "   took $((SECONDS - began)) s"
}

# The command must fail, and tell a case that failed: what it tries has a defect.
finds() {
    if "$@" >"$target/finds.log" 2>&1 || ! grep -q 'FAIL \[' "$target/finds.log"; then
        cat "$target/finds.log"
        echo "expected a failed case: $*"
        return 1
    fi
}

workflows() {
    ci/workflows.sh 2>&1 | tee "$target/workflows.log"
}

wheel() {
    ci/wheel.sh --try 2>&1 | tee "$target/wheel.log"
}

# The exit code of a step, its command, and what it printed.
failed() {
    [ "$status" -ne 0 ] || status=$1
    failed_steps+="failed: $2"$'\n'"$(tail -n 30 "$3" | cut -c 1-400)"$'\n'
}

step cargo fmt --all --check
step cargo fmt --manifest-path firmware/virt/Cargo.toml --check
step cargo fmt --manifest-path firmware/esp/Cargo.toml --check
step cargo clippy --workspace --all-targets -- -D warnings
step env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
step workflows
# One image for each target. The nightly workflow builds the others, which differ in features.
step ci/firmware.sh virt esp32c3
step ci/package.sh
# The program as the tests have it: another build would take as long as they do.
step cargo test --workspace --no-run --quiet
step wheel
step "$target/debug/mcp-hil" run --dut native --transport both --junit "$target/mcp-hil/junit.xml"
# Mutants are tried by the tests; here, that nothing harmless is accused.
# Some inputs of each property for each variation. The nightly workflow tries all.
step "$target/debug/mcp-hil" self-test --quick --harmless --inputs 8
hil=(cargo hil)
step env MCP_HIL_DUT=native "${hil[@]}" ::list::
step finds env MCP_HIL_DUT=native MCP_HIL_RUN_ARGS="--mutant id-int32-saturated" \
    "${hil[@]}" native::websocket::ids::

printf '\n== ci/test.sh\n'
ci/test.sh 2>&1 | tee "$target/check.log" || failed "$?" "ci/test.sh" "$target/check.log"

# What was left out, and the sum of the tests, once more: nothing comes after them.
printf '\n%s' "$failed_steps"
grep -h '^not run: ' "$target/workflows.log" "$target/wheel.log" "$target/check.log" | sort -u || true
tail -n 1 "$target/check.log"
exit "$status"
