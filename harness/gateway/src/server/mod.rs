//! `mcp-hil gateway`: takes `device_control` messages over MQTT, drives the device, and brings its
//! answers back to the callers.
//!
//! [`mcp_hil_core::gateway`] decides; here are its two sides and a loop between them. [`caller`]
//! takes controls, from callers that connect to the gateway itself or through an ordinary broker;
//! [`device`] waits for the device, greets it, and carries calls and answers. A caller over the
//! gateway's own port gets its answers on its own connection, with or without a subscription;
//! through a broker all answers are published to one topic.

pub mod caller;
pub mod device;

use std::io::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mcp_hil_core::gateway::{Gateway, LogLevel, Reply, Settings, Step};
use mcp_hil_core::transport::Transport;
use tokio::sync::watch;

use crate::mqtt::Server;
use mcp_hil_args::GatewayArgs;
use mcp_hil_bench::dut::SHORTEST_TOKEN;
use mcp_hil_bench::dut::{Dut, How};
use mcp_hil_record::error::UserError;
use mcp_hil_record::exit;
use mcp_hil_runner::random::Random;

use caller::{Callers, FromCaller};
use device::{DeviceSide, FromDevice};

/// Longest text of a message on a line; the rest is cut.
const SHOWN: usize = 300;

/// How a gateway is run.
#[derive(Debug)]
pub struct GatewaySetup {
    /// The device.
    pub dut: Dut,
    /// How it connects.
    pub transport: Transport,
    /// Where the device dials.
    pub listen: SocketAddr,
    /// Where it asks for its configuration; without that it would ask its maker's server.
    pub http_listen: SocketAddr,
    /// Whether that port was asked for: otherwise any other will do when it is taken.
    pub http_listen_asked: bool,
    /// The token that the device presents.
    pub token: Option<String>,
    /// Where callers connect; `None` with a broker.
    pub control_listen: Option<SocketAddr>,
    /// The broker that callers use.
    pub broker: Option<Server>,
    /// The topic of controls.
    pub control_topic: String,
    /// The topic of answers.
    pub reply_topic: String,
    /// How calls are made.
    pub settings: Settings,
}

impl GatewaySetup {
    /// Reads the arguments.
    ///
    /// # Errors
    ///
    /// The first mistake.
    pub fn new(args: &GatewayArgs) -> Result<Self, UserError> {
        let dut = Dut::parse(&args.dut, None)?;
        if matches!(dut.how, How::Qemu(_) | How::Emulated(_) | How::Board(_)) {
            return Err(UserError::usage(
                format!(
                    "`--dut {}`: a gateway does not start boards or emulated devices",
                    args.dut
                ),
                "start it yourself and use `--dut wait`: it gets its configuration at the address that the \
                 gateway prints",
            ));
        }
        let waits = matches!(dut.how, How::Wait);
        let broker = args.broker.as_deref().map(Server::parse).transpose();
        let mut broker = broker.map_err(|why| {
            UserError::usage(format!("`--broker`: {why}"), "for example `--broker 127.0.0.1:1883`")
        })?;
        if let (Some(broker), Some(user)) = (&mut broker, &args.broker_user) {
            let password = args.broker_password.clone().unwrap_or_default();
            broker.login = Some((user.clone(), password));
        }
        for (name, topic) in
            [("--control-topic", &args.control_topic), ("--reply-topic", &args.reply_topic)]
        {
            if topic.is_empty() || topic.contains(['+', '#', '\0']) {
                return Err(UserError::usage(
                    format!("`{name} {topic}`: expected a topic without wildcards"),
                    "for example `--control-topic home/device_control`",
                ));
            }
        }
        if args.control_topic == args.reply_topic {
            return Err(UserError::usage(
                "`--reply-topic` is the topic of control messages: the gateway would read its own answers",
                "choose another topic",
            ));
        }
        if args.token.as_ref().is_some_and(|t| t.len() < SHORTEST_TOKEN) {
            return Err(UserError::usage(
                format!("`--token`: expected at least {SHORTEST_TOKEN} characters"),
                "take a longer one",
            ));
        }
        let token = match (&args.token, waits) {
            (Some(token), _) => Some(token.clone()),
            (None, true) => None,
            (None, false) => Some(Random::new(Random::seed()).uuid()),
        };
        let default = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let own = broker.is_none().then(|| default(1884));
        let listen = args.listen.unwrap_or_else(|| default(if waits { 8765 } else { 0 }));
        let http_port = if waits { 8003 } else { 0 };
        Ok(Self {
            transport: args.transport.into(),
            listen,
            http_listen: args
                .http_listen
                .unwrap_or_else(|| SocketAddr::new(listen.ip(), http_port)),
            http_listen_asked: args.http_listen.is_some(),
            dut,
            token,
            control_listen: args.control_listen.or(own),
            broker,
            control_topic: args.control_topic.clone(),
            reply_topic: args.reply_topic.clone(),
            settings: Settings {
                wide_ids: args.wide_ids,
                deadline_ms: u64::try_from(args.deadline.as_millis()).unwrap_or(u64::MAX),
            },
        })
    }
}

/// Lines on standard output, each with the seconds since the start.
#[derive(Debug, Clone, Copy)]
pub struct Lines(Instant);

impl Lines {
    /// Prints a line. A reader that went away is no trouble.
    pub fn say(&self, text: &str) {
        let seconds = self.0.elapsed().as_secs_f64();
        let shown = match text.char_indices().nth(SHOWN) {
            Some((at, _)) => &text[..at],
            None => text,
        };
        let more = if shown.len() < text.len() { "..." } else { "" };
        let line = shown.replace(['\n', '\r'], " ");
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "[{seconds:9.3}] {line}{more}");
        let _ = out.flush();
    }
}

/// Runs the gateway until it is stopped.
///
/// # Errors
///
/// A port that cannot be had, a broker that does not answer, a device that does not start.
pub async fn run(setup: &GatewaySetup, mut stop: watch::Receiver<bool>) -> Result<u8, UserError> {
    let lines = Lines(Instant::now());
    let mut gateway = Gateway::new(setup.settings);
    let mut callers = Callers::open(setup, lines).await?;
    let mut device = DeviceSide::open(setup, lines).await?;
    loop {
        let due = gateway.next_due().map(until);
        tokio::select! {
            from = callers.next() => match from {
                FromCaller::Control { caller, text } => {
                    lines.say(&format!("control   {} {text}", callers.name(caller)));
                    for step in gateway.control(caller, &text, now_ms()) {
                        carry_out(step, &mut gateway, &mut device, &mut callers, lines).await;
                    }
                }
                FromCaller::Gone { caller } => gateway.caller_gone(caller),
            },
            came = device.next() => match device.take(came, &mut gateway).await {
                None => {}
                Some(FromDevice::Answer(payload)) => {
                    lines.say(&format!("answer    {payload}"));
                    match gateway.answer(&payload) {
                        Some(reply) => send(reply, &mut callers, lines).await,
                        None => lines.say("late      nothing waits for this answer"),
                    }
                }
                Some(FromDevice::Gone) => {
                    for reply in gateway.device_gone() {
                        send(reply, &mut callers, lines).await;
                    }
                }
            },
            () = sleep(due) => {
                for reply in gateway.expire(now_ms()) {
                    lines.say("overdue   the device did not answer");
                    send(reply, &mut callers, lines).await;
                }
            }
            _ = stop.changed() => break,
        }
    }
    for reply in gateway.device_gone() {
        send(reply, &mut callers, lines).await;
    }
    device.close().await;
    lines.say("stopped");
    Ok(exit::CONFORMING)
}

async fn carry_out(
    step: Step,
    gateway: &mut Gateway,
    device: &mut DeviceSide,
    callers: &mut Callers,
    lines: Lines,
) {
    match step {
        Step::Log { level, text } => {
            let level = match level {
                LogLevel::Warning => "warning  ",
                LogLevel::Error => "dropped  ",
            };
            lines.say(&format!("{level} {text}"));
        }
        Step::Reply(reply) => send(reply, callers, lines).await,
        Step::SendToDevice { payload } => {
            if device.call(&payload).await {
                lines.say(&format!("call      {payload}"));
            } else if let Some(reply) = gateway.undelivered(&payload) {
                lines.say("away      the device is not connected");
                send(reply, callers, lines).await;
            }
        }
    }
}

async fn send(reply: Reply, callers: &mut Callers, lines: Lines) {
    let text = reply.json.to_string();
    lines.say(&format!("reply     {} {text}", callers.name(reply.caller)));
    callers.reply(reply.caller, text).await;
}

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// How long it is until a time in milliseconds since 1970.
fn until(due_ms: u64) -> Duration {
    Duration::from_millis(due_ms.saturating_sub(now_ms()))
}

async fn sleep(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
