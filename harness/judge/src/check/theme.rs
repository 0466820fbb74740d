//! Themes that a device says it has selected.
//!
//! Stock firmware describes `self.screen.set_theme` as taking `light` or `dark`, answers `true` where it knows the name, and
//! shows the theme in its status (device-protocol 7). What the status calls it is open; but who took both has to show
//! two.

use mcp_hil_core::capability::STATUS_TOOL;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::{Duty, Owes};
use mcp_hil_core::transcript::{Role, What};
use mcp_hil_core::wire::Frame;
use serde_json::Value;

use super::log::{CaseLog, settings};
use super::sink::{Sink, evidence};

const THEMES: [&str; 2] = ["light", "dark"];

/// What the status showed directly after each of the themes was taken.
#[derive(Debug, Default)]
pub(super) struct Themes {
    shown: [Option<Value>; 2],
}

/// What a message asks for.
enum Ask {
    Theme(usize),
    Status,
    /// Something that may select a theme in its own way.
    Other,
    /// Nothing that has to do with it.
    Apart,
}

impl Themes {
    /// Judges the readings of a case.
    pub(super) fn end_case(&mut self, log: &CaseLog, sink: &mut Sink) {
        let (mut asked, mut taken, mut reading) = (None, None, None);
        for logged in &log.entries {
            let seq = logged.entry.seq;
            match &logged.entry.what {
                What::Sent { role, frame: Frame::Text(text) } if *role != Role::Hello => {
                    match ask(text) {
                        Ask::Theme(theme) => {
                            (asked, taken, reading) = (Some((seq, theme)), None, None)
                        }
                        // In flight with it, too: its answer has to come behind that of the theme.
                        Ask::Status => reading = asked.map(|(_, theme)| (seq, theme)),
                        Ask::Other => (asked, taken, reading) = (None, None, None),
                        Ask::Apart => {}
                    }
                }
                What::Received { .. } => {
                    let answers = |to: Option<(u64, usize)>| {
                        to.filter(|(to, _)| logged.answers == Some(*to)).map(|(_, theme)| theme)
                    };
                    let answer = || {
                        let answer = logged.answers.and_then(|to| log.answer_to(to));
                        Value::Object(answer.unwrap_or_default())
                    };
                    if let Some(theme) = answers(asked) {
                        taken = (answer()["text"] == "true").then_some(theme);
                    } else if let Some(theme) = answers(reading).filter(|_| taken.is_some()) {
                        let status = settings(&answer());
                        let shown = status.and_then(|all| all.get("/screen/theme").cloned());
                        self.showed(theme, shown, seq, sink);
                    }
                }
                What::LinkUp { .. } | What::LinkDown { .. } | What::Target { .. } => {
                    (asked, taken, reading) = (None, None, None);
                }
                _ => {}
            }
        }
    }

    /// The status showed something after a theme was taken.
    fn showed(&mut self, theme: usize, shown: Option<Value>, seq: u64, sink: &mut Sink) {
        self.shown[theme] = shown;
        if let [Some(light), Some(dark)] = &self.shown {
            sink.test(Id::CallSuccess, light != dark, || {
                evidence(
                    "another `screen.theme` after `dark` than after `light`: `self.screen.set_theme` answered `true` \
                     to both",
                    format!("{light} after both"),
                    seq,
                )
            });
        }
    }
}

fn ask(text: &str) -> Ask {
    if !text.contains("self.") && text.contains("\"mcp\"") && !text.contains("\\u") {
        return Ask::Apart;
    }
    let duty = Duty::of(&Frame::Text(text.to_owned()));
    match duty.tool.as_deref().filter(|_| duty.owes == Owes::Answer) {
        Some(STATUS_TOOL) => Ask::Status,
        Some("self.screen.set_theme") => {
            let message: Value = serde_json::from_str(text).unwrap_or_default();
            let theme = message.pointer("/payload/params/arguments/theme").and_then(Value::as_str);
            let known = THEMES.iter().position(|known| theme == Some(*known));
            known.map_or(Ask::Other, Ask::Theme)
        }
        _ => Ask::Other,
    }
}
