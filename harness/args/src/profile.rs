//! `mcp-hil.toml`: options of `run` that need not be typed each time.
//!
//! The keys of a profile are the long names of the options, and what they hold is what would be typed behind them.
//! Whatever is typed, or set in the environment, comes first; then the profile that was asked for, then `default`.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use mcp_hil_core::problem::{Problem, nearest};
use serde_json::{Map, Value, json};
use toml::de::{DeTable, DeValue};

/// The file, looked for where the program is started.
pub const PROFILES: &str = "mcp-hil.toml";

/// The profile that always applies.
const DEFAULT: &str = "default";

/// In the place of a profile: none applies, not even [`DEFAULT`].
const NONE: &str = "none";

/// The table in the file that holds the profiles.
const TABLE: &str = "profile";

/// The option that names a profile.
const OPTION: &str = "profile";

/// The command whose options these are.
const RUN: &str = "run";

/// The command that repeats what that does, with the same options.
const SOAK: &str = "soak";

/// What is to be typed behind `words`, the whole command line, so that the profiles in the file apply: nothing where
/// they are of another command than `run` and `soak`. `file` is the text of [`PROFILES`], where there is one.
///
/// # Errors
///
/// An unknown profile, an unknown key, or a value that its option does not take, with the place in the file.
pub fn from_profile(
    command: &Command,
    matches: &ArgMatches,
    file: Option<&str>,
) -> Result<Vec<OsString>, Problem> {
    let Some((RUN | SOAK, typed)) = matches.subcommand() else {
        return Ok(Vec::new());
    };
    let Some(run) = command.find_subcommand(RUN) else {
        return Ok(Vec::new());
    };
    let asked = typed.get_one::<String>(OPTION).map(String::as_str);
    if asked == Some(NONE) {
        return Ok(Vec::new());
    }
    let Some(text) = file else {
        return match asked {
            None => Ok(Vec::new()),
            Some(name) => Err(Problem::at(PROFILES, 0, 0, format!("no profile `{name}`"))
                .hint(format!("there is no file `{PROFILES}` in this folder"))),
        };
    };
    let profiles = Profiles { text, run };
    let names: Vec<&str> = asked.into_iter().filter(|name| *name != DEFAULT).collect();
    profiles.words(&names, typed)
}

/// The JSON Schema of the file: its keys are the options of `run` in `command`.
pub fn profile_schema(command: &Command) -> Value {
    let run = command.find_subcommand(RUN);
    let options = run.map(|run| Profiles { text: "", run });
    let keys: Map<String, Value> = options
        .iter()
        .flat_map(Profiles::options_of_run)
        .filter_map(|argument| Some((argument.get_long()?.to_owned(), option_schema(argument))))
        .collect();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Options of `mcp-hil run`, by profile",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            TABLE: {
                "type": "object",
                "additionalProperties": {"$ref": "#/definitions/Options"}
            }
        },
        "definitions": {
            "Options": {"type": "object", "additionalProperties": false, "properties": keys}
        }
    })
}

/// What may stand behind the key of an option; [`words`] is what reads it.
fn option_schema(argument: &Arg) -> Value {
    let about = argument.get_help().map(ToString::to_string).unwrap_or_default();
    if !argument.get_action().takes_values() {
        return json!({"description": about, "type": "boolean"});
    }
    let names: Vec<String> =
        argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let is_list = argument.get_value_delimiter().is_some();
    // Of a list in one text only the program knows the parts.
    let one = match names.is_empty() {
        true => json!({"type": ["string", "number"]}),
        false => json!({"enum": names}),
    };
    let mut forms = vec![one.clone()];
    if is_list && !names.is_empty() {
        forms.push(json!({"type": "string", "pattern": ","}));
    }
    if argument.get_num_args().is_some_and(|range| range.min_values() == 0) {
        forms.push(json!({"type": "boolean"}));
    }
    if is_list || matches!(argument.get_action(), ArgAction::Append) {
        forms.push(json!({"type": "array", "items": one}));
    }
    json!({"description": about, "anyOf": forms})
}

/// The file and what may stand in it.
struct Profiles<'a> {
    text: &'a str,
    run: &'a Command,
}

impl Profiles<'_> {
    /// What profiles say of options that nobody has typed; the first of `names` that says something of an option wins,
    /// and [`DEFAULT`] comes last.
    fn words(&self, names: &[&str], typed: &ArgMatches) -> Result<Vec<OsString>, Problem> {
        let root = DeTable::parse(self.text)
            .map_err(|error| Problem::from_toml(PROFILES, self.text, &error))?;
        let mut profiles = None;
        for (key, value) in root.get_ref() {
            match (key.get_ref().as_ref(), value.get_ref()) {
                (TABLE, DeValue::Table(table)) => profiles = Some(table),
                (other, _) => {
                    let what =
                        format!("`{other}`: expected tables `[{TABLE}.NAME]` and nothing else");
                    let hint = format!("for example `[{TABLE}.{DEFAULT}]`");
                    return Err(self.at(key.span().start, what).hint(hint));
                }
            }
        }
        let mut words = Vec::new();
        let mut known: Vec<&str> = Vec::new();
        let mut chosen = Vec::new();
        for (key, value) in profiles.into_iter().flatten() {
            let name = key.get_ref().as_ref();
            let DeValue::Table(table) = value.get_ref() else {
                let what = format!("`{TABLE}.{name}`: expected a table of options");
                return Err(self.at(key.span().start, what));
            };
            // A mistake is one in any profile: the one that is used tomorrow, too.
            let options = self.options(table)?;
            known.push(name);
            let place = names.iter().chain([&DEFAULT]).position(|wanted| *wanted == name);
            chosen.extend(place.map(|place| (place, options)));
        }
        if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
            return Err(no_profile(unknown, &known));
        }
        chosen.sort_by_key(|(place, _)| *place);
        let mut said: Vec<&Arg> = Vec::new();
        for (argument, values) in chosen.into_iter().flat_map(|(_, options)| options) {
            let is_said = said.iter().any(|other| self.excludes(other, argument));
            if !is_said && !self.is_typed(argument, typed) {
                words.extend(values);
                said.push(argument);
            }
        }
        Ok(words)
    }

    /// The options of a profile, each with the words that say it.
    fn options(&self, table: &DeTable<'_>) -> Result<Vec<(&Arg, Vec<OsString>)>, Problem> {
        let mut options = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let argument = self.options_of_run().find(|it| it.get_long() == Some(name));
            let Some(argument) = argument else {
                return Err(self.unknown_key(key.span().start, name));
            };
            let words = words(argument, name, value.get_ref());
            let words = words.map_err(|what| {
                self.at(key.span().start, what)
                    .hint(format!("`mcp-hil run --help` explains `--{name}`"))
            })?;
            self.try_out(&words).map_err(|what| self.at(key.span().start, what))?;
            options.push((argument, words));
        }
        Ok(options)
    }

    fn options_of_run(&self) -> impl Iterator<Item = &Arg> {
        let own =
            |argument: &&Arg| ![Some(OPTION), Some("help"), None].contains(&argument.get_long());
        self.run.get_arguments().filter(own)
    }

    fn unknown_key(&self, offset: usize, name: &str) -> Problem {
        let known: Vec<&str> = self.options_of_run().filter_map(Arg::get_long).collect();
        let problem = self
            .at(offset, format!("unknown option `{name}`: `mcp-hil run` has none of that name"));
        match (name, nearest(name, known)) {
            (OPTION, _) => {
                problem.hint("a profile cannot name another one; `default` always applies")
            }
            (_, Some(near)) => problem.hint(format!("did you mean `{near}`?")),
            (_, None) => problem.hint(
                "keys are the names of options without `--`; `mcp-hil run --help` lists them",
            ),
        }
    }

    /// Has words of one option read, as if they alone were typed.
    fn try_out(&self, words: &[OsString]) -> Result<(), String> {
        let name = OsString::from(RUN);
        let line = std::iter::once(&name).chain(words);
        match self.run.clone().try_get_matches_from(line) {
            Ok(_) => Ok(()),
            Err(error) => {
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default();
                Err(first.trim_start_matches("error: ").to_owned())
            }
        }
    }

    /// Whether an option is given already, in any form that leaves no room for a profile.
    fn is_typed(&self, argument: &Arg, typed: &ArgMatches) -> bool {
        self.run.get_arguments().filter(|other| self.excludes(other, argument)).any(|other| {
            let source = typed.value_source(other.get_id().as_str());
            matches!(source, Some(ValueSource::CommandLine | ValueSource::EnvVariable))
        })
    }

    /// Whether two options are the same, or cannot stand together.
    fn excludes(&self, one: &Arg, other: &Arg) -> bool {
        let conflicts = |one: &Arg, other: &Arg| {
            let conflicts = self.run.get_arg_conflicts_with(one);
            conflicts.iter().any(|it| it.get_id() == other.get_id())
        };
        one.get_id() == other.get_id() || conflicts(one, other) || conflicts(other, one)
    }

    fn at(&self, offset: usize, what: impl Into<String>) -> Problem {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() as u64 + 1;
        Problem::at(PROFILES, line, 0, what)
    }
}

fn no_profile(name: &str, known: &[&str]) -> Problem {
    let problem = Problem::at(PROFILES, 0, 0, format!("no profile `{name}`"));
    match (nearest(name, known.iter().copied()), known) {
        (Some(near), _) => problem.hint(format!("did you mean `{near}`?")),
        (None, []) => problem.hint(format!("add it: `[{TABLE}.{name}]`")),
        (None, known) => problem.hint(format!("it has `{}`", known.join("`, `"))),
    }
}

/// The words that say an option with a value of the file.
fn words(argument: &Arg, name: &str, value: &DeValue<'_>) -> Result<Vec<OsString>, String> {
    let option = format!("--{name}");
    let takes_value = argument.get_action().takes_values();
    let may_be_bare = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
    let word = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        other => Err(format!("`{name}`: expected text or a number, got {}", kind(other))),
    };
    match value {
        DeValue::Boolean(false) if !takes_value || may_be_bare => Ok(Vec::new()),
        DeValue::Boolean(true) if !takes_value || may_be_bare => Ok(vec![option.into()]),
        other if !takes_value => {
            Err(format!("`{name}`: expected `true` or `false`, got {}", kind(other)))
        }
        DeValue::Array(values) => {
            let values = values.iter().map(|value| word(value.get_ref()));
            let values = values.collect::<Result<Vec<_>, _>>()?;
            if let Some(delimiter) = argument.get_value_delimiter() {
                return Ok(vec![
                    format!("{option}={}", values.join(&delimiter.to_string())).into(),
                ]);
            }
            if values.len() > 1 && !matches!(argument.get_action(), ArgAction::Append) {
                return Err(format!("`{name}`: expected one value, got {}", values.len()));
            }
            Ok(values.iter().map(|value| format!("{option}={value}").into()).collect())
        }
        one => Ok(vec![format!("{option}={}", word(one)?).into()]),
    }
}

fn kind(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Boolean(given) => format!("`{given}`"),
        DeValue::String(text) => format!("`{text}`"),
        other => format!("a value of the type {}", other.type_str()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    const FILE: &str = r#"
[profile.default]
out = "runs"
strict = true
verbose = true
prefer = ["qemu", "native"]

[profile.ci]
dut = ["a.toml", "b.toml"]
strict = false
inputs = 100
deadline = "5s"
fallback = true
"#;

    /// What is typed behind `mcp-hil run`, with what the file adds.
    fn behind(words: &[&str], file: &str) -> Result<Vec<String>, String> {
        let mut command = Cli::command();
        command.build();
        let line = ["mcp-hil", "run"].iter().chain(words);
        let matches = command.clone().get_matches_from(line);
        let added = from_profile(&command, &matches, Some(file));
        let added = added.map_err(|problem| problem.to_string())?;
        let added: Vec<String> =
            added.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let whole = ["mcp-hil", "run"].iter().chain(words).map(|word| (*word).to_owned());
        let parsed = command.try_get_matches_from(whole.chain(added.clone()));
        parsed.map(|_| added).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_typed_comes_before_the_profile_and_the_profile_before_the_default() {
        let default = ["--out=runs", "--prefer=qemu,native", "--strict", "--verbose"];
        assert_eq!(behind(&[], FILE).unwrap(), default);
        assert_eq!(behind(&["--profile", "default"], FILE).unwrap(), default);
        let ci = [
            "--deadline=5s",
            "--dut=a.toml",
            "--dut=b.toml",
            "--fallback",
            "--inputs=100",
            "--out=runs",
            "--prefer=qemu,native",
            "--verbose",
        ];
        assert_eq!(behind(&["--profile", "ci"], FILE).unwrap(), ci);
        let typed =
            ["--profile", "ci", "--dut", "native", "--inputs", "3", "--quiet", "--fallback"];
        let left = ["--deadline=5s", "--out=runs", "--prefer=qemu,native"];
        assert_eq!(behind(&typed, FILE).unwrap(), left);
        assert!(behind(&["--profile", "none"], FILE).unwrap().is_empty());
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_what_was_probably_meant() {
        for (text, told) in [
            (
                "[profile.ci]\nstrikt = true",
                "mcp-hil.toml:2: unknown option `strikt`|mean `strict`?",
            ),
            ("[profile.ci]\nprofile = 'a'", "unknown option `profile`|cannot name another"),
            ("[profile.ci]\nstrict = 'yes'", ":2: `strict`: expected `true` or `false`, got `yes`"),
            ("[profile.ci]\ndut = true", ":2: `dut`: expected text or a number, got `true`"),
            ("[profile.ci]\n\ninputs = 'many'", ":3: invalid value 'many' for '--inputs"),
            ("[profile.ci]\nout = ['a', 'b']", "`out`: expected one value, got 2"),
            (
                "[profiles.ci]\n",
                ":1: `profiles`: expected tables `[profile.NAME]`|[profile.default]",
            ),
            ("profile = 3", "`profile`: expected tables"),
            ("[profile]\nci = 3", ":2: `profile.ci`: expected a table of options"),
            ("[profile.ci\n", "mcp-hil.toml:1:"),
        ] {
            let told_of = behind(&[], text).unwrap_err();
            for part in told.split('|') {
                assert!(told_of.contains(part), "{text}\n{told_of}");
            }
        }
        let unknown = behind(&["--profile", "cii"], FILE).unwrap_err();
        assert!(unknown.contains("no profile `cii`") && unknown.contains("`ci`?"), "{unknown}");
    }

    #[test]
    fn other_commands_and_folders_without_the_file_have_no_profile() {
        let mut command = Cli::command();
        command.build();
        let matches = |words: &[&str]| command.clone().get_matches_from(words);
        let of = |words: &[&str], file| from_profile(&command, &matches(words), file);
        assert_eq!(of(&["mcp-hil", "list"], Some("nonsense")), Ok(Vec::new()));
        assert_eq!(of(&["mcp-hil", "run"], None), Ok(Vec::new()));
        let none = of(&["mcp-hil", "run", "--profile", "ci"], None).unwrap_err();
        assert!(none.to_string().contains("no file `mcp-hil.toml`"), "{none}");
    }
}
