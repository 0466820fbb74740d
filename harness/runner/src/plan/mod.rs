//! What is going to run: read from arguments and files, complete before anything starts.

mod basis;
mod cost;
mod folder;
mod generation;
mod last_failed;
mod limit;
pub mod listen;
mod mqtt;
mod read;
mod repro;
mod shard;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_hil_bench::backtrace::Symbols;
use mcp_hil_bench::dut::wokwi::TOKEN_VARIABLE;
use mcp_hil_bench::dut::{Dut, SHORTEST_TOKEN};
use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::transport::Transport;
use mcp_hil_endpoint::Configuration;
use mcp_hil_record::event::{Basis, RunStarted};
use mcp_hil_scenario::Case;

use crate::secrets::Secret;
use crate::snapshots::Setup as Snapshots;

pub use basis::requirements;
pub(crate) use cost::Cost;
pub(crate) use folder::PART;
pub use folder::{make_folder, now};
pub use generation::Generation;
pub use limit::FailureLimit;
use listen::Listening;
pub use mqtt::MqttPlan;
pub(crate) use read::device;
pub use read::{read_baseline, selected};

/// The version of the framing of binary messages that devices are told unless a case offers another.
pub const USUAL_BINARY_VERSION: u8 = 1;

/// What is going to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The device.
    pub dut: Dut,
    /// The transports, in the order in which they run.
    pub transports: Vec<Transport>,
    /// What an MQTT device is told.
    pub mqtt: MqttPlan,
    /// The cases, in the order in which they run.
    pub cases: Vec<Case>,
    /// What is generated after them.
    pub generation: Generation,
    /// Whether all cases of the suite were selected, and are carried out here.
    pub whole_suite: bool,
    /// What the verdicts stand on.
    pub basis: Basis,
    /// The requirements.
    pub catalogue: Arc<Catalogue>,
    /// Names of the rule sets in force.
    pub rules: Vec<&'static str>,
    /// Whether broken SHOULDs fail.
    pub strict: bool,
    /// Known failures.
    pub baseline: Option<Baseline>,
    /// What is to become of answers that people review.
    pub snapshots: Option<Snapshots>,
    /// The program of the device, or why it cannot be read; `None` when none was given.
    pub symbols: Option<Result<Arc<Symbols>, String>>,
    /// Seed of whatever is drawn by chance.
    pub seed: u64,
    /// Where the endpoints listen.
    pub listening: Listening,
    /// The token that the device must present; `None` when it was given none.
    pub token: Option<String>,
    /// The token that a device gets with its configuration.
    configured_token: String,
    /// The tokens that pictures must come with, one after the other.
    pub vision_tokens: [String; 2],
    /// How long an answer is waited for.
    pub deadline: Duration,
    /// How long the device's connection is waited for.
    pub connect_deadline: Duration,
    /// How long the device is kept connected with nothing but good requests.
    pub linger: Duration,
    /// How many messages may be under way together, where somebody said so.
    pub in_flight: Option<u16>,
    /// How long a board is waited for that somebody else uses.
    pub wait_for_board: Duration,
    /// How long it may stay away after a drop, when that was given.
    reconnect_deadline: Option<Duration>,
    /// Whether other devices are tested at the same time, on the processor that a device on this host runs on.
    pub(crate) beside_others: bool,
    /// Whether the commands that show findings again are tried before they are printed.
    pub confirms: bool,
    /// How often a case that did not pass is tried again.
    pub retries: u32,
    /// Whether a run with flaky cases does not conform.
    pub flaky_fails: bool,
    /// After how many failures the run stops.
    pub limit: Option<FailureLimit>,
    /// How long it may take, from when the device is connected.
    pub time_budget: Option<Duration>,
    /// Name of the run.
    pub run: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// The day, `YYYY-MM-DD`.
    pub today: String,
    /// The run's folder.
    pub folder: PathBuf,
    /// Arguments that a repro command must repeat.
    repro_arguments: String,
}

impl Plan {
    /// The plan for the device's surrogate, if it has one: a substitute for shrinking that runs on this host and
    /// has no flash to wear out.
    pub fn for_surrogate(&self) -> Option<Self> {
        let dut = self.dut.surrogate.as_deref()?.clone();
        let mut plan = Self {
            connect_deadline: dut.patience(),
            dut,
            listening: Listening::on_this_host(),
            token: Some(self.configured_token.clone()),
            folder: self.folder.join("surrogate"),
            ..self.clone()
        };
        (plan.limit, plan.time_budget, plan.retries) = (None, None, 0);
        plan.mqtt.broker = None;
        plan.mqtt.told = true;
        plan.generation.budget = None;
        Some(plan)
    }

    /// How many cases are planned: those of the selection and the two around them over each transport, and the
    /// comparison of transports.
    pub fn planned(&self) -> usize {
        (self.cases.len() + self.generation.properties.len() + 2) * self.transports.len()
            + usize::from(self.transports.len() > 1)
    }

    /// What a run of it says at its beginning; `cases` is how many are planned.
    pub fn started(&self, transports: &[Transport], cases: usize) -> RunStarted {
        RunStarted {
            run: self.run.clone(),
            started: self.started.clone(),
            seed: self.seed,
            strict: self.strict,
            rules: self.rules.iter().map(|name| (*name).to_owned()).collect(),
            duts: transports.iter().map(|transport| self.dut.info(*transport)).collect(),
            cases,
            ..RunStarted::default()
        }
    }

    /// The folder of what is recorded over one transport: the run's own, unless there are two.
    pub fn folder_of(&self, transport: Transport) -> PathBuf {
        self.folder.join(self.path_of(transport, ""))
    }

    /// The path of one of its files, relative to the run's folder.
    pub fn path_of(&self, transport: Transport, file: &str) -> String {
        match self.transports.len() {
            1 => file.to_owned(),
            _ => format!("{}/{file}", transport.name()),
        }
    }

    /// How long the device may take to connect again by itself after a drop. Stock devices try
    /// again after ten seconds over MQTT and at last after sixty (device-protocol 3.1); over
    /// WebSocket other clients often rest for five or ten. The reference device does not, but has to wait for a processor
    /// that others use, too.
    pub fn reconnect_deadline(&self, transport: Transport) -> Duration {
        self.reconnect_deadline.unwrap_or(match transport {
            Transport::WebSocket if self.dut.is_reference() && !self.beside_others => {
                Duration::from_secs(3)
            }
            Transport::WebSocket => Duration::from_secs(11),
            Transport::Mqtt => Duration::from_secs(65),
        })
    }

    /// What must never reach a file.
    pub fn secrets(&self) -> Vec<Secret> {
        let secret = |value: &str, mark| Secret { value: value.to_owned(), mark };
        let mut secrets = vec![
            secret(&self.configured_token, "${MCP_HIL_WS_TOKEN}"),
            secret(&self.mqtt.password, "${MCP_HIL_MQTT_PASSWORD}"),
            secret(&self.vision_tokens[0], "${MCP_HIL_VISION_TOKEN}"),
            secret(&self.vision_tokens[1], "${MCP_HIL_VISION_OTHER_TOKEN}"),
        ];
        let network = self.dut.network_password();
        secrets.extend(network.map(|value| secret(&value, "${WIFI_PASSWORD}")));
        // A device inherits it, and may print it.
        let cloud = std::env::var(TOKEN_VARIABLE).unwrap_or_default();
        if cloud.len() >= SHORTEST_TOKEN {
            secrets.push(secret(&cloud, "${WOKWI_CLI_TOKEN}"));
        }
        secrets
    }

    /// The configuration that a device gets when it asks for it.
    pub fn configuration(&self, transport: Transport, dial: &str) -> Configuration {
        match transport {
            Transport::WebSocket => Configuration::WebSocket {
                url: dial.to_owned(),
                token: self.configured_token.clone(),
                version: USUAL_BINARY_VERSION,
            },
            Transport::Mqtt => Configuration::Mqtt {
                endpoint: dial.to_owned(),
                client_id: Some(self.mqtt.client_id.clone()),
                username: self.mqtt.username.clone(),
                password: self.mqtt.password.clone(),
                publish_topic: self.mqtt.publish_topic.clone(),
                subscribe_topic: self.mqtt.subscribe_topic.clone(),
                keepalive: self.dut.keep_alive_s(),
            },
        }
    }
}
