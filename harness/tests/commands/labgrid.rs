//! `ci/labgrid`: a place is acquired at labgrid's own coordinator, the device's file is made of what the
//! exporter tells, and the place is released whatever comes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};

use crate::support::{LATEST, Place};

/// The interpreter that has labgrid; says so where there is none.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("MCP_HIL_PYTHON").unwrap_or_else(|| "python3".into());
    let has = Command::new(&named)
        .args(["-c", "import labgrid.remote.client"])
        .stderr(Stdio::null())
        .status();
    if has.is_ok_and(|status| status.success()) {
        return Some(named.into());
    }
    crate::support::missing::PYTHON.is_missing("no `labgrid`");
    None
}

/// A program of labgrid that goes on until the test ends.
struct Service {
    child: Child,
    lines: Receiver<String>,
}

impl Service {
    fn start(place: &Place, python: &Path, module: &str, args: &[&str]) -> Self {
        let mut child = Command::new(python)
            .args(["-u", "-m", module])
            .args(args)
            .current_dir(place.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (say, lines) = channel();
        let out = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                // The test may have heard enough.
                let _ = say.send(line);
            }
        });
        Self { child, lines }
    }

    /// Waits for a line that begins so, and gives its rest.
    fn says(&self, begin: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(LATEST).expect("labgrid says it");
            if let Some(rest) = line.strip_prefix(begin) {
                return rest.trim().to_owned();
            }
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A coordinator and an exporter with the boards of the example, and the place `desk-c3`.
struct Lab {
    place: Place,
    python: PathBuf,
    coordinator: String,
    _services: [Service; 2],
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ci/labgrid")
}

impl Lab {
    fn new() -> Option<Self> {
        let python = python()?;
        let place = Place::new();
        let start = |module: &str, args: &[&str]| Service::start(&place, &python, module, args);
        let coordinator = start("labgrid.remote.coordinator", &["-l", "127.0.0.1:0"]);
        let address = coordinator.says("listening on ");
        // One more than in the example: a board at a path, as emulators have it.
        let mut boards = std::fs::read_to_string(folder().join("exporter.yaml")).unwrap();
        let port = place.path("no-port");
        boards += &format!("\nat-path:\n  McpHilBoard:\n    port: {}\n", port.display());
        let boards = place.write("exporter.yaml", boards);
        let about = ["--coordinator", &address, "--name", "rack1", "--hostname", "localhost"];
        let args = [&about[..], &[boards.to_str().unwrap()]].concat();
        let exporter = start("labgrid.remote.exporter", &args);
        exporter.says("Exporter ready");
        let lab = Self { place, python, coordinator: address, _services: [coordinator, exporter] };
        // What it exports comes after that; each question takes a while.
        let exported = || lab.client(&["resources"]).contains("rack1/at-path/McpHilBoard");
        assert!((0..100).any(|_| exported()), "nothing is exported");
        for name in ["desk-c3", "at-path"] {
            lab.client(&["-p", name, "create"]);
            lab.client(&["-p", name, "add-match", &format!("rack1/{name}/*")]);
        }
        Some(lab)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.python);
        let client = format!("'{}' -m labgrid.remote.client", self.python.display());
        command
            .args(args)
            .current_dir(self.place.path(""))
            .env("LG_COORDINATOR", &self.coordinator)
            .env("LABGRID_CLIENT", client)
            .stdin(Stdio::null());
        command
    }

    fn client(&self, args: &[&str]) -> String {
        let args = [&["-m", "labgrid.remote.client"], args].concat();
        let output = self.command(&args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a command at a place.
    fn at(&self, place: &str, args: &[&str]) -> Output {
        self.starts_at(place, args).wait_with_output().unwrap()
    }

    /// The same, and does not wait for its end.
    fn starts_at(&self, place: &str, args: &[&str]) -> Child {
        let script = folder().join("place.py");
        let args = [&[script.to_str().unwrap(), place], args].concat();
        let mut command = self.command(&args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_command_gets_the_file_of_the_board_and_the_place_while_it_runs() {
    let Some(lab) = Lab::new() else { return };
    let more = ["--firmware", "image.bin", "--transport", "mqtt", "--"];
    let shows = "cat {} | tee copy.toml; $LABGRID_CLIENT -p desk-c3 show; exit 7";
    let shows = shows.replace("{}", "\"$0\"").replace("$LABGRID_CLIENT", "eval $LABGRID_CLIENT");
    let done = lab.at("desk-c3", &[&more[..], &["sh", "-c", &shows, "{}"]].concat());
    let (out, err) = (text(&done.stdout), text(&done.stderr));
    assert_eq!(done.status.code(), Some(7), "{out}{err}");
    assert!(out.contains("acquired: ") && !out.contains("acquired: None"), "{out}");
    let file: toml::Table = lab.place.read("copy.toml").parse().unwrap();
    let board = file["board"].as_table().unwrap();
    assert_eq!(file["name"].as_str(), Some("desk-c3"));
    assert_eq!(board["serial"].as_str(), Some("F4:12:FA:00:11:22"));
    assert_eq!(board["chip"].as_str(), Some("esp32c3"));
    let image = file["firmware"].as_str().unwrap();
    assert!(Path::new(image).is_absolute() && image.ends_with("image.bin"), "{image}");
    // It is free again, although the command failed.
    assert!(lab.client(&["-p", "desk-c3", "show"]).contains("acquired: None"));
}

#[test]
fn a_place_that_somebody_has_or_that_has_no_board_is_trouble_of_the_bench() {
    let Some(lab) = Lab::new() else { return };
    lab.client(&["-p", "desk-c3", "acquire"]);
    let refused = lab.at("desk-c3", &["--", "touch", "ran"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("cannot acquire `desk-c3`"));
    // Whoever had it has it still.
    assert!(!lab.client(&["-p", "desk-c3", "show"]).contains("acquired: None"));
    lab.client(&["-p", "desk-c3", "release"]);
    // A run takes the file, and looks for that board.
    let program = env!("CARGO_BIN_EXE_mcp-hil");
    let args = ["--", program, "run", "--dut", "{}", "--only", "ids/large"];
    let done = lab.at("at-path", &args);
    let told = text(&done.stdout) + &text(&done.stderr);
    assert_eq!(done.status.code(), Some(3), "{told}");
    // The path may be wrapped anywhere.
    let whole: String = told.split_whitespace().collect();
    assert!(whole.contains("no-port"), "{told}");
    lab.client(&["-p", "empty", "create"]);
    let refused = lab.at("empty", &["--", "touch", "ran"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert!(!lab.place.path("ran").exists(), "the command ran without a board");
    assert!(lab.client(&["-p", "empty", "show"]).contains("acquired: None"));
}

/// Each host runs its part at a place of its own, and what they leave is joined. Their boards are not attached here: the
/// reference device stands in for both, which all reports say.
#[test]
fn two_hosts_share_a_suite_and_their_runs_are_joined() {
    let Some(lab) = Lab::new() else { return };
    let program = env!("CARGO_BIN_EXE_mcp-hil");
    let host = |place: &str, shard: &str, out: &str| {
        let run = ["--", program, "run", "--dut", "{}", "--fallback=native", "--out", out];
        let part = ["--only", "ids/", "--inputs", "0", "--seed", "7", "--shard", shard];
        lab.starts_at(place, &[&run[..], &part].concat())
    };
    let both = [host("desk-c3", "1/2", "one"), host("at-path", "2/2", "two")];
    for done in both.map(|host| host.wait_with_output().unwrap()) {
        let told = text(&done.stdout) + &text(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{told}");
    }
    let joined = Command::new(program)
        .args(["merge", "one/latest", "two/latest", "--out", "joined"])
        .current_dir(lab.place.path(""))
        .output()
        .unwrap();
    let told = text(&joined.stdout);
    assert_eq!(joined.status.code(), Some(0), "{told}{}", text(&joined.stderr));
    assert!(told.contains("joined of 2 runs") && told.contains("ids/large"), "{told}");
    for place in ["desk-c3", "at-path"] {
        assert!(lab.client(&["-p", place, "show"]).contains("acquired: None"), "{place}");
    }
}
