//! Between power on and the first connection: the device asks where to dial.

use alloc::format;
use alloc::string::ToString;

use super::{Device, Output};
use crate::bootstrap::{self, Unusable};
use crate::console::{self, Level};
use crate::http::{HttpOutcome, Purpose};
use crate::state::State;

/// Pause after the first request that failed; it doubles with each one that follows.
const RETRY_MS: u64 = 200;
/// Requests after which the device asks no more.
const ATTEMPTS: u32 = 10;
/// Pause between two questions whether the activation code has been entered.
const ACTIVATION_PAUSE_MS: u64 = 300;
/// Status of the answer to such a question while it has not.
const STILL_WAITING: u16 = 202;
/// Such questions after which the configuration is asked for again.
const ACTIVATION_ROUNDS: u32 = 10;

/// How far the device has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Configuration {
    /// Asks for the configuration; so many requests have failed.
    Asking { failures: u32 },
    /// Waits for a person to enter the code; so many questions have been asked.
    Activating { rounds: u32 },
    /// Has failed too often.
    GivenUp,
    /// Knows where to dial.
    Done,
}

impl Default for Configuration {
    fn default() -> Self {
        Configuration::Asking { failures: 0 }
    }
}

impl Configuration {
    pub(super) fn is_done(self) -> bool {
        self == Configuration::Done
    }
}

impl Device {
    /// Asks, unless the settings hold as they are.
    pub(super) fn start_configuration(&mut self) {
        if self.identity.ota_url.is_empty() {
            self.finish_configuration();
            return;
        }
        self.configuration = Configuration::default();
        self.continue_configuration();
    }

    /// Makes the request that is due.
    pub(super) fn continue_configuration(&mut self) {
        let language = &self.board.language;
        let request = match self.configuration {
            Configuration::Asking { .. } => {
                let request = bootstrap::request(&self.identity, language, self.memory);
                let line = format!("Current version: {}", self.identity.version);
                self.log(Level::Info, "Ota", &line);
                request
            }
            Configuration::Activating { rounds } => {
                let request = bootstrap::activation_request(&self.identity, language);
                let line = format!("Activating... {}/{ACTIVATION_ROUNDS}", rounds + 1);
                self.log(Level::Info, "Application", &line);
                request
            }
            Configuration::GivenUp | Configuration::Done => return,
        };
        self.outputs.push_back(Output::Http(request));
    }

    /// The outcome of a request that [`Output::Http`] asked for.
    pub fn http_done(&mut self, purpose: Purpose, outcome: HttpOutcome, now: u64) {
        self.now = now;
        match purpose {
            Purpose::Configuration => self.on_configuration(outcome),
            Purpose::Activation => self.on_activation(outcome.map(|answer| answer.status)),
            Purpose::Vision => self.on_explanation(outcome),
        }
    }

    fn on_configuration(&mut self, outcome: HttpOutcome) {
        let body = match outcome {
            Some(answer) if answer.status == 200 => answer.body,
            Some(answer) => {
                let line = format!("Failed to check version, status code: {}", answer.status);
                return self.configuration_failed(&line);
            }
            None => return self.configuration_failed("Failed to open HTTP connection"),
        };
        let answer = match bootstrap::read(&body, &mut self.identity) {
            Ok(answer) => answer,
            Err(Unusable::Json) => {
                return self.configuration_failed("Failed to parse JSON response");
            }
            Err(Unusable::LongText) => {
                return self.configuration_failed("A setting is longer than the storage takes");
            }
            Err(Unusable::LongName) => return self.abort_at_long_name(),
        };
        if !answer.mqtt {
            self.log(Level::Info, "Ota", "No mqtt section found !");
        }
        if !answer.websocket {
            self.log(Level::Info, "Ota", "No websocket section found!");
        }
        if let Some(time) = answer.local_time_ms {
            self.clock_offset_ms = time.checked_sub_unsigned(self.now);
        }
        if let Some(code) = answer.activation {
            let line = format!("Activation code: {}", console::quote(&code));
            self.log(Level::Info, "Application", &line);
            self.configuration = Configuration::Activating { rounds: 0 };
            return self.continue_configuration();
        }
        if !answer.mqtt && !answer.websocket {
            let line = "No protocol specified in the OTA config, using MQTT";
            self.log(Level::Warning, "Application", line);
        }
        self.finish_configuration();
    }

    fn configuration_failed(&mut self, line: &str) {
        self.log(Level::Error, "Ota", line);
        let failures = match self.configuration {
            Configuration::Asking { failures } => failures + 1,
            _ => 1,
        };
        if failures >= ATTEMPTS {
            self.configuration = Configuration::GivenUp;
            let line = "Too many retries, exit version check";
            return self.log(Level::Error, "Application", line);
        }
        self.configuration = Configuration::Asking { failures };
        let pause = RETRY_MS << (failures - 1);
        self.timers.bootstrap = Some(self.now + pause);
        let line = format!(
            "Check new version failed, retry in {}.{} seconds ({failures}/{ATTEMPTS})",
            pause / 1000,
            pause % 1000 / 100
        );
        self.log(Level::Warning, "Application", &line);
    }

    fn on_activation(&mut self, status: Option<u16>) {
        let rounds = match self.configuration {
            Configuration::Activating { rounds } => rounds + 1,
            _ => return,
        };
        if status == Some(200) || rounds >= ACTIVATION_ROUNDS {
            self.configuration = Configuration::default();
        } else {
            self.configuration = Configuration::Activating { rounds };
        }
        let pause = match status {
            Some(200) => 0,
            Some(STILL_WAITING) => ACTIVATION_PAUSE_MS,
            _ => 3 * ACTIVATION_PAUSE_MS,
        };
        self.timers.bootstrap = Some(self.now + pause);
    }

    /// A name that the storage does not take ends in an abort, at every boot anew.
    fn abort_at_long_name(&mut self) {
        for line in [
            "ESP_ERROR_CHECK failed: esp_err_t 0x1109 (ESP_ERR_NVS_KEY_TOO_LONG) at 0x42012a3c",
            "",
            "abort() was called at PC 0x40380f2b on core 0",
            "",
            "Rebooting...",
        ] {
            self.outputs.push_back(Output::Log(line.to_string()));
        }
        self.outputs.push_back(Output::Reboot);
    }

    fn finish_configuration(&mut self) {
        self.configuration = Configuration::Done;
        self.log(Level::Info, "Application", "Activation done");
        self.change_state(State::Idle);
    }
}
