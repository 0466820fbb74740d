//! Clock, sensors, settings, and the tools that only people shall use.

use alloc::format;
use alloc::string::ToString;

use super::done;
use crate::console::{self, Level};
use crate::property::Property;
use crate::registry::{Tool, ToolFailure};

/// Languages of the built-in prompts.
const LANGUAGES: [&str; 6] = ["en-US", "de-DE", "ja-JP", "pt-BR", "vi-VN", "zh-CN"];

pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "self.timer.start",
        description: "Start the kitchen timer. When the time is over the device plays a sound and shows the label on the \
                      screen. There is one timer; starting it again replaces the time that was left. Ten minutes when the \
                      user does not say how long.",
        properties: &[
            Property::integer("minutes", "Time until it rings.", 1, 720).with_default_integer(10),
            Property::text("label", "What it is for, shown when it rings.").with_default_text(""),
        ],
        user_only: false,
        handler: |board, arguments, effects| {
            board.timer_minutes = u16::try_from(arguments.integer("minutes")).unwrap_or_default();
            effects.log(Level::Info, "Timer", format!("start {} min", board.timer_minutes));
            done()
        },
    },
    Tool {
        name: "self.timer.cancel",
        description: "Stop the kitchen timer without a sound. Has no effect when no timer runs; call \
                      `self.get_device_status` to learn whether one does and how much time is left.",
        properties: &[],
        user_only: false,
        handler: |board, _, effects| {
            board.timer_minutes = 0;
            effects.log(Level::Info, "Timer", "cancel");
            done()
        },
    },
    Tool {
        name: "self.battery.get_level",
        description: "Tells how full the battery is in percent, and whether it is being charged, as JSON. Mention it on your \
                      own when the level is below 15 percent and the device is not being charged.",
        properties: &[],
        user_only: false,
        handler: |_, _, _| Ok(r#"{"level":80,"charging":false}"#.to_string()),
    },
    Tool {
        name: "self.sensor.get_climate",
        description: "Tells the temperature in degrees Celsius and the relative humidity in percent in the room where the \
                      device stands, as JSON. The sensor sits beside the processor and has been corrected for its warmth; \
                      the numbers are good to one degree and to five percent.",
        properties: &[],
        user_only: false,
        handler: |_, _, _| Ok(r#"{"temperature":23,"humidity":45}"#.to_string()),
    },
    Tool {
        name: "self.system.set_language",
        description: "Set the language of the built-in prompts and of the texts on the screen: `en-US`, `de-DE`, `ja-JP`, \
                      `pt-BR`, `vi-VN` or `zh-CN`. It does not change the language of the conversation. Any other name is \
                      an error and leaves the language as it is.",
        properties: &[
            Property::text("language", "Language and country.").with_default_text("en-US")
        ],
        user_only: false,
        handler: |board, arguments, effects| {
            let asked = arguments.text("language");
            let Some(language) = LANGUAGES.into_iter().find(|language| *language == asked) else {
                return Err(ToolFailure(format!("Unknown language: {asked}")));
            };
            board.language = language.to_string();
            effects.log(Level::Info, "Application", format!("Language: {language}"));
            done()
        },
    },
    Tool {
        name: "self.network.get_info",
        description: "Tells how the device is connected: kind of network, its name, strength of the signal and the channel, as \
                      JSON. Use it when the user reports that answers are slow or that words are missing.",
        properties: &[],
        user_only: false,
        handler: |_, _, _| {
            Ok(r#"{"type":"wifi","ssid":"reference","signal":"strong","rssi":-50,"channel":1}"#
                .to_string())
        },
    },
    super::camera::TAKE_PHOTO,
    Tool {
        name: "self.get_system_info",
        description: "Get the system information: chip, memory and partitions.",
        properties: &[],
        user_only: true,
        handler: |_, _, _| {
            Ok(concat!(
                r#"{"chip_model_name":"reference","flash_size":16777216,"#,
                r#""partition_table":[{"label":"nvs","address":36864,"size":16384}]}"#,
            )
            .to_string())
        },
    },
    Tool {
        name: "self.reboot",
        description: "Reboot the system.",
        properties: &[],
        user_only: true,
        handler: |_, _, effects| {
            effects.log(Level::Warning, "MCP", "User requested reboot");
            effects.reboot();
            done()
        },
    },
    Tool {
        name: "self.upgrade_firmware",
        description: "Upgrade the firmware from a URL. The device restarts when the upgrade has succeeded.",
        properties: &[Property::text(
            "url",
            "The URL of the firmware binary file to download and install.",
        )],
        user_only: true,
        handler: |_, arguments, effects| {
            let url = console::quote(arguments.text("url"));
            effects.log(
                Level::Info,
                "MCP",
                format!("User requested firmware upgrade from URL: {url}"),
            );
            effects.log(Level::Error, "MCP", "Firmware upgrade failed");
            Err(ToolFailure("This device has no partition to upgrade to".to_string()))
        },
    },
];
