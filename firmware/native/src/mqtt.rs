//! One connection to an MQTT broker: connecting, taking what is pushed, publishing.
//!
//! A thread pumps packets between the socket and two queues, so that keep-alive and
//! acknowledgements go on while the device thinks or waits for something else.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use reference_device::MqttSettings;
use rumqttc::{
    Client, Connection, ConnectionError, Event as PacketEvent, MqttOptions, Packet, PingReq, QoS,
    Request,
};

use crate::link::{Event, NO_SYSTEM_CODE, system_code};

/// How long the device waits for the connection and for the broker's consent.
const CONNECT_TIMEOUT_S: u64 = 10;
/// Largest packet in bytes, both ways: well above the largest message that a harness sends.
const PACKET_LIMIT: usize = 32 << 20;
/// Packets that may wait to be sent before the device has to.
const QUEUE: usize = 1024;
/// How long the end of a connection may take: what was published goes out first.
const FAREWELL: Duration = Duration::from_secs(1);
/// Port of an endpoint that names none. It means TLS, which this program does not speak.
const TLS_PORT: u16 = 8883;

/// Everything that makes up a CONNECT packet and the behaviour below the messages.
#[derive(Clone, Debug)]
pub(crate) struct ConnectPlan {
    /// Where to, who, and how often to show life.
    pub(crate) settings: MqttSettings,
    /// Ask the broker to forget the last session.
    pub(crate) clean_session: bool,
    /// Show life before the keep-alive interval is over.
    pub(crate) pings: bool,
    /// Acknowledge what came with QoS 1.
    pub(crate) acknowledges: bool,
}

impl ConnectPlan {
    pub(crate) fn new(settings: &MqttSettings) -> Self {
        ConnectPlan {
            settings: settings.clone(),
            clean_session: true,
            pings: true,
            acknowledges: true,
        }
    }
}

/// A message on its way to the broker.
#[derive(Clone, Debug)]
pub(crate) struct Publication {
    /// Topic.
    pub(crate) topic: String,
    /// 0, 1 or 2.
    pub(crate) qos: u8,
    /// The broker shall keep it.
    pub(crate) retain: bool,
    /// Content.
    pub(crate) payload: Vec<u8>,
}

/// A connection.
pub(crate) struct MqttLink {
    /// `None` once the connection is being closed.
    client: Option<Client>,
    events: Receiver<Vec<u8>>,
}

impl std::fmt::Debug for MqttLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MqttLink").finish_non_exhaustive()
    }
}

impl MqttLink {
    /// Connects; the error is the system's error number or the broker's return code.
    pub(crate) fn dial(plan: &ConnectPlan) -> Result<MqttLink, i32> {
        let (client, connection) = prepare(plan, QUEUE).ok_or(NO_SYSTEM_CODE)?;
        let (queue, events) = mpsc::channel();
        let (consent, answer) = mpsc::channel();
        let seconds = u64::from(plan.settings.keep_alive_s);
        let ping_interval =
            (plan.pings && seconds > 0).then(|| Duration::from_millis(500 * seconds));
        thread::spawn(move || pump(connection, ping_interval, &consent, queue));
        // The pump answers in any case, and hangs up if it cannot.
        answer.recv().unwrap_or(Err(NO_SYSTEM_CODE))?;
        Ok(MqttLink {
            client: Some(client),
            events,
        })
    }

    /// Waits for the next message, `timeout` at most.
    pub(crate) fn read(&mut self, timeout: Duration) -> Event {
        match self.events.recv_timeout(timeout) {
            Ok(payload) => Event::Message(payload),
            Err(RecvTimeoutError::Timeout) => Event::Nothing,
            Err(RecvTimeoutError::Disconnected) => Event::Closed,
        }
    }

    /// Publishes; false when the connection is gone.
    pub(crate) fn publish(&mut self, publication: Publication) -> bool {
        let Publication {
            topic,
            qos,
            retain,
            payload,
        } = publication;
        let qos = match qos {
            0 => QoS::AtMostOnce,
            1 => QoS::AtLeastOnce,
            _ => QoS::ExactlyOnce,
        };
        self.client
            .as_ref()
            .is_some_and(|client| client.publish(topic, qos, retain, payload).is_ok())
    }
}

impl Drop for MqttLink {
    /// Waits until the socket is closed, so that the next connection comes after this one.
    fn drop(&mut self) {
        self.client = None;
        let end = Instant::now() + FAREWELL;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            if self.events.recv_timeout(left).is_err() {
                return;
            }
        }
    }
}

/// The library's client, not connected yet; `None` when the endpoint is none that it can reach.
fn prepare(plan: &ConnectPlan, queue: usize) -> Option<(Client, Connection)> {
    let settings = &plan.settings;
    let (host, port) = settings.endpoint.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    if host.is_empty() || port == TLS_PORT {
        return None;
    }
    let mut options = MqttOptions::new(&settings.client_id, host, port);
    options
        .set_keep_alive(Duration::from_secs(settings.keep_alive_s.into()))
        .set_clean_session(plan.clean_session)
        .set_manual_acks(!plan.acknowledges)
        .set_max_packet_size(PACKET_LIMIT, PACKET_LIMIT);
    if !settings.username.is_empty() {
        options.set_credentials(&settings.username, &settings.password);
    }
    let (client, mut connection) = Client::new(options, queue);
    let network = &mut connection.eventloop.network_options;
    network.set_connection_timeout(CONNECT_TIMEOUT_S);
    network.set_tcp_nodelay(true);
    Some((client, connection))
}

/// Waits for the broker's consent.
fn await_consent(connection: &mut Connection) -> Result<(), i32> {
    match connection.recv() {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(ConnectionError::Io(error))) => Err(system_code(&error)),
        Ok(Err(ConnectionError::ConnectionRefused(code))) => Err(code as i32),
        _ => Err(NO_SYSTEM_CODE),
    }
}

/// Moves packets until the connection is gone or the device has let go of it.
fn pump(
    mut connection: Connection,
    ping_interval: Option<Duration>,
    consent: &Sender<Result<(), i32>>,
    queue: Sender<Vec<u8>>,
) {
    let answer = await_consent(&mut connection);
    let refused = answer.is_err();
    if consent.send(answer).is_err() || refused {
        return;
    }
    // The library would show life exactly when the interval is over. Firmware does it at half time,
    // and so a late thread does not make a liar of the device.
    connection
        .eventloop
        .mqtt_options
        .set_keep_alive(Duration::ZERO);
    let mut next_ping = ping_interval.map(|interval| Instant::now() + interval);
    loop {
        let now = Instant::now();
        if let (Some(due), Some(interval)) = (next_ping, ping_interval)
            && due <= now
        {
            let ping = Request::PingReq(PingReq);
            connection.eventloop.pending.push_back(ping);
            next_ping = Some(now + interval);
        }
        let event = match next_ping {
            None => connection.recv().ok(),
            Some(due) => match connection.recv_timeout(due - now.min(due)) {
                Err(rumqttc::RecvTimeoutError::Timeout) => continue,
                other => other.ok(),
            },
        };
        match event {
            Some(Ok(PacketEvent::Incoming(Packet::Publish(message)))) => {
                if queue.send(message.payload.to_vec()).is_err() {
                    break;
                }
            }
            Some(Ok(_)) => {}
            // Another poll would connect again, which is the device's decision.
            Some(Err(_)) | None => break,
        }
    }
    // First the socket, then the queue whose end tells that the socket is closed.
    drop(connection);
    drop(queue);
}

/// Publishes every message as it came until the connection is gone; the exit code.
pub(crate) fn echo(settings: &MqttSettings) -> Result<u8, String> {
    /// Messages on their way; more of them at a time are lost, and the benchmark says so.
    const ECHO_QUEUE: usize = 1 << 16;
    let cannot = |code| format!("cannot connect to `{}`: error {code}", settings.endpoint);
    let plan = ConnectPlan::new(settings);
    let (client, mut connection) =
        prepare(&plan, ECHO_QUEUE).ok_or_else(|| cannot(NO_SYSTEM_CODE))?;
    await_consent(&mut connection).map_err(cannot)?;
    for event in connection.iter() {
        match event {
            Ok(PacketEvent::Incoming(Packet::Publish(message))) => {
                let topic = &settings.publish_topic;
                // The queue is emptied by this same loop: it must not be waited for.
                let _ = client.try_publish(topic, QoS::AtMostOnce, false, message.payload);
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    Ok(0)
}
