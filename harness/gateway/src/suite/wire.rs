//! Both connections to a gateway: a caller over MQTT, a device over WebSocket or MQTT.

use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use mcp_hil_boards::{Command, Process, Target, TargetOutput};
use mcp_hil_core::wire::Frame;
use mcp_hil_record::error::whole;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error as WsError, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::conversation::{Bench, Heard};
use super::device;
use super::plan::{GatewayPlan, Input, Output};
use crate::mqtt::{Incoming, Mqtt};

/// How the device names itself.
const DEVICE_ID: &str = "02:00:00:4d:43:50";
const CLIENT_ID: &str = "6d63702d-6869-4c00-8000-676174657761";

/// How long one attempt to connect may take.
const ATTEMPT: Duration = Duration::from_secs(5);

/// How long is waited between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// How long is waited for the words of a gateway that ends.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Both connections, and the gateway's process where the harness started it.
#[derive(Debug)]
pub struct Wire {
    input: Input,
    output: Output,
    token: Option<String>,
    target: Target,
    caller: Option<Mqtt>,
    device: Option<DeviceEnd>,
}

#[derive(Debug)]
enum DeviceEnd {
    WebSocket(Box<WebSocketStream<MaybeTlsStream<TcpStream>>>),
    Mqtt { client: Mqtt, topic: String },
}

impl Wire {
    /// Starts the gateway where that is asked for, and connects both ends.
    ///
    /// # Errors
    ///
    /// What could not be reached, with a hint.
    pub async fn open(plan: &GatewayPlan) -> Result<Self, String> {
        let target = match &plan.command {
            None => Target::Wait,
            Some(line) => Target::Process(Process::new(
                Command::shell(line)
                    .env("MCP_HIL_GATEWAY_IN", &plan.addresses.0)
                    .env("MCP_HIL_GATEWAY_OUT", &plan.addresses.1),
            )),
        };
        let mut wire = Self {
            input: plan.input.clone(),
            output: plan.output.clone(),
            token: plan.token.clone(),
            target,
            caller: None,
            device: None,
        };
        wire.target.start().await.map_err(|error| whole(&error))?;
        if let Err(why) = wire.connect(plan.connect_deadline).await {
            let lines = wire.last_words().await;
            wire.target.stop().await;
            let said = match lines.as_slice() {
                [] => String::new(),
                lines => format!("\nit printed:\n  {}", lines.join("\n  ")),
            };
            return Err(format!(
                "cannot reach the gateway: {why}{said}\n\nhint: is it running, and are \
                 `--gateway-in` and `--gateway-out` its addresses? `--gateway-cmd` starts it"
            ));
        }
        Ok(wire)
    }

    /// Connects what is not connected, again and again until the time is over.
    async fn connect(&mut self, wait: Duration) -> Result<(), String> {
        let until = Instant::now() + wait;
        loop {
            let attempt = ATTEMPT.min(until.saturating_duration_since(Instant::now()));
            let Err(why) = self.attempt(attempt).await else {
                return Ok(());
            };
            if self.target.is_running() == Some(false) {
                return Err(format!("{why}; its process ended"));
            }
            if Instant::now() + PAUSE >= until {
                return Err(why);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn attempt(&mut self, wait: Duration) -> Result<(), String> {
        if self.caller.is_none() {
            let id = format!("mcp-hil-caller-{}", std::process::id());
            let topics = [self.input.reply.as_str()];
            let caller = Mqtt::connect(&self.input.server, &id, &topics, wait).await;
            self.caller = Some(caller.map_err(|why| format!("MQTT, {why}"))?);
        }
        if self.device.is_some() {
            return Ok(());
        }
        let mut device = match &self.output {
            Output::WebSocket(url) => {
                let dialed = timeout(wait, dial(url, self.token.as_deref())).await;
                let dialed = dialed.unwrap_or_else(|_| Err("no answer".into()));
                DeviceEnd::WebSocket(Box::new(dialed.map_err(|why| format!("`{url}`: {why}"))?))
            }
            Output::Mqtt { server, topic, listens } => {
                let name = DEVICE_ID.replace(':', "_");
                let id = format!("GID_mcp-hil@@@{name}@@@{CLIENT_ID}");
                let client = Mqtt::connect(server, &id, &[listens.as_str()], wait).await;
                DeviceEnd::Mqtt {
                    client: client.map_err(|why| format!("MQTT, {why}"))?,
                    topic: topic.clone(),
                }
            }
        };
        device.send(&device::hello(self.output.transport())).await?;
        self.device = Some(device);
        Ok(())
    }

    /// What a gateway printed that could not be reached.
    async fn last_words(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let until = tokio::time::Instant::now() + LAST_WORDS;
        while let Ok(TargetOutput::Line(line)) =
            tokio::time::timeout_at(until, self.target.next()).await
        {
            lines.push(line);
        }
        let skip = lines.len().saturating_sub(8);
        lines.split_off(skip)
    }
}

impl Bench for Wire {
    async fn control(&mut self, text: &str) -> Result<(), String> {
        match &self.caller {
            Some(caller) => caller.publish(&self.input.topic, text, true).await,
            None => Err("the caller is not connected".into()),
        }
    }

    async fn device(&mut self, text: &str) -> Result<(), String> {
        match &mut self.device {
            Some(device) => device.send(text).await,
            None => Err("the device is not connected".into()),
        }
    }

    async fn next(&mut self) -> Heard {
        let (caller, device) = (&mut self.caller, &mut self.device);
        let from = tokio::select! {
            came = next_reply(caller) => came,
            came = next_message(device) => came,
            output = self.target.next() => match output {
                TargetOutput::Line(text) | TargetOutput::Bench(text) | TargetOutput::Back(text) => {
                    return Heard::Line(text);
                }
                TargetOutput::Exited(how) => Heard::Gone(format!("its process {how}")),
                TargetOutput::Trouble(what) | TargetOutput::Lost { why: what, .. } => {
                    Heard::Gone(what)
                }
            },
        };
        from
    }

    async fn again(&mut self, wait: Duration) -> Result<(), String> {
        self.caller = None;
        self.device = None;
        if self.target.is_running() == Some(false) {
            self.target.restart().await.map_err(|error| whole(&error))?;
        }
        self.connect(wait).await
    }

    async fn close(&mut self) {
        self.caller = None;
        self.device = None;
        self.target.stop().await;
    }
}

async fn next_reply(caller: &mut Option<Mqtt>) -> Heard {
    let Some(client) = caller else {
        return std::future::pending().await;
    };
    match client.next().await {
        Incoming::Message { payload, .. } => {
            Heard::Reply(String::from_utf8_lossy(&payload).into_owned())
        }
        Incoming::Gone(why) => {
            *caller = None;
            Heard::Gone(format!("the caller's connection: {why}"))
        }
    }
}

async fn next_message(device: &mut Option<DeviceEnd>) -> Heard {
    let gone = match device {
        None => return std::future::pending().await,
        Some(DeviceEnd::Mqtt { client, .. }) => match client.next().await {
            Incoming::Message { payload, .. } => {
                return Heard::Device(match String::from_utf8(payload) {
                    Ok(text) => Frame::Text(text),
                    Err(error) => Frame::NotUtf8(error.into_bytes()),
                });
            }
            Incoming::Gone(why) => why,
        },
        Some(DeviceEnd::WebSocket(socket)) => loop {
            match socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    return Heard::Device(Frame::Text(text.as_str().to_owned()));
                }
                Some(Ok(Message::Binary(bytes))) => {
                    return Heard::Device(Frame::Binary(bytes.to_vec()));
                }
                // A ping is answered by the library.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                Some(Ok(Message::Close(_))) | None => break "it closed the connection".to_owned(),
                Some(Err(error)) => break error.to_string(),
            }
        },
    };
    *device = None;
    Heard::Gone(format!("the device's connection: {gone}"))
}

impl DeviceEnd {
    async fn send(&mut self, text: &str) -> Result<(), String> {
        match self {
            Self::WebSocket(socket) => {
                socket.send(Message::text(text)).await.map_err(|error: WsError| error.to_string())
            }
            Self::Mqtt { client, topic } => client.publish(topic, text, false).await,
        }
    }
}

async fn dial(
    url: &str,
    token: Option<&str>,
) -> Result<WebSocketStream<MaybeTlsStream<TcpStream>>, String> {
    let mut request = url.into_client_request().map_err(|error| error.to_string())?;
    let headers = request.headers_mut();
    headers.insert("Device-Id", HeaderValue::from_static(DEVICE_ID));
    headers.insert("Client-Id", HeaderValue::from_static(CLIENT_ID));
    headers.insert("Protocol-Version", HeaderValue::from_static("1"));
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let value =
            value.map_err(|_| "the token has characters that are not allowed in a header")?;
        headers.insert("Authorization", value);
    }
    // Without delay: a call is answered at once.
    let (socket, _) =
        connect_async_with_config(request, None, true).await.map_err(|error| error.to_string())?;
    Ok(socket)
}
