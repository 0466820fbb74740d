#!/usr/bin/env bash
# What a release is made of; `.github/workflows/release.yml` calls it for each part.
#
#   ci/release.sh TARGET...      builds the program for targets of Rust, such as x86_64-unknown-linux-musl, and packs each
#                                into target/release-files/mcp-hil-VERSION-TARGET.tar.gz, with its checksum
#   ci/release.sh --try TARGET   runs what was packed in a root that has a shell and nothing else (Linux, as root)
#   ci/release.sh --wheel TARGET packs the program into a wheel, target/wheels/mcp_hil-VERSION-*.whl (`ci/wheel.sh`)
#   ci/release.sh --image TARGET [OPTION]...
#                                builds the image of `ci/Containerfile` with what was packed, as `mcp-hil:TARGET`; options
#                                go to `docker build`
#   ci/release.sh --gather DIR [TAG]
#                                looks at the checksums of all that is below the folder, lays it side by side, and writes
#                                SHA256SUMS; a tag must be that of the version
#   ci/release.sh --repository OWNER/NAME
#                                writes the address of the repository into the manifests; nothing else here knows it
#   ci/release.sh --crates       packs the crates as `cargo publish` would, in the order that it would take
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target_folder=${CARGO_TARGET_DIR:-target}
out=$target_folder/release-files
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
host=$(rustc -vV | sed -n 's/^host: //p')
libdir() { rustc --print target-libdir --target "$1"; }

# Sees to it that what is C or assembler (`ring`) and what links fit the target.
tools() {
    compgen -G "$(libdir "$1")/libstd-*.rlib" >/dev/null || rustup target add "$1" >&2
    case $1 in
    *-linux-musl)
        local name=${1//-/_} compiler=musl-gcc
        # Another processor: its compiler makes objects, which need nothing of its C library, and Rust's own linker
        # takes the C library that comes with the target.
        if [ "${1%%-*}" != "${host%%-*}" ]; then
            compiler=${1%%-*}-linux-gnu-gcc
            export "CARGO_TARGET_${name^^}_LINKER=rust-lld"
        fi
        if ! command -v "$compiler" >/dev/null; then
            local package=musl-tools
            [ "$compiler" = musl-gcc ] || package=gcc-${1%%-*}-linux-gnu
            printf 'no `%s` for `%s`: expected it on the PATH\n\nhint: `sudo apt-get install --no-install-recommends %s`\n' \
                "$compiler" "$1" "$package" >&2
            exit 1
        fi
        export "CC_$name=$compiler"
        ;;
    *-windows-*)
        printf 'the program is not built for `%s`: its locks, signals and process groups are those of Unix\n\nhint: in WSL 2, the one for Linux runs; `usbipd` attaches boards\n' "$1" >&2
        exit 2
        ;;
    esac
}

# The program's own pages and scripts, where it can be run here.
extras() {
    "$1" man --out "$2/man" >/dev/null
    mkdir -p "$2/completions"
    local shell
    for shell in bash zsh fish elvish powershell; do
        "$1" completions "$shell" >"$2/completions/mcp-hil.$shell"
    done
}

build() {
    local target=$1 name=mcp-hil-$version-$1 folder
    (
        tools "$target"
        CARGO_PROFILE_RELEASE_STRIP=symbols cargo build --release --locked --package mcp-hil --bin mcp-hil --target "$target"
    )
    folder=$out/$name
    rm -rf "$folder"
    mkdir -p "$folder/schema"
    cp "$target_folder/$target/release/mcp-hil" LICENSE-APACHE LICENSE-MIT CHANGELOG.md "$folder/"
    cp harness/schema/*.json "$folder/schema/"
    if "$folder/mcp-hil" --version >/dev/null 2>&1; then
        extras "$folder/mcp-hil" "$folder"
    fi
    tar -C "$out" -czf "$out/$name.tar.gz" "$name"
    rm -rf "$folder"
    (cd "$out" && checksum "$name.tar.gz" >"$name.tar.gz.sha256" && cat "$name.tar.gz.sha256")
}

checksum() {
    if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi
}

# A run of the packed program in a root that has nothing but it and what any container has: a shell, the processes, a null
# device. No C library, no certificates, no Rust.
try() {
    local name=mcp-hil-$version-$1
    if ! command -v busybox >/dev/null; then
        printf 'no `busybox`: expected a static one, as the shell\n\nhint: `sudo apt-get install --no-install-recommends busybox-static`\n' >&2
        exit 1
    fi
    root=$(mktemp -d)
    trap 'umount "$root/proc" 2>/dev/null || true; rm -rf "$root"' EXIT
    mkdir "$root/tmp" "$root/bin" "$root/dev" "$root/proc"
    cp "$(command -v busybox)" "$root/bin/sh"
    mknod -m 666 "$root/dev/null" c 1 3
    mount -t proc proc "$root/proc"
    tar -xzf "$out/$name.tar.gz" -C "$root" --strip-components 1 "$name/mcp-hil"
    chroot "$root" /mcp-hil --version
    chroot "$root" /mcp-hil run --dut native --transport both --out /runs --no-confirm | grep ' Summary '
    [ -s "$root/runs/latest/junit.xml" ]
}

image() {
    local context name=mcp-hil-$version-$1
    context=$(mktemp -d)
    trap 'rm -rf "$context"' EXIT
    mkdir "$context/program"
    tar -xzf "$out/$name.tar.gz" -C "$context/program" --strip-components 1
    docker build --tag "mcp-hil:$1" --file ci/Containerfile "${@:2}" "$context"
}

gather() {
    local folder=$1 tag=${2:-v$version} file
    if [ "$tag" != "v$version" ]; then
        printf 'the tag `%s` is not that of this version: expected `v%s`\n' "$tag" "$version" >&2
        exit 1
    fi
    find "$folder" -mindepth 2 -type f -exec mv -t "$folder" {} +
    find "$folder" -mindepth 1 -type d -empty -delete
    cd "$folder"
    for file in *.sha256; do
        sha256sum --check --quiet "$file"
    done
    rm -- *.sha256
    sha256sum -- *.tar.gz *.whl >SHA256SUMS
    cat SHA256SUMS
}

case ${1:-} in
--try)
    try "${2:?which target?}"
    ;;
--wheel)
    tools "${2:?which target?}"
    exec ci/wheel.sh "$2"
    ;;
--image)
    shift
    image "${@:?which target?}"
    ;;
--gather)
    gather "${2:?which folder?}" "${3:-}"
    ;;
--repository)
    repository=${2:?which repository, as OWNER/NAME?}
    # The crates that are published say where their licence is: next to it goes where they come from.
    grep -rl --include=Cargo.toml --exclude-dir=target '^license.workspace = true$' . | while read -r manifest; do
        grep -q '^repository' "$manifest" ||
            sed -i.before "s|^license.workspace = true\$|&\nrepository = \"https://github.com/$repository\"|" "$manifest"
        rm -f "$manifest.before"
    done
    ;;
--crates)
    # Cargo brings them into the order in which they need each other. What says `publish = false` is left out.
    cargo publish --workspace --locked --allow-dirty --dry-run --no-verify
    ;;
'' | -*)
    sed -n '2,18s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
*)
    mkdir -p "$out"
    for target in "$@"; do
        build "$target"
    done
    ;;
esac
