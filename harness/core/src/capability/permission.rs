//! Which of a device's tools may be called with valid arguments, judged by their names.

use super::{SET_VOLUME, STATUS_TOOL};

/// Which tools may be called with valid arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trust {
    /// Only tools that are known to be harmless on every device of the family.
    #[default]
    WellKnown,
    /// Also tools that set, read, show or play something by their name: the device is a program on this host.
    Simulated,
}

/// Which tools of a device may be called with valid arguments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Permission {
    /// What names may tell.
    pub trust: Trust,
    /// Tools that are harmless whatever their names; `*` stands for any characters, as in the next.
    pub allow: Vec<String>,
    /// Tools that are never called, whatever their names.
    pub deny: Vec<String>,
}

impl Permission {
    /// Whether a tool may be called.
    pub fn allows(&self, name: &str) -> bool {
        !self.denies(name) && (self.names(name) || is_harmless(name, self.trust))
    }

    /// Whether somebody has said of a tool that it may be called.
    pub(super) fn names(&self, name: &str) -> bool {
        self.allow.iter().any(|pattern| fits(name, pattern))
    }

    /// Whether the device may be told to restart. There are two ways, a tool (`self.reboot`) and the
    /// message of type `system` with the command `reboot` (`system.reboot`): who denies one wants a device
    /// that is not restarted, so it stands for both.
    pub fn restarts(&self) -> bool {
        !self.deny.iter().any(|name| is_restart(name))
    }

    /// Whether somebody has said of a tool that it must not be called.
    pub fn denies(&self, name: &str) -> bool {
        self.deny.iter().any(|pattern| fits(name, pattern))
    }
}

impl From<Trust> for Permission {
    fn from(trust: Trust) -> Self {
        Self { trust, ..Self::default() }
    }
}

/// Tools of the family that read or set one harmless value (device-protocol 7).
pub const HARMLESS: [&str; 15] = [
    STATUS_TOOL,
    "self.get_system_info",
    "self.screen.get_info",
    SET_VOLUME,
    "self.audio_speaker.volume_up",
    "self.audio_speaker.volume_down",
    "self.audio_speaker.mute",
    "self.audio_speaker.unmute",
    "self.screen.set_brightness",
    "self.screen.set_theme",
    "self.lamp.get_state",
    "self.battery.get_level",
    "self.led_strip.get_brightness",
    "self.lamp.turn_on",
    "self.lamp.turn_off",
];

/// Words in names of tools that restart, upgrade, re-provision, move or cost something
/// (device-protocol 4.7).
const HARMFUL: [&str; 47] = [
    "reboot",
    "restart",
    "upgrade",
    "firmware",
    "ota",
    "url",
    "wifi",
    "network",
    "provision",
    "reset",
    "factory",
    "aec",
    "talk",
    "switch",
    "trim",
    "trims",
    "servo",
    "move",
    "walk",
    "action",
    "dog",
    "otto",
    "electron",
    "edarobot",
    "robot",
    "chassis",
    "motor",
    "shutdown",
    "standby",
    "sleep",
    "poweroff",
    "exit",
    "quit",
    "goodbye",
    "power",
    "photo",
    "camera",
    "snapshot",
    "delete",
    "lock",
    "update",
    "install",
    "erase",
    "format",
    "dial",
    "pay",
    "buy",
];

/// Those of them that name what moves or is switched: it can be asked how it is.
const MOVING: [&str; 17] = [
    "servo", "move", "walk", "action", "dog", "otto", "electron", "edarobot", "robot", "chassis",
    "motor", "lock", "power", "switch", "trim", "trims", "sleep",
];

/// First words of short names of tools that show, play, tell or keep something, and may refuse what their schema
/// allows.
const SHOWING: [&str; 19] = [
    "show", "display", "clear", "play", "stop", "pause", "resume", "read", "list", "recall",
    "find", "search", "check", "query", "count", "say", "echo", "store", "save",
];

/// Whether a name is that of a tool that restarts the device, or of the message that does
/// (`system.reboot`).
pub fn is_restart(name: &str) -> bool {
    ["reboot", "restart"].contains(&name.rsplit('.').next().unwrap_or(name))
}

/// What comes before the last dot of a tool's name: what the tool belongs to.
pub fn family(tool: &str) -> Option<&str> {
    tool.rsplit_once('.').map(|(family, _)| family)
}

/// Verbs in the names of tools that change nothing.
const READING: [&str; 4] = ["get", "read", "query", "list"];

/// Whether a call of a tool changes nothing, judged by its name.
pub fn only_reads(tool: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_lowercase());
    READING.iter().any(|verb| short(tool).strip_prefix(verb).is_some_and(ends))
}

/// Whether a tool may be called with valid arguments, judged by its name.
pub fn is_harmless(name: &str, trust: Trust) -> bool {
    let is_harmful =
        |word| HARMFUL.contains(&word) && !(only_reads(name) && MOVING.contains(&word));
    HARMLESS.contains(&name)
        || (trust == Trust::Simulated
            && !name.to_lowercase().split(['.', '_', '-']).any(is_harmful)
            && (is_setting(name)
                || short(name).split('_').next().is_some_and(|verb| SHOWING.contains(&verb))))
}

/// Whether a tool reads or sets a value, judged by its name: what its schema allows is a value that it takes.
pub fn is_setting(name: &str) -> bool {
    let short = short(name);
    HARMLESS.contains(&name)
        || short.starts_with("get_")
        || short.starts_with("set_")
        || ["turn_on", "turn_off"].contains(&short)
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Whether a name fits a pattern, in which `*` stands for any characters.
fn fits(name: &str, pattern: &str) -> bool {
    let Some((before, behind)) = pattern.split_once('*') else {
        return name == pattern;
    };
    name.strip_prefix(before).is_some_and(|rest| {
        (0..=rest.len()).any(|at| rest.is_char_boundary(at) && fits(&rest[at..], behind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_allowed_and_denied_by_pattern() {
        let permission = Permission {
            allow: vec!["self.fan.*".into(), "*.blink".into()],
            deny: vec!["self.*.set_speed".into()],
            ..Permission::default()
        };
        for name in ["self.fan.turn", "self.fan.", "self.led.blink"] {
            assert!(permission.allows(name), "{name}");
        }
        for name in ["self.fan", "self.fan.set_speed", "self.led.blinks", "xself.fan.turn"] {
            assert!(!permission.allows(name), "{name}");
        }
    }

    #[test]
    fn the_verb_tells_whether_a_tool_only_reads() {
        for name in [STATUS_TOOL, "self.sensor.read", "self.fan.getSpeed", "self.alarms.list_all"] {
            assert!(only_reads(name), "{name}");
        }
        for name in ["self.getaway.start", "self.fan.set_speed", "self.listen"] {
            assert!(!only_reads(name), "{name}");
        }
    }

    #[test]
    fn unknown_tools_are_called_in_simulations_only_and_harmful_ones_never() {
        let harmful = ["self.reboot", "self.system.set_WiFi", "self.otto.set_trim"];
        let others = ["self.system.check_update", "self.shop.list_and_pay", "self.robot.get_photo"];
        for name in harmful.into_iter().chain(others) {
            assert!(!is_harmless(name, Trust::Simulated), "{name}");
        }
        let read = ["self.memory.recall", "self.sensor.read", "self.robot.get_gestures"];
        for name in read.into_iter().chain(["self.notes.save_note"]) {
            assert!(is_harmless(name, Trust::Simulated), "{name}");
            assert!(!is_harmless(name, Trust::WellKnown), "{name}");
        }
        assert!(is_harmless("self.screen.set_auto_rotate", Trust::Simulated));
        assert!(is_harmless("self.screen.show_message", Trust::Simulated));
        assert!(!is_harmless("self.screen.show_message", Trust::WellKnown));
        assert!(!is_harmless("self.screen.showcase", Trust::Simulated));
    }
}
