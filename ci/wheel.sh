#!/usr/bin/env bash
# Builds a Python wheel that carries the program.
#
#   ci/wheel.sh --try                   packs the program that the tests use, installs the wheel into a Python environment
#                                       of its own, and runs it from there
#   ci/wheel.sh [TARGET] [OPTION]...    builds it as it is published, for this system or another target; options go to
#                                       `maturin build`
#
# MCP_HIL_PYTHON names a Python with `maturin` (ci/python.txt). Without one it fails, unless MCP_HIL_LEAVE_OUT names
# `python` or `all`; then it says that nothing was tried.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=${MCP_HIL_PYTHON:-python3}
if ! "$python" -m maturin --version >/dev/null 2>&1; then
    echo "not run: the wheel needs \`maturin\`, which $python does not have"
    case ,${MCP_HIL_LEAVE_OUT:-}, in
        *,python,* | *,all,*) exit 0 ;;
        *)
            printf '\nhint: %s -m pip install -r ci/python.txt\n' "$python" >&2
            exit 1
            ;;
    esac
fi
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/wheel"
place=$(cd "$target/wheel" && pwd)

if [ "${1:-}" != --try ]; then
    arguments=(--release --out "$target/wheels")
    if [ $# -gt 0 ] && [[ $1 != -* ]]; then
        arguments+=(--target "$1")
        shift
        # A static program does not care which C library there is, if any.
        [[ ${arguments[-1]} != *-musl ]] || arguments+=(--compatibility manylinux2014 musllinux_1_1)
    fi
    # As `ci/release.sh` has it, so that it is built once.
    exec env CARGO_PROFILE_RELEASE_STRIP=symbols "$python" -m maturin build "${arguments[@]}" "$@"
fi

# `maturin` calls `cargo rustc`, which is for one package; built so, most of the workspace would be compiled again with
# other features. What comes before it on the PATH lets it have the program that all tests use.
rm -rf "$place"
mkdir -p "$place/bin" "$place/elsewhere"
cat >"$place/bin/cargo" <<SHIM
#!/usr/bin/env bash
set -o pipefail
[ "\${1:-}" = rustc ] || exec $(printf %q "$(command -v cargo)") "\$@"
# Of what is built, the test program is not what goes into the wheel.
$(printf %q "$(command -v cargo)") test --workspace --locked --no-run --test install \\
    --message-format json-render-diagnostics | grep -v '"kind":\["test"\]'
SHIM
chmod +x "$place/bin/cargo"
PATH=$place/bin:$PATH CARGO=$place/bin/cargo "$python" -m maturin build --quiet \
    --profile dev --compatibility linux --out "$place"

"$python" -m venv "$place/venv"
"$place/venv/bin/python" -m pip install --quiet --no-index --no-deps "$place"/*.whl
# Nothing of this tree, and no Rust, is to help the program.
cd "$place/elsewhere"
run() {
    env -i HOME="$place/elsewhere" PATH="$place/venv/bin:/usr/bin:/bin" "$@"
}
run mcp-hil --version
run mcp-hil run --dut native --only ids/ --inputs 0 --no-confirm | grep ' Summary '
[ -f target/mcp-hil/latest/junit.xml ]
printf '%s, tried from %s\n' "$(basename "$place"/*.whl)" "$PWD"
