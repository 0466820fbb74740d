//! The settings beside the level, in a sequence of commands: each keeps what its own command gave it,
//! whatever else happens.
//!
//! What a theme is called, and whether a display takes it, is open. So what was read is bound, and has
//! to be read again until another command of the same setting comes.

use mcp_hil_core::catalogue::RequirementId as Id;
use serde_json::{Map, Value, json};

use crate::command::Command;
use crate::context::Context;
use crate::steps::StepExt as _;
use crate::steps::{self, call};
use crate::tool_names::{SET_BRIGHTNESS, SET_THEME};
use mcp_hil_scenario::{Action, Answer, Outgoing, Step};

/// Lights that devices of the family have (device-protocol 7), and the one of the reference device.
const LAMPS: [&str; 3] = ["self.lamp", "self.light", "self.led"];

/// Where the status shows the brightness.
const BRIGHTNESS: &str = "/json/screen/brightness";

/// Which settings take part, and what is known of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Others {
    pub(super) brightness: bool,
    pub(super) theme: bool,
    /// The name before `.turn_on`, `.turn_off` and `.get_state`.
    pub(super) lamp: Option<String>,
    /// Whether the latest reading of the brightness, which was set, still holds.
    shown: bool,
    /// The names of the latest readings of brightness, theme and light: how many there were.
    brightnesses: usize,
    themes: usize,
    lights: usize,
    /// Whether the latest reading of the light still holds.
    lit: bool,
    /// The readings of the light when it was switched off, and on.
    seen: [Option<usize>; 2],
}

impl Others {
    /// What this device has.
    pub(super) fn of(context: &Context) -> Self {
        let lamp = LAMPS.into_iter().find(|lamp| {
            let callable = |tool: &str| context.callable(&format!("{lamp}.{tool}"));
            ["turn_on", "turn_off", "get_state"].into_iter().all(callable)
        });
        Self {
            brightness: context.can("brightness") && context.callable(SET_BRIGHTNESS),
            theme: context.can("theme") && context.callable(SET_THEME),
            lamp: lamp.map(str::to_owned),
            ..Self::default()
        }
    }

    /// What takes no part.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let parts = [
            (self.brightness, "brightness"),
            (self.theme, "theme"),
            (self.lamp.is_some(), "light"),
        ];
        let missing = parts.into_iter().filter(|(there, _)| !there);
        missing.map(|(_, name)| name).collect()
    }

    /// Reads what there is before the first command.
    pub(super) fn begin(&mut self, steps: &mut Vec<Step>) {
        if self.theme {
            let mut reading = steps::status();
            self.bind_theme(&mut reading);
            steps.push(reading);
        }
    }

    /// Follows a command, whose reading of the status is the last step if there is one.
    pub(super) fn follow(&mut self, command: &Command, steps: &mut Vec<Step>) {
        if !steps.last().is_some_and(is_status) {
            steps.push(steps::status());
        }
        let Some(mut reading) = steps.pop() else {
            return;
        };
        // A command of one setting leaves the others as they are.
        let slug = match command {
            Command::Reconnect => Id::SessionStateKept,
            _ => Id::StatusKept,
        };
        let rebooted = matches!(command, Command::Reboot);
        if rebooted {
            // What survives is nobody's promise.
            self.shown = false;
            self.lit = false;
        }
        let mut screen = Map::new();
        if let Command::Brightness(to) = command {
            // A backlight may have steps, and never be dark. What it shows then is what it keeps.
            reading = reading.shows(Id::CallBrightnessShown, BRIGHTNESS, (*to).into());
            self.brightnesses += 1;
            self.shown = true;
            reading.bind.insert(format!("brightness{}", self.brightnesses), BRIGHTNESS.into());
        } else if self.shown {
            let kept = Value::from(format!("${{brightness{}}}", self.brightnesses));
            screen.insert("brightness".into(), kept);
        }
        if self.theme && !rebooted {
            let kept = Value::from(format!("${{theme{}}}", self.themes));
            let shown = match command {
                // A display may take another one in the place of a theme that it lacks, and call it what it likes.
                Command::Theme(_) => None,
                _ => Some(kept),
            };
            screen.extend(shown.map(|shown| ("theme".into(), shown)));
        }
        if !screen.is_empty() {
            reading = reading.shows_as_bound(slug, "/json/screen", screen.into());
        }
        let reconnected = matches!(command, Command::Reconnect);
        if self.theme && (reconnected || rebooted || matches!(command, Command::Theme(_))) {
            self.bind_theme(&mut reading);
        }
        steps.push(reading);
        self.follow_light(command, slug, steps);
        if reconnected {
            // That settings survive is a SHOULD: what follows must not be charged as a MUST.
            self.shown = false;
            self.lit = false;
        }
    }

    /// Leaves the light off: how it was is nothing that could be put back.
    pub(super) fn end(&self, steps: &mut Vec<Step>) {
        if let Some(lamp) = self.lamp.as_ref().filter(|_| self.lights > 0) {
            steps.push(call(&format!("{lamp}.turn_off"), json!({})));
        }
    }

    fn bind_theme(&mut self, reading: &mut Step) {
        self.themes += 1;
        let name = format!("theme{}", self.themes);
        reading.bind.insert(name, "/json/screen/theme".into());
    }

    /// Reads the light after its own commands and after each that could disturb it.
    fn follow_light(&mut self, command: &Command, slug: Id, steps: &mut Vec<Step>) {
        let Some(lamp) = &self.lamp else { return };
        let slug = if matches!(command, Command::Light(_)) { Id::CallSuccess } else { slug };
        let reading =
            call(&format!("{lamp}.get_state"), json!({})).answer(Id::CallSuccess, Answer::Result);
        let named = |number: usize| format!("${{light{number}}}");
        match command {
            Command::Light(on) => {
                let (this, other) = (usize::from(*on), usize::from(!*on));
                let mut reading = match (self.seen[this], self.seen[other]) {
                    (Some(same), _) => reading.shows(slug, "/text", named(same).into()),
                    (None, Some(not)) => reading.shows(slug, "/text", json!({"$not": named(not)})),
                    (None, None) => reading,
                };
                self.lights += 1;
                self.lit = true;
                self.seen[this] = Some(self.lights);
                reading.bind.insert(format!("light{}", self.lights), "/text".into());
                steps.push(reading);
            }
            Command::Reconnect | Command::Brightness(_) | Command::Theme(_) if self.lit => {
                steps.push(reading.shows(slug, "/text", named(self.lights).into()));
            }
            Command::Refused(..) | Command::Nameless(..) if self.lit => {
                steps.push(reading.shows(Id::StatusKept, "/text", named(self.lights).into()));
            }
            _ => {}
        }
    }
}

fn is_status(step: &Step) -> bool {
    matches!(step.action, Action::Send(Outgoing::Status))
}
