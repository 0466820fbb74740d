#!/usr/bin/env bash
# Packs every crate that can be published, and looks whether what they embed from elsewhere in the tree is in them.
#
#   ci/package.sh             packs; compiles nothing
#   ci/package.sh --verify    also builds each crate from its package, as a registry's user would; takes as long as a build
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

verify=(--no-verify)
[ "${1:-}" != --verify ] || verify=()
# A check also runs on what is not committed yet.
cargo package --workspace --locked --allow-dirty --quiet ${verify[@]+"${verify[@]}"} \
    --exclude mcp-hil-snapshots --exclude reference-net --exclude reference-nvs

packages=${CARGO_TARGET_DIR:-target}/package
has() {
    # A link would be of no use to who has the package alone.
    local files
    files=$(tar tzvf "$packages/$1-"[0-9]*.crate)
    grep -q "^-.* [^ ]*/$2\$" <<<"$files" && return
    printf 'the package of `%s` lacks the file `%s`\n' "$1" "$2" >&2
    exit 1
}
has mcp-hil-core requirements/ids.toml
has mcp-hil-scenarios requirements/ids.toml
has mcp-hil-host-kit CMakeLists.txt
has mcp-hil src/init/stock.toml
has mcp-hil schema/scenario.schema.json
printf '%s packages\n' "$(find "$packages" -maxdepth 1 -name '*.crate' | wc -l)"
