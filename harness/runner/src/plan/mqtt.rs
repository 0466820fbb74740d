//! What a device is told over MQTT.

use mcp_hil_args::RunArgs;
use mcp_hil_bench::dut::{Dut, How};
use mcp_hil_core::transport::Transport;
use mcp_hil_endpoint::{Broker, MqttTerms};
use mcp_hil_record::error::UserError;

use crate::random::Random;

/// What an MQTT device is told, and what it is held to.
#[derive(Debug, Clone)]
pub struct MqttPlan {
    /// Its client id.
    pub client_id: String,
    /// Its user name.
    pub username: String,
    /// Its password.
    pub password: String,
    /// Where it publishes. Stock servers name it so.
    pub publish_topic: String,
    /// Where it may subscribe; stock devices do not.
    pub subscribe_topic: String,
    /// The ordinary broker between, if one stands there.
    pub broker: Option<Broker>,
    /// Whether the device was told all that: nobody told a device that somebody else starts.
    pub(super) told: bool,
    /// Whether it must present a password.
    guarded: bool,
}

impl MqttPlan {
    pub(super) fn new(
        args: &RunArgs,
        dut: &Dut,
        token: Option<&str>,
        seed: u64,
        transports: &[Transport],
    ) -> Result<Self, UserError> {
        let mut random = Random::new(Random::seed().rotate_left(31) ^ seed);
        let (device, password) = (random.uuid(), random.uuid());
        let file = dut.file.as_ref().map(|file| file.mqtt.clone());
        let file = file.unwrap_or_default();
        let waits = matches!(dut.how, How::Wait);
        // Nobody has told a device that somebody else starts, but for what its file says.
        let told = !waits || file.client_id.is_some();
        let publish_topic = file.publish_topic.unwrap_or_else(|| "device-server".into());
        let subscribe_topic =
            file.subscribe_topic.unwrap_or_else(|| format!("devices/p2p/{}", &device[..8]));
        let client_id =
            file.client_id.unwrap_or_else(|| format!("mcp-hil@@@{}@@@{device}", &device[..8]));
        let address = args.mqtt_broker.clone().or(file.broker);
        if args.mqtt_broker.is_some() && !transports.contains(&Transport::Mqtt) {
            return Err(UserError::usage(
                "`--mqtt-broker` without MQTT: expected `--transport mqtt` or `both` as well",
                "add `--transport mqtt`",
            ));
        }
        let at_broker = |username: String| {
            let password = std::env::var("MCP_HIL_MQTT_BROKER_PASSWORD").unwrap_or_default();
            (username, password)
        };
        let credentials = file.username.map(at_broker);
        let broker = match address {
            None => None,
            Some(address) => {
                let parts = address.rsplit_once(':');
                let parsed = parts.and_then(|(host, port)| Some((host, port.parse().ok()?)));
                let Some((host, port)) = parsed.filter(|(host, _)| !host.is_empty()) else {
                    return Err(UserError::usage(
                        format!("the MQTT broker `{address}`: expected `host:port`"),
                        "for example `--mqtt-broker 127.0.0.1:1883`",
                    ));
                };
                Some(Broker {
                    host: host.to_owned(),
                    port,
                    credentials: credentials.clone(),
                    publish_topic: publish_topic.clone(),
                    subscribe_topic: subscribe_topic.clone(),
                    client_id: format!("mcp-hil-{}", &device[..8]),
                })
            }
        };
        let (username, password) = match (credentials, token) {
            (Some(credentials), _) => credentials,
            // Whoever starts the device by hand gives the token as its password.
            (None, Some(token)) if waits => ("mcp-hil".to_owned(), token.to_owned()),
            (None, _) => ("mcp-hil".to_owned(), password),
        };
        Ok(Self {
            client_id,
            username,
            password,
            publish_topic,
            subscribe_topic,
            broker,
            told,
            guarded: !waits || token.is_some(),
        })
    }

    /// What the endpoint holds devices to.
    pub fn terms(&self) -> MqttTerms {
        MqttTerms {
            credentials: self.guarded.then(|| (self.username.clone(), self.password.clone())),
            client_id: self.told.then(|| self.client_id.clone()),
            publish_topic: self.told.then(|| self.publish_topic.clone()),
            push_topic: None,
        }
    }
}
