#!/usr/bin/env bash
# ci/riscv-sysroot.sh FOLDER TARGET...
# A Rust toolchain for bare RISC-V chips where rustup cannot fetch one: Debian's compiler with `core`
# and `alloc` compiled from Debian's own copy of their source. `FOLDER/bin` on the PATH makes plain
# `cargo build --target TARGET` work. Needs rustc-web, cargo-web, rust-web-src, and a `rust-lld`.
set -euo pipefail
out=${1:?a folder}
shift

rustc=/usr/bin/rustc
cargo=/usr/bin/cargo
host=$("$rustc" -vV | sed -n 's/^host: //p')
lld=$(command -v rust-lld || true)
for candidate in "$HOME"/.rustup/toolchains/*/lib/rustlib/"$host"/bin/rust-lld; do
    [ -n "$lld" ] || [ ! -x "$candidate" ] || lld=$candidate
done
if [ -z "$lld" ]; then
    printf 'no `rust-lld`: expected it on the PATH or in a toolchain of rustup\n' >&2
    exit 1
fi

mkdir -p "$(dirname "$out")"
work=$(mktemp -d "$(dirname "$out")/sysroot.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/new/bin" "$work/new/lib/rustlib" "$work/src"
cat >"$work/Cargo.toml" <<'TOML'
[package]
name = "sysroot"
version = "0.0.0"
edition = "2024"
[workspace]
[profile.release]
panic = "abort"
TOML
printf '#![no_std]\nextern crate alloc;\n' >"$work/src/lib.rs"

for target in "$@"; do
    # Bitcode, or images could not be optimised at link time.
    (cd "$work" && env -u CARGO_BUILD_TARGET RUSTFLAGS=-Cembed-bitcode=yes RUSTC_BOOTSTRAP=1 RUSTC=$rustc \
        "$cargo" build --quiet --release -Zbuild-std=core,alloc --target "$target" --target-dir "$work/build")
    mkdir -p "$work/new/lib/rustlib/$target/lib"
    cp "$work/build/$target/release/deps/"lib{core,alloc,compiler_builtins}-*.rlib \
        "$work/new/lib/rustlib/$target/lib/"
done
ln -s "/usr/lib/rustlib/$host" "$work/new/lib/rustlib/$host"
printf '#!/bin/sh\nexec %s --sysroot %q "$@"\n' "$rustc" "$out" >"$work/new/bin/rustc"
chmod +x "$work/new/bin/rustc"
ln -s "$cargo" "$work/new/bin/cargo"
ln -s "$lld" "$work/new/bin/rust-lld"
rm -rf "$out"
mv "$work/new" "$out"
