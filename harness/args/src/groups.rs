//! The list of commands as people read it: by what they are for.

use clap::{Arg, Command, CommandFactory as _};

use super::Cli;

/// Headings, each with its commands in the order in which a newcomer needs them.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Begin", &["init"]),
    ("Test devices", &["run", "soak", "list", "explain", "self-test"]),
    ("Work with results", &["replay", "diff", "merge", "coverage", "baseline", "review", "clean"]),
    ("Boards and emulators", &["duts", "doctor", "flash", "firmware", "setup"]),
    ("Play a role without testing", &["serve", "gateway", "native"]),
    ("Fit in", &["completions", "man", "schema"]),
    ("Help", &["help"]),
];

/// The command line of the program, with one more command, which is not the library's.
pub fn command(native: Command) -> Command {
    let mut cli = without_empty_variables(Cli::command().subcommand(native));
    cli.build();
    let text = text(&cli);
    cli.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{text}\nOptions:\n{{options}}\n\n\
         `mcp-hil help COMMAND` describes a command."
    ))
}

/// A variable that is set and empty counts as one that is not set, as a workflow sets one for which it has no value.
fn without_empty_variables(command: Command) -> Command {
    let is_empty = |argument: &Arg| {
        let value = argument.get_env().and_then(std::env::var_os);
        value.is_some_and(|value| value.is_empty())
    };
    command
        .mut_args(|argument| match is_empty(&argument) {
            true => argument.env(None::<&'static str>),
            false => argument,
        })
        .mut_subcommands(without_empty_variables)
}

fn text(cli: &Command) -> String {
    let mut text = String::new();
    for (heading, names) in GROUPS {
        text.push_str(&format!("\n{heading}:\n"));
        let listed = names.iter().filter_map(|name| cli.find_subcommand(name));
        for command in listed {
            let about = command.get_about().map(ToString::to_string);
            let about = about.unwrap_or_default();
            text.push_str(&format!("  {:<10} {about}\n", command.get_name()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_people_see_is_in_one_group_and_fits_80_columns() {
        let mut cli = Cli::command().subcommand(Command::new("native").about("The device"));
        cli.build();
        let mut visible: Vec<&str> = cli
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        visible.sort_unstable();
        listed.sort_unstable();
        assert_eq!(visible, listed);
        let text = text(&cli);
        // Of the program, not of this package.
        let about = cli.get_about().map(ToString::to_string);
        assert!(about.is_some_and(|it| it.contains("ESP32 device")));
        let long: Vec<&str> = text.lines().filter(|line| line.len() > 80).collect();
        assert!(long.is_empty(), "{long:#?}");
    }
}
