//! Which devices there are, and which tests that makes. Nothing is built or started: test programs are
//! asked for their list often, and must give the same one each time.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser as _};
use mcp_hil_core::transcript::{BRING_UP, CLOSE, PROPERTY};
use mcp_hil_core::transport::Transport;
use mcp_hil_judge::compare::SAME_ANSWERS;

use super::{ARGUMENTS, DUTS};
use mcp_hil_args::{Cli, Command, PROFILES, RunArgs, from_profile};
use mcp_hil_bench::dut::{Choice, DutFile, declared, first_at_hand};
use mcp_hil_record::error::UserError;
use mcp_hil_record::names::BOTH;
use mcp_hil_runner::plan::selected;

/// The case of a run of one device that shows whether all requirements were exercised, and the baseline is true.
pub(super) const COVERAGE: &str = "run/coverage";

/// The devices of a test run.
#[derive(Debug)]
pub struct Bench {
    /// The devices.
    pub devices: Vec<Device>,
    /// Arguments of their runs.
    arguments: Vec<String>,
    /// Ids of the cases, in the order in which they run.
    cases: Vec<String>,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// What `--dut` takes.
    pub spec: String,
    /// Its name.
    pub name: String,
    /// The transports that it is tested over.
    pub transports: Vec<Transport>,
}

impl Device {
    /// Whether there is one of it only, as of a board.
    pub(super) fn is_single(&self) -> bool {
        self.spec.ends_with(".toml") || self.spec == "wait"
    }
}

/// What a test looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Over {
    /// A transport.
    One(Transport),
    /// Two transports, compared.
    Both,
}

impl fmt::Display for Over {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One(transport) => transport.name(),
            Self::Both => BOTH,
        })
    }
}

/// A case on a device over a transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Which of the devices.
    pub device: usize,
    /// The name: `<dut>::<transport>::<area>::<case>`.
    pub name: String,
    /// Over what.
    pub over: Over,
    /// The case's id.
    pub case: String,
}

impl Bench {
    /// The devices that `variable` names, else the boards of the `declared` files, else the one that
    /// `--dut auto` would take. `say` is told what is passed over.
    ///
    /// # Errors
    ///
    /// A variable or file with a mistake, two devices of one name, or no device at all.
    pub fn find(
        variable: &dyn Fn(&str) -> Option<String>,
        declared: &[PathBuf],
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, UserError> {
        let words = |name: &str, separator: &dyn Fn(char) -> bool| -> Vec<String> {
            let value = variable(name).unwrap_or_default();
            let words = value.split(separator).map(str::trim);
            words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        let arguments = words(ARGUMENTS, &char::is_whitespace);
        let args = parse(&arguments, None)?;
        let mut specs = words(DUTS, &|c| c == ',');
        if specs.is_empty() {
            specs = declared.iter().map(|path| path.display().to_string()).collect();
        }
        if specs.is_empty() {
            let kind = first_at_hand(&args.prefer, args.firmware.as_deref(), say)?;
            specs.push(kind.name().to_owned());
        }
        let devices = specs.iter().map(|spec| device(spec, &args));
        let devices = devices.collect::<Result<Vec<_>, _>>()?;
        let mut names = BTreeSet::new();
        if let Some(twice) = devices.iter().find(|device| !names.insert(&device.name)) {
            return Err(UserError::usage(
                format!("two devices are named `{}`", twice.name),
                "names become test names: give each file its own `name`",
            ));
        }
        let cases = selected(&args)?;
        if cases.is_empty() {
            return Err(UserError::nothing_ran("no case is selected", "check MCP_HIL_RUN_ARGS"));
        }
        Ok(Self { devices, arguments, cases })
    }

    /// What is wrong with the devices of the wanted tests that are boards, and not there, where nothing may
    /// stand in for them: a line each; and whether those are all.
    pub fn absent(&self, wanted: &[Test]) -> (Vec<String>, bool) {
        let numbers: BTreeSet<usize> = wanted.iter().map(|test| test.device).collect();
        let lines: Vec<String> =
            numbers.iter().filter_map(|number| self.absence(&self.devices[*number])).collect();
        let all = !lines.is_empty() && lines.len() == numbers.len();
        (lines, all)
    }

    fn absence(&self, device: &Device) -> Option<String> {
        let file = device.spec.ends_with(".toml");
        let file = file.then(|| DutFile::read(Path::new(&device.spec)).ok())??;
        let absent = declared::absent(&file)?;
        let args = parse(&self.arguments, None).ok()?;
        let absent = [absent];
        match declared::allowed(&Choice::from(&args), &absent) {
            Some(_) => None,
            None => Some(declared::refusal(&absent).to_string()),
        }
    }

    /// All tests, by devices and transports, in the order in which cases run.
    pub fn tests(&self) -> Vec<Test> {
        let mut tests = Vec::new();
        for (at, device) in self.devices.iter().enumerate() {
            let mut add = |over: Over, case: &str| {
                let path = case.replace('/', "::");
                tests.push(Test {
                    device: at,
                    name: format!("{}::{over}::{path}", device.name),
                    over,
                    case: case.to_owned(),
                });
            };
            for transport in &device.transports {
                let over = Over::One(*transport);
                add(over, BRING_UP);
                self.cases.iter().for_each(|case| add(over, case));
                add(over, CLOSE);
                add(over, COVERAGE);
            }
            if device.transports.len() > 1 {
                add(Over::Both, SAME_ANSWERS);
            }
        }
        tests
    }

    /// Arguments of a run of a device.
    pub(super) fn arguments(&self, device: &Device, over: Over) -> Result<RunArgs, UserError> {
        parse(&self.arguments, Some((&device.spec, over)))
    }

    /// The cases that are scripts, which are the ones that two transports can be compared by.
    pub(super) fn scripted(&self) -> BTreeSet<String> {
        let scripts = self.cases.iter().filter(|case| !case.starts_with(PROPERTY));
        scripts.cloned().collect()
    }

    /// Whether these are all cases that there are.
    pub(super) fn is_all(&self, cases: &BTreeSet<String>) -> bool {
        self.cases.iter().all(|case| cases.contains(case))
    }
}

/// The arguments of a run, of those that people give and those that follow from the test.
fn parse(given: &[String], of: Option<(&str, Over)>) -> Result<RunArgs, UserError> {
    let mut words = vec!["mcp-hil".to_owned(), "run".to_owned()];
    let mut given = given.iter();
    while let Some(word) = given.next() {
        // The device and its transport are the test's own.
        match (word.as_str(), of) {
            ("--transport", Some(_)) => drop(given.next()),
            (word, Some(_)) if word.starts_with("--transport=") => {}
            _ => words.push(word.clone()),
        }
    }
    if let Some((spec, over)) = of {
        let over = over.to_string();
        words.extend(["--dut", spec, "--transport", &over].map(str::to_owned));
    }
    let refuse = |what: String| UserError::usage(what, "check MCP_HIL_RUN_ARGS");
    let mut command = Cli::command();
    command.build();
    let typed = command.clone().try_get_matches_from(&words);
    let typed = typed.map_err(|error| refuse(error.to_string()))?;
    let file = std::fs::read_to_string(PROFILES).ok();
    let added = from_profile(&command, &typed, file.as_deref())?;
    let words = words.into_iter().map(OsString::from).chain(added);
    let cli = Cli::try_parse_from(words).map_err(|error| refuse(error.to_string()))?;
    match cli.command {
        Command::Run(args) if args.shard.is_none() => Ok(*args),
        Command::Run(_) => Err(refuse("tests are not split with `--shard`".into())),
        _ => Err(refuse("expected arguments of `mcp-hil run`".into())),
    }
}

/// A device, as far as it is known without starting it.
fn device(spec: &str, args: &RunArgs) -> Result<Device, UserError> {
    let asked = args.transport.map(|transports| transports.list());
    if !spec.ends_with(".toml") {
        let (name, by_others) = match spec.split_once(':') {
            Some((kind, _)) => (kind, true),
            None => (spec, spec == "wait"),
        };
        // The reference device speaks both; of others that is not known.
        let all = match by_others {
            true => vec![Transport::WebSocket],
            false => vec![Transport::WebSocket, Transport::Mqtt],
        };
        return Ok(Device {
            spec: spec.to_owned(),
            name: name.to_owned(),
            transports: asked.unwrap_or(all),
        });
    }
    let file = DutFile::read(Path::new(spec))?;
    let named = match &file.transports[..] {
        [] => vec![Transport::WebSocket],
        named => named.to_vec(),
    };
    let mut transports = asked.unwrap_or_else(|| named.clone());
    transports.retain(|transport| named.contains(transport));
    if transports.is_empty() {
        return Err(UserError::usage(
            format!("`{spec}`: the file lists none of the requested transports"),
            "leave `--transport` out of MCP_HIL_RUN_ARGS",
        ));
    }
    Ok(Device { spec: spec.to_owned(), name: file.name, transports })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bench with some variables set.
    fn bench(variables: &[(&str, &str)], declared: &[PathBuf]) -> Result<Bench, UserError> {
        let variable = |name: &str| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        };
        Bench::find(&variable, declared, &mut |_| {})
    }

    fn names(bench: &Bench) -> Vec<String> {
        bench.tests().into_iter().map(|test| test.name).collect()
    }

    #[test]
    fn each_case_is_a_test_of_its_own_with_a_name_to_filter_by() {
        let found = bench(&[(DUTS, "native, exec:my device")], &[]).unwrap();
        let names = names(&found);
        for name in [
            "native::websocket::session::bring-up",
            "native::mqtt::ids::large",
            "native::mqtt::properties::ids",
            "native::mqtt::run::coverage",
            "native::both::transport::same-answers",
            "exec::websocket::volume::set",
        ] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
        assert!(!names.iter().any(|name| name.starts_with("exec::mqtt")));
        let unique: BTreeSet<&String> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        assert_eq!(names, self::names(&bench(&[(DUTS, "native,exec:my device")], &[]).unwrap()));
    }

    #[test]
    fn arguments_of_a_run_select_cases_and_transports() {
        let arguments = "--only ids/ --transport mqtt --seed 3";
        let found = bench(&[(DUTS, "native"), (ARGUMENTS, arguments)], &[]).unwrap();
        let names = names(&found);
        assert!(names.iter().all(|name| name.starts_with("native::mqtt::")), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("::list::")), "{names:?}");
        let args = found.arguments(&found.devices[0], Over::Both).unwrap();
        assert_eq!((&args.dut[..], args.seed), (&["native".to_owned()][..], Some(3)));
        assert_eq!(args.transport.map(|transports| transports.list().len()), Some(2));
        for bad in ["--onyl x", "--only nothing/", "--shard 1/2 --seed 1"] {
            let refusal = bench(&[(DUTS, "native"), (ARGUMENTS, bad)], &[]).unwrap_err();
            assert!(refusal.hint.is_some(), "{refusal}");
        }
    }

    #[test]
    fn devices_are_those_that_are_named_then_declared_boards_then_the_usual_ones() {
        let place = std::env::temp_dir().join(format!("mcp-hil-bench-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let file = place.join("desk.toml");
        let text = "name = \"desk\"\ntarget = \"wait\"\ntransports = [\"mqtt\"]\n";
        std::fs::write(&file, text).unwrap();
        let declared = [file.clone()];
        let specs = |bench: Bench| -> Vec<String> {
            bench.devices.into_iter().map(|device| device.name).collect()
        };
        let named = bench(&[(DUTS, "native")], &declared).unwrap();
        assert_eq!(specs(named), ["native"]);
        let boards = bench(&[], &declared).unwrap();
        assert_eq!(boards.devices[0].transports, [Transport::Mqtt]);
        assert_eq!(specs(boards), ["desk"]);
        let usual = bench(&[(ARGUMENTS, "--prefer native")], &[]).unwrap();
        assert_eq!(specs(usual), ["native"]);
        let twice = [file.clone(), file];
        let refusal = bench(&[], &twice).unwrap_err();
        assert!(refusal.what.contains("two devices are named `desk`"), "{}", refusal.what);
        // Boards are not looked for here: they come as files.
        let nothing = bench(&[(ARGUMENTS, "--prefer board")], &[]).unwrap_err();
        assert!(nothing.what.contains("found no device"), "{nothing}");
        std::fs::remove_dir_all(place).unwrap();
    }
}
