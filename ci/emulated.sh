#!/usr/bin/env bash
# Runs the reference device as an image on QEMU's RISC-V board, over both transports. Installs QEMU where
# it is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v qemu-system-riscv32 >/dev/null; then
    as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends qemu-system-misc
fi
ci/firmware.sh virt
exec cargo run --release -- run --dut qemu --transport both --strict "$@"
