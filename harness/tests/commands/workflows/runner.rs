//! A runner: it carries out the steps of a job in a scratch checkout. Its cargo builds nothing and fails; a cache
//! brings what an earlier build has left.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use super::expression::{evaluate, is_true};
use super::root;
use crate::support::Place;
use crate::usb::System;

/// What belongs to a checkout.
const SOURCES: &[&str] = &[
    ".github",
    "Cargo.lock",
    "Cargo.toml",
    "action.yml",
    "ci",
    "firmware",
    "harness",
    "scenarios",
    "snapshots",
];

/// The machine of a job, with its workspace.
pub(crate) struct Runner {
    home: PathBuf,
    workspace: PathBuf,
    artefacts: PathBuf,
    usb: PathBuf,
    contexts: Value,
    cached: bool,
    /// What is in the environment of all programs on it.
    preset: BTreeMap<&'static str, String>,
}

/// How a job, or an action, ended.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// The exit code of the step that failed.
    pub(crate) code: Option<i32>,
    /// What was written to either stream.
    pub(crate) text: String,
    /// Outputs by the id of the step; those of actions, too.
    pub(crate) steps: Map<String, Value>,
}

impl Ended {
    /// Whether no step failed.
    pub(crate) fn is_well(&self) -> bool {
        self.code.is_none()
    }

    /// Asserts that no step failed.
    #[track_caller]
    pub(crate) fn succeeds(self) -> Self {
        assert!(self.is_well(), "exit {:?}\n{}", self.code, self.text);
        self
    }

    /// The outputs of a job.
    pub(crate) fn outputs(&self, job: &Value) -> Value {
        let contexts = json!({"steps": steps(&self.steps)});
        let mut outputs = Map::new();
        for (name, value) in job["outputs"].as_object().unwrap() {
            outputs.insert(name.clone(), interpolate(value, &contexts));
        }
        outputs.into()
    }
}

/// A value as a text, as it stands in a command's environment.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn steps(outputs: &Map<String, Value>) -> Value {
    let each = outputs.iter();
    each.map(|(id, outputs)| (id.clone(), json!({ "outputs": outputs })))
        .collect::<Map<_, _>>()
        .into()
}

/// A value of a workflow with its expressions replaced; one that is nothing else keeps its type.
fn interpolate(value: &Value, contexts: &Value) -> Value {
    let Value::String(source) = value else {
        return value.clone();
    };
    let whole = source
        .strip_prefix("${{")
        .and_then(|rest| rest.strip_suffix("}}"))
        .filter(|inner| !inner.contains("${{"));
    if let Some(expression) = whole {
        return evaluate(expression, contexts);
    }
    let mut parts = source.split("${{");
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (expression, rest) = part.split_once("}}").expect("the end of an expression");
        told.push_str(&text(&evaluate(expression, contexts)));
        told.push_str(rest);
    }
    told.into()
}

/// Copies a file, or a folder with what is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() != "target" || from.ends_with("mcp-hil-reports") {
                copy(&entry.path(), &to.join(entry.file_name()));
            }
        }
    } else if from.is_file() {
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    }
}

impl Runner {
    /// A machine with these USB devices, and a checkout without boards.
    pub(crate) fn new(place: &Place, system: &System) -> Self {
        let workspace = place.path("checkout");
        for name in SOURCES {
            copy(&root().join(name), &workspace.join(name));
        }
        for entry in std::fs::read_dir(workspace.join("ci/duts")).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if text.contains("\ntarget = \"board\"") {
                std::fs::remove_file(path).unwrap();
            }
        }
        let cargo =
            place.write("bin/cargo", "#!/bin/sh\necho 'error: could not compile' >&2\nexit 101\n");
        std::fs::set_permissions(cargo, std::fs::Permissions::from_mode(0o755)).unwrap();
        let arch = match std::env::consts::ARCH {
            "aarch64" => "ARM64",
            _ => "X64",
        };
        let contexts = json!({
            "github": {"event_name": "push"},
            "runner": {"os": "Linux", "arch": arch},
            "secrets": {"BENCH_WIFI_PASSWORD": "correct horse"},
        });
        Self {
            home: place.path("home"),
            artefacts: place.path("artefacts"),
            usb: system.0.clone(),
            workspace,
            contexts,
            cached: true,
            preset: BTreeMap::new(),
        }
    }

    /// A path in the workspace.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.workspace.join(name)
    }

    /// The machine has the program on its PATH.
    pub(crate) fn install(&self) {
        let to = self.workspace.with_file_name("bin/mcp-hil");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mcp-hil"), to).unwrap();
    }

    /// Artefacts go to where those of another machine go.
    pub(crate) fn share_artefacts(&mut self, with: &Self) {
        self.artefacts.clone_from(&with.artefacts);
    }

    /// All programs on the machine have this in their environment.
    pub(crate) fn preset(&mut self, more: impl IntoIterator<Item = (&'static str, String)>) {
        self.preset.extend(more);
    }

    /// The cache has nothing from now on.
    pub(crate) fn forget_cache(&mut self) {
        let _ = std::fs::remove_dir_all(&self.home);
        self.cached = false;
    }

    /// The cache has the program from now on.
    pub(crate) fn keep_program(&mut self) {
        self.cached = true;
    }

    /// Sets a context.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.contexts[name] = value;
    }

    /// Does something with another context.
    pub(crate) fn with<T>(&mut self, name: &str, value: Value, act: impl FnOnce(&Self) -> T) -> T {
        let kept = std::mem::replace(&mut self.contexts[name], value);
        let done = act(self);
        self.contexts[name] = kept;
        done
    }

    /// Whether a condition of a job holds.
    pub(crate) fn is_true(&self, condition: &str) -> bool {
        is_true(&evaluate(condition, &self.contexts))
    }

    /// A value of the workflow.
    pub(crate) fn value(&self, value: &Value) -> Value {
        interpolate(value, &self.contexts)
    }

    /// Carries out the steps of a job.
    pub(crate) fn job(&mut self, job: &Value) -> Ended {
        let condition = job["if"].as_str();
        let contexts = self.contexts.clone();
        assert!(condition.is_none_or(|condition| self.is_true(condition)));
        self.steps(&job["steps"], &contexts, None)
    }

    fn steps(&self, steps_of_it: &Value, contexts: &Value, action: Option<&Path>) -> Ended {
        let mut ended = Ended::default();
        for step in steps_of_it.as_array().expect("steps") {
            let mut contexts = contexts.clone();
            contexts["steps"] = steps(&ended.steps);
            let condition = step["if"].as_str().unwrap_or("");
            let is_wanted = condition.is_empty() || is_true(&evaluate(condition, &contexts));
            if !is_wanted || (!ended.is_well() && !condition.contains("always()")) {
                continue;
            }
            let done = match step["uses"].as_str() {
                Some(name) => self.uses(name, step, &contexts),
                None => self.command(step, &contexts, action),
            };
            ended.text.push_str(&done.text);
            ended.code = ended.code.or(done.code);
            if let Some(id) = step["id"].as_str() {
                ended.steps.insert(id.to_owned(), done.steps.get("").cloned().unwrap_or_default());
            }
            // Of an action within the job.
            let inner = done.steps.into_iter().filter(|(id, _)| !id.is_empty());
            ended.steps.extend(inner);
        }
        ended
    }

    fn uses(&self, name: &str, step: &Value, contexts: &Value) -> Ended {
        let with = |key: &str| text(&interpolate(&step["with"][key], contexts));
        match name {
            "actions/checkout@v4" => {}
            "actions/cache@v4" => {
                let (path, key) = (PathBuf::from(with("path")), with("key"));
                let word = path.file_name().unwrap().to_string_lossy().into_owned();
                assert!(key.ends_with(&word) && word.len() == 16, "{key}: {word}");
                if self.cached {
                    std::fs::create_dir_all(&path).unwrap();
                    let program = path.join("mcp-hil");
                    let _ = std::fs::remove_file(&program);
                    std::fs::hard_link(env!("CARGO_BIN_EXE_mcp-hil"), program).unwrap();
                }
            }
            "actions/upload-artifact@v4" => {
                let (from, to) =
                    (self.workspace.join(with("path")), self.artefacts.join(with("name")));
                let is_there = from.exists();
                if !is_there && with("if-no-files-found") == "error" {
                    return Ended {
                        code: Some(1),
                        text: format!("no files at {}\n", from.display()),
                        ..Ended::default()
                    };
                }
                // A single file is the root of its artefact.
                match from.is_file() {
                    true => copy(&from, &to.join(from.file_name().unwrap())),
                    false => copy(&from, &to),
                }
            }
            "actions/download-artifact@v4" => {
                let from = self.artefacts.join(with("name"));
                assert!(from.is_dir(), "no artefact {}", from.display());
                let to = self.workspace.join(with("path"));
                // Without a name these are all, each in a folder of its name.
                copy(&from, &to);
                // It forgets who may run what.
                for entry in std::fs::read_dir(&to).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_file() {
                        let mode = std::fs::Permissions::from_mode(0o644);
                        std::fs::set_permissions(path, mode).unwrap();
                    }
                }
            }
            _ => return self.action(name, step, contexts),
        }
        Ended::default()
    }

    /// An action of this repository, from the checkout or from elsewhere.
    fn action(&self, name: &str, step: &Value, contexts: &Value) -> Ended {
        let folder = match (name.strip_prefix("./"), name.strip_prefix("OWNER/mcp-hil")) {
            (Some(path), _) => self.workspace.join(path),
            (None, Some(rest)) => {
                let path = rest.strip_suffix("@main").expect("a reference");
                root().join(path.trim_start_matches('/'))
            }
            (None, None) => panic!("what is `{name}`?"),
        };
        let action = std::fs::read_to_string(folder.join("action.yml")).unwrap();
        let action = super::yaml(&action);
        let mut inputs = Map::new();
        for (name, input) in action["inputs"].as_object().unwrap() {
            let given = &step["with"][name];
            let value = match given {
                Value::Null => input["default"].clone(),
                given => interpolate(given, contexts),
            };
            inputs.insert(name.clone(), text(&value).into());
        }
        for name in step["with"].as_object().into_iter().flat_map(Map::keys) {
            assert!(inputs.contains_key(name), "the action has no input `{name}`");
        }
        let mut inner = contexts.clone();
        inner["inputs"] = inputs.into();
        inner["env"] = step["env"].clone();
        self.steps(&action["runs"]["steps"], &inner, Some(&folder))
    }

    /// Runs a command as it stands in the file.
    fn command(&self, step: &Value, contexts: &Value, action: Option<&Path>) -> Ended {
        let script = step["run"].as_str().expect("a command");
        assert!(!script.contains("${{"), "an expression in a command is code: {script}");
        let output = self.workspace.with_file_name("output");
        std::fs::write(&output, "").unwrap();
        let mut env: BTreeMap<String, String> = BTreeMap::new();
        // An action's steps see the environment of the step that uses it.
        for set in [&contexts["env"], &step["env"]] {
            for (name, value) in set.as_object().into_iter().flatten() {
                env.insert(name.clone(), text(&interpolate(value, contexts)));
            }
        }
        let bin = self.workspace.with_file_name("bin");
        let mut command = Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
            .current_dir(&self.workspace)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", bin.display()))
            .env("HOME", &self.home)
            .env("CI", "true")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_WORKSPACE", &self.workspace)
            .env("GITHUB_OUTPUT", &output)
            .env("MCP_HIL_LOCKS", self.workspace.with_file_name("locks"))
            .env("MCP_HIL_USB_ROOT", &self.usb)
            .envs(&self.preset)
            .envs(&env);
        if let Some(folder) = action {
            command.env("GITHUB_ACTION_PATH", folder);
        }
        let done = command.output().expect("bash runs");
        let said =
            [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        let outputs = std::fs::read_to_string(&output).unwrap();
        let outputs: Map<String, Value> = outputs
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        Ended {
            code: (!done.status.success()).then(|| done.status.code().unwrap_or(-1)),
            text: format!("$ {script}\n{}", said.concat()),
            steps: Map::from_iter([(String::new(), outputs.into())]),
        }
    }
}
