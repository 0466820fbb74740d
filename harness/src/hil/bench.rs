//! Which devices there are, and which tests that makes. Nothing is built or started: test programs are
//! asked for their list often, and must give the same one each time.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use clap::Parser;
use mcp_hil_core::compare::SAME_ANSWERS;
use mcp_hil_core::transcript::{BRING_UP, CLOSE, PROPERTY, Transport};

use super::{ARGUMENTS, DUTS};
use crate::cli::{Cli, Command, RunArgs};
use crate::dut::{DutFile, first_at_hand};
use crate::exit;
use crate::plan::{Refusal, selected};
use crate::run::BOTH;

/// The case of a lane that shows whether all requirements were exercised, and the baseline is true.
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
    /// The devices that `variable` names, else those of `attached` files, else the one that
    /// `--dut auto` would fall back to. `say` is told what is passed over.
    ///
    /// # Errors
    ///
    /// A variable or file with a mistake, two devices of one name, or no device at all.
    pub fn find(
        variable: &dyn Fn(&str) -> Option<String>,
        attached: &[PathBuf],
        say: &mut dyn FnMut(&str),
    ) -> Result<Self, Refusal> {
        let words = |name: &str, separator: &dyn Fn(char) -> bool| -> Vec<String> {
            let value = variable(name).unwrap_or_default();
            let words = value.split(separator).map(str::trim);
            words
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let arguments = words(ARGUMENTS, &char::is_whitespace);
        let args = parse(&arguments, None)?;
        let mut specs = words(DUTS, &|c| c == ',');
        if specs.is_empty() {
            specs = attached
                .iter()
                .map(|path| path.display().to_string())
                .collect();
        }
        if specs.is_empty() {
            let kind = first_at_hand(&args.prefer, args.firmware.as_deref(), say)?;
            specs.push(kind.name().to_owned());
        }
        let devices = specs.iter().map(|spec| device(spec, &args));
        let devices = devices.collect::<Result<Vec<_>, _>>()?;
        let mut names = BTreeSet::new();
        if let Some(twice) = devices.iter().find(|device| !names.insert(&device.name)) {
            return Err(Refusal::usage(
                format!("two devices are named `{}`", twice.name),
                "names are those of tests: give each file a `name` of its own",
            ));
        }
        let cases = selected(&args)?;
        if cases.is_empty() {
            return Err(Refusal {
                exit: exit::NOTHING_RAN,
                ..Refusal::usage("no case is selected", "look at MCP_HIL_RUN_ARGS")
            });
        }
        Ok(Self {
            devices,
            arguments,
            cases,
        })
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
    pub(super) fn arguments(&self, device: &Device, over: Over) -> Result<RunArgs, Refusal> {
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
fn parse(given: &[String], of: Option<(&str, Over)>) -> Result<RunArgs, Refusal> {
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
    let refuse = |what: String| Refusal::usage(what, "check MCP_HIL_RUN_ARGS");
    let cli = Cli::try_parse_from(words).map_err(|error| refuse(error.to_string()))?;
    match cli.command {
        Command::Run(args) if args.shard.is_none() => Ok(*args),
        Command::Run(_) => Err(refuse("tests are not split with `--shard`".into())),
        _ => Err(refuse("expected arguments of `mcp-hil run`".into())),
    }
}

/// A device, as far as it is known without starting it.
fn device(spec: &str, args: &RunArgs) -> Result<Device, Refusal> {
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
        return Err(Refusal::usage(
            format!("`{spec}`: the file names none of the transports that are asked for"),
            "leave `--transport` out of MCP_HIL_RUN_ARGS",
        ));
    }
    Ok(Device {
        spec: spec.to_owned(),
        name: file.name,
        transports,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bench with some variables set.
    fn bench(variables: &[(&str, &str)], attached: &[PathBuf]) -> Result<Bench, Refusal> {
        let variable = |name: &str| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        };
        Bench::find(&variable, attached, &mut |_| {})
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
        assert_eq!(
            names,
            self::names(&bench(&[(DUTS, "native,exec:my device")], &[]).unwrap())
        );
    }

    #[test]
    fn arguments_of_a_run_select_cases_and_transports() {
        let arguments = "--only ids/ --transport mqtt --seed 3";
        let found = bench(&[(DUTS, "native"), (ARGUMENTS, arguments)], &[]).unwrap();
        let names = names(&found);
        assert!(
            names.iter().all(|name| name.starts_with("native::mqtt::")),
            "{names:?}"
        );
        assert!(
            !names.iter().any(|name| name.contains("::list::")),
            "{names:?}"
        );
        let args = found.arguments(&found.devices[0], Over::Both).unwrap();
        assert_eq!((&*args.dut, args.seed), ("native", Some(3)));
        assert_eq!(
            args.transport.map(|transports| transports.list().len()),
            Some(2)
        );
        for bad in ["--onyl x", "--only nothing/", "--shard 1/2 --seed 1"] {
            let refusal = bench(&[(DUTS, "native"), (ARGUMENTS, bad)], &[]).unwrap_err();
            assert!(refusal.text.contains("hint: "), "{}", refusal.text);
        }
    }

    #[test]
    fn devices_are_those_that_are_named_then_attached_boards_then_the_usual_ones() {
        let place = std::env::temp_dir().join(format!("mcp-hil-bench-{}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        let file = place.join("desk.toml");
        let text = "name = \"desk\"\ntarget = \"wait\"\ntransports = [\"mqtt\"]\n";
        std::fs::write(&file, text).unwrap();
        let attached = [file.clone()];
        let specs = |bench: Bench| -> Vec<String> {
            bench
                .devices
                .into_iter()
                .map(|device| device.name)
                .collect()
        };
        let named = bench(&[(DUTS, "native")], &attached).unwrap();
        assert_eq!(specs(named), ["native"]);
        let boards = bench(&[], &attached).unwrap();
        assert_eq!(boards.devices[0].transports, [Transport::Mqtt]);
        assert_eq!(specs(boards), ["desk"]);
        let usual = bench(&[(ARGUMENTS, "--prefer native")], &[]).unwrap();
        assert_eq!(specs(usual), ["native"]);
        let twice = [file.clone(), file];
        let refusal = bench(&[], &twice).unwrap_err();
        assert!(
            refusal.text.contains("two devices are named `desk`"),
            "{}",
            refusal.text
        );
        // Boards are not looked for here: they come as files.
        let nothing = bench(&[(ARGUMENTS, "--prefer board")], &[]).unwrap_err();
        assert!(nothing.text.contains("finds no device"), "{}", nothing.text);
        std::fs::remove_dir_all(place).unwrap();
    }
}
