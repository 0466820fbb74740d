#!/usr/bin/env bash
# A soak of the reference device, and what it shows of the harness itself: how much was recorded, whether its memory stays
# flat, whether rounds are deleted. Ends with the figures.
#
#   ci/soak.sh [TIME] [OPTION]...   1h unless told; the options go to `mcp-hil soak`
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

time=${1:-1h}
cargo build --quiet --locked --bin mcp-hil
hil=${CARGO_TARGET_DIR:-target}/debug/mcp-hil
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

exit=0
# Staying with the device for long would leave little time for traffic.
"$hil" soak --for "$time" --dut native --linger 2s --out "$out" "${@:2}" || exit=$?
python3 - "$out/latest" <<'PYTHON'
import json, pathlib, sys

folder = pathlib.Path(sys.argv[1])
rounds = json.loads((folder / "soak.json").read_text())["rounds"]
kept = [path for path in (folder / "runs").iterdir()]
memory = [one["harness_kib"] for one in rounds if one.get("harness_kib")]
late = memory[len(memory) // 4 :] or memory
print(f"{len(rounds)} rounds, {sum(one['cases'] for one in rounds)} cases, {sum(one['red'] for one in rounds)} of them red")
print(f"{sum(one['recorded'] for one in rounds) / 1e9:.2f} GB recorded, {len(kept)} rounds kept")
print(f"the harness used {memory[0] / 1024:.1f} MiB after the first round, at most {max(memory) / 1024:.1f} MiB;")
print(f"growth from a quarter of the time to its end: {(late[-1] - late[0]) / 1024:.1f} MiB")
PYTHON
exit "$exit"
