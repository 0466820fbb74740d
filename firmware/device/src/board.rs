//! What the tools act on: the parts of the board, and their state as the status shows it.

use alloc::format;
use alloc::string::{String, ToString};

use crate::json;

/// Loudspeaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// Level in percent. Kept while muted.
    pub volume: u8,
    /// Silent, whatever the level.
    pub muted: bool,
}

impl Speaker {
    /// The level that is heard.
    pub fn audible(&self) -> u8 {
        if self.muted { 0 } else { self.volume }
    }
}

/// Display and its backlight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Backlight in percent.
    pub brightness: u8,
    /// Name of the colour theme.
    pub theme: String,
    /// The picture follows the position of the device.
    pub auto_rotate: bool,
    /// Seconds until the backlight goes out.
    pub timeout_s: u16,
    /// Text on the display.
    pub message: String,
}

/// The RGB light.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Light {
    /// Switched on.
    pub on: bool,
    /// Red, green, blue, 0..=255 each.
    pub color: [u8; 3],
    /// Intensity, 0..=8.
    pub level: u8,
}

/// Pose of the robot that carries the board. Nothing moves: the numbers do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Motion {
    /// Last action asked for.
    pub action: String,
    /// Head, degrees to the right.
    pub pan: i16,
    /// Head, degrees up.
    pub tilt: i16,
    /// Steps walked since boot.
    pub steps: u32,
}

/// The whole board. Everything in it is a setting: it survives a lost connection and a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Board {
    /// Loudspeaker.
    pub speaker: Speaker,
    /// Display.
    pub screen: Screen,
    /// Light.
    pub light: Light,
    /// Pose.
    pub motion: Motion,
    /// Minutes left on the kitchen timer, 0 when it does not run.
    pub timer_minutes: u16,
    /// Language of the prompts.
    pub language: String,
}

impl Default for Board {
    fn default() -> Self {
        Board {
            speaker: Speaker { volume: 70, muted: false },
            screen: Screen {
                brightness: 75,
                theme: "light".to_string(),
                auto_rotate: false,
                timeout_s: 60,
                message: String::new(),
            },
            light: Light { on: false, color: [255, 255, 255], level: 4 },
            motion: Motion::default(),
            timer_minutes: 0,
            language: "en-US".to_string(),
        }
    }
}

impl Board {
    /// The text of `self.get_device_status`: JSON, and equal whenever the settings are.
    pub fn status(&self) -> String {
        let Board { speaker, screen, light, motion, timer_minutes, language } = self;
        let [red, green, blue] = light.color;
        format!(
            concat!(
                r#"{{"audio_speaker":{{"volume":{},"muted":{}}},"#,
                r#""screen":{{"brightness":{},"theme":{},"auto_rotate":{},"timeout":{},"message":{}}},"#,
                r#""light":{{"on":{},"red":{},"green":{},"blue":{},"level":{}}},"#,
                r#""robot":{{"action":{},"pan":{},"tilt":{},"steps":{}}},"#,
                r#""timer":{{"minutes":{}}},"language":{},"#,
                r#""battery":{{"level":80,"charging":false}},"#,
                r#""network":{{"type":"wifi","ssid":"reference","signal":"strong"}}}}"#,
            ),
            speaker.audible(),
            speaker.muted,
            screen.brightness,
            json::string(&screen.theme),
            screen.auto_rotate,
            screen.timeout_s,
            json::string(&screen.message),
            light.on,
            red,
            green,
            blue,
            light.level,
            json::string(&motion.action),
            motion.pan,
            motion.tilt,
            motion.steps,
            timer_minutes,
            json::string(language),
        )
    }
}
