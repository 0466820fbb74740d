//! One connection to an MQTT broker: connecting, taking what is pushed, publishing.
//!
//! A thread pumps packets between the socket and two queues, so that keep-alive and
//! acknowledgements go on while the device thinks or waits for something else.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use reference_body::{ConnectPlan, Event, NO_SYSTEM_CODE, Publication};
use reference_device::{LARGEST_MESSAGE, MqttSettings};
use rumqttc::{
    Client, Connection, ConnectionError, Event as PacketEvent, EventLoop, MqttOptions, Outgoing,
    Packet, PingReq, Publish, QoS, Request, StateError, mqttbytes,
};
use tokio::runtime;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::link::system_code;
use crate::tamper;

/// How long the device waits for the connection and for the broker's consent.
const CONNECT_TIMEOUT_S: u64 = 10;
/// Largest packet from the broker in bytes: the largest message, a header, a topic and an id.
const INCOMING_LIMIT: usize = LARGEST_MESSAGE + 5 + 2 + 512 + 2;
/// Largest packet to the broker in bytes: well above what any device sends.
const OUTGOING_LIMIT: usize = 32 << 20;
/// Bytes of messages that may wait for the device. A chip lets the broker wait instead; this library
/// reads what comes, for it also has to show life.
const WAITING_LIMIT: usize = 2 * LARGEST_MESSAGE;
/// Packets that may wait to be sent before the device has to.
const QUEUE: usize = 1024;
/// How long the end of a connection may take: what was published goes out first.
const FAREWELL: Duration = Duration::from_secs(1);
/// How long a server may leave PINGREQ unanswered and say nothing else.
const SERVER_SILENCE: Duration = Duration::from_secs(10);
/// Port of an endpoint that names none. It means TLS, which this program does not speak.
const TLS_PORT: u16 = 8883;

/// A connection.
pub(crate) struct MqttLink {
    client: Client,
    events: Receiver<Come>,
    /// Bytes of messages that wait there.
    waiting: Arc<AtomicUsize>,
    /// Messages that were given to the client.
    published: u64,
    /// Tells the pump to hang up once that many messages are out.
    hang_up: Option<oneshot::Sender<u64>>,
}

impl std::fmt::Debug for MqttLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MqttLink").finish_non_exhaustive()
    }
}

impl MqttLink {
    /// Connects; the error is the system's error number or the broker's return code.
    pub(crate) fn dial(plan: &ConnectPlan) -> Result<MqttLink, i32> {
        let mut plan = plan.clone();
        if let Some(tamper) = plan.tamper {
            let endpoint = tamper::start(&plan.settings.endpoint, tamper);
            plan.settings.endpoint = endpoint.map_err(|error| system_code(&error))?;
        }
        let (client, connection) = prepare(&plan, QUEUE).ok_or(NO_SYSTEM_CODE)?;
        let (queue, events) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let waits = Arc::clone(&waiting);
        let (reads_qos1, reads_dup) = (plan.reads_qos1, plan.reads_dup);
        let inbox = Inbox { queue, waiting: waits, reads_qos1, reads_dup };
        let (consent, answer) = mpsc::channel();
        let (hang_up, end) = oneshot::channel();
        let ping_interval = plan.ping_interval_ms().map(Duration::from_millis);
        let eventloop = connection.eventloop;
        thread::spawn(move || pump(eventloop, ping_interval, &consent, inbox, end));
        // The pump answers in any case, and hangs up if it cannot.
        answer.recv().unwrap_or(Err(NO_SYSTEM_CODE))?;
        Ok(MqttLink { client, events, waiting, published: 0, hang_up: Some(hang_up) })
    }

    /// Waits for the next message, `timeout` at most.
    pub(crate) fn read(&mut self, timeout: Duration) -> Event {
        match self.events.recv_timeout(timeout) {
            Ok(Come::Message(payload)) => {
                self.waiting.fetch_sub(payload.len(), Ordering::Relaxed);
                Event::Message(payload)
            }
            Ok(Come::TooLarge(bytes)) => Event::Refused { bytes: bytes as u64 },
            Err(RecvTimeoutError::Timeout) => Event::Nothing,
            Err(RecvTimeoutError::Disconnected) => Event::Closed,
        }
    }

    /// Publishes; false when the connection is gone.
    pub(crate) fn publish(&mut self, publication: Publication) -> bool {
        let Publication { topic, qos, retain, payload } = publication;
        let qos = match qos {
            0 => QoS::AtMostOnce,
            1 => QoS::AtLeastOnce,
            _ => QoS::ExactlyOnce,
        };
        self.published += 1;
        self.client.publish(topic, qos, retain, payload).is_ok()
    }
}

impl Drop for MqttLink {
    /// Waits until the socket is closed, so that the next connection comes after this one.
    fn drop(&mut self) {
        if let Some(hang_up) = self.hang_up.take() {
            // A pump that is gone needs not be told.
            let _ = hang_up.send(self.published);
        }
        while self.events.recv_timeout(2 * FAREWELL).is_ok() {}
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
        .set_clean_session(true)
        .set_manual_acks(!plan.acknowledges)
        .set_max_packet_size(INCOMING_LIMIT, OUTGOING_LIMIT);
    if !settings.username.is_empty() {
        options.set_credentials(&settings.username, &settings.password);
    }
    let (client, mut connection) = Client::new(options, queue);
    let network = &mut connection.eventloop.network_options;
    network.set_connection_timeout(CONNECT_TIMEOUT_S);
    network.set_tcp_nodelay(true);
    Some((client, connection))
}

/// What the broker's answer to CONNECT means.
fn consent_of(answer: Result<PacketEvent, ConnectionError>) -> Result<(), i32> {
    match answer {
        Ok(_) => Ok(()),
        Err(ConnectionError::Io(error)) => Err(system_code(&error)),
        Err(ConnectionError::ConnectionRefused(code)) => Err(code as i32),
        Err(_) => Err(NO_SYSTEM_CODE),
    }
}

/// What has come from the broker.
enum Come {
    Message(Vec<u8>),
    /// A message of so many bytes was not taken, and the connection is over.
    TooLarge(usize),
}

/// Where messages go that have come.
struct Inbox {
    queue: Sender<Come>,
    waiting: Arc<AtomicUsize>,
    reads_qos1: bool,
    reads_dup: bool,
}

impl Inbox {
    /// Takes a message; false when that cannot be.
    fn take(&self, message: &Publish) -> bool {
        let is_unread = !self.reads_qos1 || message.dup && !self.reads_dup;
        if is_unread && message.qos != QoS::AtMostOnce {
            return true;
        }
        let length = message.payload.len();
        let waiting = self.waiting.load(Ordering::Relaxed);
        let mut copy = Vec::new();
        let has_room = waiting + length <= WAITING_LIMIT;
        if length > LARGEST_MESSAGE || !has_room || copy.try_reserve_exact(length).is_err() {
            self.refuse(length);
            return false;
        }
        copy.extend_from_slice(&message.payload);
        self.waiting.fetch_add(length, Ordering::Relaxed);
        // Nobody reads any more once the device hangs up.
        let _ = self.queue.send(Come::Message(copy));
        true
    }

    fn refuse(&self, bytes: usize) {
        let _ = self.queue.send(Come::TooLarge(bytes));
    }
}

/// Moves packets until the connection is gone or the device has let go of it. The queue ends when
/// the socket is closed.
fn pump(
    mut eventloop: EventLoop,
    ping_interval: Option<Duration>,
    consent: &Sender<Result<(), i32>>,
    inbox: Inbox,
    end: oneshot::Receiver<u64>,
) {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        let answer = consent_of(eventloop.poll().await);
        let is_refused = answer.is_err();
        if consent.send(answer).is_ok() && !is_refused {
            talk(&mut eventloop, ping_interval, &inbox, end).await;
        }
        drop(eventloop);
    });
    drop(inbox);
}

async fn talk(
    eventloop: &mut EventLoop,
    ping_interval: Option<Duration>,
    inbox: &Inbox,
    mut end: oneshot::Receiver<u64>,
) {
    // The library would show life exactly when the interval is over. Firmware does it at half time,
    // and so a late thread does not make a liar of the device.
    eventloop.mqtt_options.set_keep_alive(Duration::ZERO);
    let mut next_ping = ping_interval.map(|interval| Instant::now() + interval);
    let mut heard = Instant::now();
    let mut sent = 0;
    // How many messages have to be out before the end, and until when that may take.
    let mut farewell: Option<(u64, Instant)> = None;
    while farewell.is_none_or(|(all, limit)| sent < all && Instant::now() < limit) {
        let now = Instant::now();
        if let (Some(due), Some(interval)) = (next_ping, ping_interval)
            && due <= now
        {
            // The library would hang up when a PINGRESP is missing at the next PINGREQ, one second later with
            // the harness's keep-alive: a server on a busy computer may take longer than that.
            if now < heard + SERVER_SILENCE {
                eventloop.state.await_pingresp = false;
            }
            let ping = Request::PingReq(PingReq);
            eventloop.pending.push_back(ping);
            next_ping = Some(now + interval);
        }
        let timer = farewell.map(|(_, limit)| limit).or(next_ping);
        let event = {
            let mut poll = pin!(eventloop.poll());
            tokio::select! {
                biased;
                event = &mut poll => Some(event),
                all = &mut end, if farewell.is_none() => {
                    farewell = Some((all.unwrap_or(0), now + FAREWELL));
                    None
                }
                () = sleep_until(timer.unwrap_or(now)), if timer.is_some() => None,
            }
        };
        if matches!(event, Some(Ok(PacketEvent::Incoming(_)))) {
            heard = Instant::now();
        }
        match event {
            Some(Ok(PacketEvent::Incoming(Packet::Publish(message)))) => {
                if !inbox.take(&message) {
                    break;
                }
            }
            Some(Ok(PacketEvent::Outgoing(Outgoing::Publish(_)))) => sent += 1,
            Some(Ok(_)) | None => {}
            Some(Err(ConnectionError::MqttState(StateError::Deserialization(
                mqttbytes::Error::PayloadSizeLimitExceeded(bytes),
            )))) => {
                inbox.refuse(bytes);
                break;
            }
            // Another poll would connect again, which is the device's decision.
            Some(Err(_)) => break,
        }
    }
}

/// Publishes every message as it came until the connection is gone; the exit code.
pub(crate) fn echo(settings: &MqttSettings) -> Result<u8, String> {
    /// Messages on their way; more of them at a time are lost, and the benchmark says so.
    const ECHO_QUEUE: usize = 1 << 16;
    let cannot = |code| format!("cannot connect to `{}`: error {code}", settings.endpoint);
    let plan = ConnectPlan::new(settings);
    let (client, mut connection) =
        prepare(&plan, ECHO_QUEUE).ok_or_else(|| cannot(NO_SYSTEM_CODE))?;
    let answer = connection.recv().map_err(|_| cannot(NO_SYSTEM_CODE))?;
    consent_of(answer).map_err(cannot)?;
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
