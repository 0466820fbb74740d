#!/usr/bin/env bash
# ci/firmware.sh [virt | esp32c3 | esp32c6 | esp32c3-qemu]...
# Builds the images of the reference device, all of them or those named, and prints where they are, one
# path a line. `virt` is for stock QEMU, `esp32c3-qemu` for Espressif's, the others are for chips. Those for
# Xtensa chips (esp32, esp32s2, esp32s3) need Espressif's compiler and have never been compiled.
# The compiler for their targets comes from rustup; where rustup cannot fetch it, from Debian's
# packages, which are installed if that is possible without a question. Nothing is built twice.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=$PWD
build=${CARGO_TARGET_DIR:-$root/target}/firmware
mkdir -p "$build"
build=$(cd "$build" && pwd)
[ $# -gt 0 ] || set -- virt esp32c3 esp32c6 esp32c3-qemu

has_target() {
    local folder
    folder=$(rustc --print target-libdir --target "$1" 2>/dev/null) && compgen -G "$folder/libcore-*.rlib" >/dev/null
}

debian_packages() {
    dpkg -s rustc-web cargo-web rust-web-src >/dev/null 2>&1 && return
    command -v apt-get >/dev/null || return 1
    local as_root=()
    [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
    "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -qq --no-install-recommends rustc-web cargo-web rust-web-src
}

# Sees to it that `cargo build --target $1` works. MCP_HIL_FIRMWARE_TOOLCHAIN=debian leaves rustup out.
toolchain() {
    local sysroot=$build/sysroot-$1
    if [ "${MCP_HIL_FIRMWARE_TOOLCHAIN:-}" != debian ]; then
        has_target "$1" && return
        if [ ! -x "$sysroot/bin/rustc" ] && command -v rustup >/dev/null; then
            timeout 300 rustup target add "$1" >&2 && has_target "$1" && return
        fi
    fi
    if [ ! -x "$sysroot/bin/rustc" ]; then
        if ! debian_packages >&2 || ! ci/riscv-sysroot.sh "$sysroot" "$1" >&2; then
            printf 'no Rust for `%s`: expected it from rustup or from the Debian packages rustc-web, cargo-web and rust-web-src\n\nhint: `rustup target add %s`\n' "$1" "$1" >&2
            exit 1
        fi
    fi
    # What rustup's own cargo tells its children must not lead back to its compiler.
    unset RUSTUP_TOOLCHAIN RUSTC RUSTDOC LD_LIBRARY_PATH
    export PATH=$sysroot/bin:$PATH RUSTC=$sysroot/bin/rustc CARGO=$sysroot/bin/cargo
}

for image in "$@"; do
    # Images of one target with other features have their own folder: their files have the same name.
    folder=$build
    case $image in
    virt) source=virt target=riscv32imac-unknown-none-elf program=mcp-hil-virt features= ;;
    esp32c3) source=esp target=riscv32imc-unknown-none-elf program=mcp-hil-esp features=esp32c3,wifi ;;
    esp32c6) source=esp target=riscv32imac-unknown-none-elf program=mcp-hil-esp features=esp32c6,wifi ;;
    esp32c3-qemu)
        source=esp target=riscv32imc-unknown-none-elf program=mcp-hil-esp features=esp32c3,qemu
        folder=$build/qemu
        ;;
    esp32 | esp32s2 | esp32s3)
        printf 'no image for `%s` is built here: its processor needs the Xtensa compiler of Espressif, and the source has never been compiled with it\n\nhint: `ci/README.md`, section "Images", has the command; `esp32c3` and `esp32c6` are built here\n' "$image" >&2
        exit 2
        ;;
    *)
        printf 'there is no image `%s`: expected `virt`, `esp32c3`, `esp32c6` or `esp32c3-qemu`\n' "$image" >&2
        exit 2
        ;;
    esac
    (
        toolchain "$target"
        # Settings for programs of the host are not meant for images.
        unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET
        cd "firmware/$source"
        cargo build --quiet --locked --release --target "$target" --features "$features" \
            --target-dir "$folder" >&2
    )
    printf '%s\n' "$folder/$target/release/$program"
done
