//! `mcp-hil doctor`: what is here to run devices on, what is missing, and the command that brings it.
//!
//! Nothing is changed, built or opened: opening a serial port would reset the board behind it.

mod ask;
mod boards;
mod show;

use std::path::{Path, PathBuf};

use mcp_hil_boards::board::attached;
use serde::Serialize;

use ask::{ask, on_path};
use mcp_hil_args::{DoctorArgs, Format};
use mcp_hil_bench::environment::given;
use mcp_hil_bench::firmware::source_tree;
use mcp_hil_bench::setup;
use mcp_hil_record::error::UserError;
use mcp_hil_record::exit;

/// The target that images for QEMU's board are compiled for, and that of the ESP32-C3.
const VIRT_TARGET: &str = "riscv32imac-unknown-none-elf";
const C3_TARGET: &str = "riscv32imc-unknown-none-elf";

/// The token without which Wokwi does nothing.
const WOKWI_TOKEN: &str = "WOKWI_CLI_TOKEN";

/// How it stands with one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It is here.
    Ok,
    /// It is not, and the reference device cannot be tested on everything that packages bring.
    Missing,
    /// It is not, and only who wants it needs it.
    Optional,
}

/// One thing that was looked for.
#[derive(Debug, Clone, Serialize)]
pub struct Item {
    /// What was looked for, such as `boards` or `wokwi token`.
    pub name: &'static str,
    /// Whether it is there.
    pub state: State,
    /// Where it is, or what is in the way.
    pub what: String,
    /// The command that brings it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get: Option<String>,
}

impl Item {
    fn ok(name: &'static str, what: impl Into<String>) -> Self {
        Self { name, state: State::Ok, what: what.into(), get: None }
    }

    fn not(name: &'static str, state: State, what: impl Into<String>, get: &str) -> Self {
        Self { name, state, what: what.into(), get: Some(get.to_owned()) }
    }
}

/// Looks around: the text to print, and the exit code.
///
/// # Errors
///
/// What was found cannot be written as JSON.
pub fn doctor(args: &DoctorArgs) -> Result<(String, u8), UserError> {
    let items = look();
    let text = match args.format {
        Format::Human => show::text(&items),
        Format::Json => show::json(&items)?,
    };
    let missing = items.iter().any(|item| item.state == State::Missing);
    let exit = match args.strict && missing {
        true => exit::BENCH,
        false => exit::CONFORMING,
    };
    Ok((text, exit))
}

fn look() -> Vec<Item> {
    let tree = source_tree();
    let has_esp = tree.as_ref().is_some_and(|tree| tree.join("firmware/esp").is_dir());
    let mut items = vec![native(), rust(VIRT_TARGET, tree.as_deref())];
    if has_esp {
        items.push(rust(C3_TARGET, tree.as_deref()));
    }
    items.push(virt_image(tree.as_deref()));
    items.push(qemu());
    items.push(qemu_esp());
    items.extend(wokwi());
    items.push(mosquitto());
    items.extend(boards::items(&attached(), Path::new("/")));
    items
}

fn native() -> Item {
    const NAME: &str = "native device";
    if let Some(named) = given("MCP_HIL_NATIVE").map(PathBuf::from) {
        return match named.is_file() {
            true => Item::ok(NAME, named.display().to_string()),
            false => Item::not(
                NAME,
                State::Missing,
                format!("MCP_HIL_NATIVE names `{}`, which does not exist", named.display()),
                "unset MCP_HIL_NATIVE",
            ),
        };
    }
    Item::ok(NAME, "`mcp-hil native`".to_owned())
}

/// Where images are built.
fn build_folder(tree: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    target.map_or_else(|| tree.join("target"), |target| tree.join(target)).join("firmware")
}

fn rust(target: &'static str, tree: Option<&Path>) -> Item {
    const NAME: &str = "rust target";
    let own = tree.map(|tree| build_folder(tree).join(format!("sysroot-{target}/bin/rustc")));
    let libraries = on_path("rustc")
        .and_then(|rustc| ask(&rustc, &["--print", "target-libdir", "--target", target]))
        .map(PathBuf::from);
    let has_core = |folder: &PathBuf| {
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names = files.map(|file| file.file_name().to_string_lossy().into_owned());
        names.any(|name| name.starts_with("libcore-"))
    };
    if libraries.as_ref().is_some_and(has_core) {
        return Item::ok(NAME, target);
    }
    if let Some(own) = own.filter(|own| own.is_file()) {
        return Item::ok(NAME, format!("{target}, with the compiler {}", own.display()));
    }
    let get = format!("rustup target add {target}");
    Item::not(NAME, State::Missing, format!("{target} is not installed"), &get)
}

fn virt_image(tree: Option<&Path>) -> Item {
    const NAME: &str = "image for qemu";
    if let Some(named) = given("MCP_HIL_QEMU_IMAGE").map(PathBuf::from) {
        return match named.is_file() {
            true => Item::ok(NAME, named.display().to_string()),
            false => Item::not(
                NAME,
                State::Missing,
                format!("MCP_HIL_QEMU_IMAGE names `{}`, which does not exist", named.display()),
                "unset MCP_HIL_QEMU_IMAGE",
            ),
        };
    }
    let image =
        tree.map(|tree| build_folder(tree).join(format!("{VIRT_TARGET}/release/mcp-hil-virt")));
    match image.filter(|image| image.is_file()) {
        Some(image) => Item::ok(NAME, image.display().to_string()),
        None => Item::not(
            NAME,
            State::Missing,
            "is not built; `mcp-hil run --dut qemu` also builds it",
            "mcp-hil firmware build virt",
        ),
    }
}

/// The name of the emulator's program, whoever made it.
const QEMU: &str = "qemu-system-riscv32";

fn qemu() -> Item {
    const NAME: &str = "qemu";
    let named = given("MCP_HIL_QEMU").map(PathBuf::from);
    let get = package("qemu-system-misc", "qemu-system-riscv", "qemu");
    let Some(program) = named.or_else(|| on_path(QEMU)) else {
        let what = format!("no `{QEMU}` on the PATH");
        return Item::not(NAME, State::Missing, what, &get);
    };
    match ask(&program, &["--version"]) {
        Some(version) => Item::ok(NAME, first_line(&version)),
        None => {
            let what = format!("`{}` does not report its version", program.display());
            Item::not(NAME, State::Missing, what, &get)
        }
    }
}

fn qemu_esp() -> Item {
    const NAME: &str = "qemu-esp";
    let named = given("MCP_HIL_QEMU_ESP").map(PathBuf::from);
    let candidates = named.or_else(|| setup::installed(QEMU)).or_else(|| on_path(QEMU));
    let Some(program) = candidates else {
        let what = "Espressif's QEMU, which emulates the chips, is not installed";
        return Item::not(NAME, State::Optional, what, "mcp-hil setup qemu-esp");
    };
    let machines = ask(&program, &["-M", "help"]).unwrap_or_default();
    if machines.lines().any(|line| line.starts_with("esp32c3")) {
        return Item::ok(NAME, program.display().to_string());
    }
    let what = format!("`{}` has no machine `esp32c3`", program.display());
    Item::not(NAME, State::Optional, what, "mcp-hil setup qemu-esp")
}

/// Two items: the program, and whether there is a token. The token itself is not shown.
fn wokwi() -> Vec<Item> {
    const NAME: &str = "wokwi-cli";
    const TOKEN: &str = "wokwi token";
    let program = on_path(NAME).map(|program| {
        let version = ask(&program, &["--version"]).unwrap_or_default();
        Item::ok(NAME, format!("{} {}", program.display(), first_line(&version)))
    });
    let program = program.unwrap_or_else(|| {
        let get = "curl -L https://wokwi.com/ci/install.sh | sh";
        Item::not(NAME, State::Optional, "is not on the PATH", get)
    });
    let is_set = given(WOKWI_TOKEN).is_some();
    let token = match is_set {
        true => Item::ok(TOKEN, format!("{WOKWI_TOKEN} is set")),
        false => Item::not(
            TOKEN,
            State::Optional,
            format!("{WOKWI_TOKEN} is not set; create one at https://wokwi.com/dashboard/ci"),
            &format!("export {WOKWI_TOKEN}=<token>"),
        ),
    };
    vec![program, token]
}

fn mosquitto() -> Item {
    const NAME: &str = "mosquitto";
    // Debian installs it where only root's PATH leads.
    let found = on_path(NAME)
        .or_else(|| Some(PathBuf::from("/usr/sbin/mosquitto")).filter(|program| program.is_file()));
    match found {
        Some(program) => Item::ok(NAME, program.display().to_string()),
        None => Item::not(
            NAME,
            State::Optional,
            "is not installed; only tests with an ordinary broker need it",
            &package(NAME, NAME, NAME),
        ),
    }
}

/// The command that installs a package here.
fn package(apt: &str, dnf: &str, brew: &str) -> String {
    let managers = [("apt-get", apt), ("dnf", dnf), ("brew", brew)];
    let here = managers.iter().find(|(manager, _)| on_path(manager).is_some());
    let (manager, package) = here.unwrap_or(&managers[0]);
    format!("{manager} install {package}")
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}
