#!/usr/bin/env bash
# Mutants of our own checks: `cargo-mutants` changes the code that judges, one place at a time, and the
# tests of `mcp-hil-judge` must notice. What they let live is in `target/mutants.out/missed.txt`; the
# reasons for those that are known are in ci/README.md.
#
#   ci/mutants-of-checks.sh                   all of harness/judge/src/check: an hour or more
#   ci/mutants-of-checks.sh --shard 1/8       an eighth of it (from 0/8 to 7/8)
#   ci/mutants-of-checks.sh -f '**/ledger.rs' one file
#
# Further arguments go to `cargo mutants` as well. Installs it into `target/tools` where it is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=27.1.0
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
mkdir -p "$target"

if ! cargo mutants --version >/dev/null 2>&1; then
    PATH=$target/tools/bin:$PATH
    cargo mutants --version >/dev/null 2>&1 ||
        cargo install --locked --root "$target/tools" --version "$version" cargo-mutants
fi

files=(--file 'harness/judge/src/check/**')
for argument in "$@"; do
    case $argument in -f | --file | --file=*) files=() ;; esac
done

# Each job builds in a copy of the source, with a target of its own. What gateways do says nothing about the
# checks. A mutant that loops for ever is noticed by its time.
unset CARGO_TARGET_DIR
cargo mutants --package mcp-hil-judge --test-package mcp-hil-judge --output "$target" \
    --minimum-test-timeout 60 "${files[@]}" "$@" \
    -- --lib --tests -- --skip gateway::
