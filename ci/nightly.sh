#!/usr/bin/env bash
# Many generated inputs with a fresh seed, or with that in SEED: on QEMU's board, over both transports.
#
#   ci/nightly.sh                run; scenarios of what fails are left in regressions/
#   ci/nightly.sh --propose      open a pull request with the files that a run has left (needs `gh`)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [ "${1:-}" = --propose ]; then
    if [ -z "$(git status --porcelain -- regressions)" ]; then
        echo "nothing to propose: the run left no new file in regressions/"
        exit
    fi
    branch=regressions-$(date -u +%Y-%m-%d-%H%M)
    git switch --create "$branch"
    git add regressions
    git -c user.name=nightly -c user.email=nightly@localhost \
        commit --message "Inputs that failed in the nightly run"
    git push origin "$branch"
    gh pr create --title "Inputs that failed in the nightly run" --head "$branch" \
        --body "Each file is the smallest input of a failure and holds its seed. They fail until the cause is gone."
    exit
fi

mkdir -p regressions
seed=()
[ -z "${SEED:-}" ] || seed=(--seed "$SEED")
exec ci/emulated.sh --inputs 2000 --max-time 3600s --keep-failures ${seed[@]+"${seed[@]}"} "$@"
