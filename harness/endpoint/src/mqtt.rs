//! The MQTT endpoint: the broker's side, as far as devices of the family need one.
//!
//! Real devices never subscribe; whatever is meant for one is pushed on its own connection
//! (device-protocol 3.1, 3.4). MQTT 3.1.1 and 3.1 are spoken, QoS 0 and 1 both ways.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::BytesMut;
use mcp_hil_core::transcript::MqttConnect;
use rumqttc::mqttbytes::{
    Error as CodecError,
    v4::{ConnAck, Connect, ConnectReturnCode, Login, Packet},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};

use crate::acceptor::{Acceptor, Rejection};
use crate::error::EndpointError;
use crate::link::mqtt::{MqttLink, Terms};
use crate::link::packets::{
    self, Arrived, Taken, is_of_client, modernise, name, reserved_bits, reserved_flags, surplus,
};
use crate::link::{Handshake, Link, Wire};
use crate::tls::begins_tls;

/// Largest CONNECT packet: its five strings have 64 KiB each at most.
const MAX_CONNECT_BYTES: usize = 5 * 64 * 1024 + 64;

/// Longest piece of a client id that a push topic is made of.
const MAX_TOPIC_NAME: usize = 64;

/// Why whoever begins with another packet is refused.
const NOT_CONNECT: &str = "the first packet is not CONNECT (MQTT 3.1.1, 3.1.0)";

/// What devices were told, and must present.
#[derive(Debug, Clone, Default)]
pub struct MqttTerms {
    /// User name and password; `None` lets everybody in.
    pub credentials: Option<(String, String)>,
    /// The client id, when devices were given one.
    pub client_id: Option<String>,
    /// The topic to which they were told to publish.
    pub publish_topic: Option<String>,
    /// The topic to which messages are pushed; without it `devices/p2p/<mac>` with the MAC address
    /// of the client id, as the published gateway does.
    pub push_topic: Option<String>,
}

/// A port on which the harness plays the broker.
#[derive(Debug)]
pub struct MqttEndpoint {
    acceptor: Acceptor,
}

impl MqttEndpoint {
    /// Listens on `address`; port 0 takes any free one. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// The address is in use, not permitted or not of this machine.
    pub async fn bind(address: SocketAddr, terms: MqttTerms) -> Result<Self, EndpointError> {
        let terms = Arc::new(terms);
        let present = Arc::new(Present::default());
        let acceptor = Acceptor::bind(address, "MQTT CONNECT", move |stream, peer| {
            handshake(stream, peer, terms.clone(), present.clone())
        });
        Ok(Self { acceptor: acceptor.await? })
    }

    /// What a device is told to dial, `host:port`.
    pub fn dial(&self) -> String {
        self.acceptor.public_address().to_string()
    }

    pub(super) fn acceptor(&mut self) -> &mut Acceptor {
        &mut self.acceptor
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.acceptor.address()
    }

    pub(super) async fn close(self) {
        self.acceptor.close().await;
    }
}

/// The connected client ids, each with what makes its link end. Replacing an entry drops the old
/// one, and so ends the link that holds its other half.
#[derive(Debug, Default)]
struct Present {
    links: Mutex<HashMap<String, oneshot::Sender<()>>>,
    /// What has come from any of them.
    taken: Taken,
}

impl Present {
    /// Enters a client.
    fn take_over(&self, client_id: &str) -> oneshot::Receiver<()> {
        let (hold, replaced) = oneshot::channel();
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|_, hold| !hold.is_closed());
        links.insert(client_id.to_owned(), hold);
        replaced
    }
}

async fn handshake(
    mut stream: TcpStream,
    peer: SocketAddr,
    terms: Arc<MqttTerms>,
    present: Arc<Present>,
) -> Result<Link, Rejection> {
    stream.set_nodelay(true).map_err(|error| Rejection::other(format!("TCP_NODELAY: {error}")))?;
    let mut input = BytesMut::new();
    let (connect, level, fault) = read_connect(&mut stream, &mut input).await?;
    let given = terms.credentials.as_ref();
    if let Some(why) = given.and_then(|given| wrong_login(given, connect.login.as_ref())) {
        answer(&mut stream, ConnectReturnCode::BadUserNamePassword).await;
        return Err(Rejection::credentials(why));
    }
    if connect.client_id.is_empty() && !connect.clean_session {
        answer(&mut stream, ConnectReturnCode::BadClientId).await;
        let why = "an empty client id without a clean session (MQTT 3.1.1, 3.1.3.1)";
        return Err(Rejection::packets(why.to_owned()));
    }
    answer(&mut stream, ConnectReturnCode::Success).await;
    let replaced = present.take_over(&connect.client_id);
    let push_topic = terms.push_topic.clone().unwrap_or_else(|| push_topic(&connect.client_id));
    let wire = MqttLink::new(
        stream,
        input,
        Terms {
            keep_alive_s: connect.keep_alive,
            push_topic,
            publish_topic: terms.publish_topic.clone(),
            level,
            taken: present.taken.clone(),
        },
        replaced,
        fault,
    );
    let handshake = Handshake {
        path: String::new(),
        headers: Default::default(),
        mqtt: Some(MqttConnect {
            level,
            client_id: connect.client_id,
            given_client_id: terms.client_id.clone(),
            keep_alive_s: connect.keep_alive,
            // Who holds the configuration knows whether the device has fetched it.
            given_keep_alive_s: None,
            clean_session: connect.clean_session,
            will: connect.last_will.is_some(),
            credentials: given.is_some(),
            publish_topic: terms.publish_topic.clone(),
        }),
        peer,
    };
    Ok(Link::new(Wire::Mqtt(Box::new(wire)), handshake))
}

/// Reads the CONNECT packet: with the level that it names, and what is wrong with its flags.
async fn read_connect(
    stream: &mut TcpStream,
    input: &mut BytesMut,
) -> Result<(Connect, u8, Option<&'static str>), Rejection> {
    let (mut level, mut fault) = (None, None);
    loop {
        if let Some(refusal) = no_connect(input) {
            return Err(refusal);
        }
        fault = fault.or(reserved_bits(input));
        if level.is_none() {
            level = modernise(input);
        }
        if let Some(other) = level.filter(|level| ![3, 4].contains(level)) {
            // Of other levels nothing is known, not even where the packet has its client id.
            answer(stream, ConnectReturnCode::RefusedProtocolVersion).await;
            return Err(Rejection::version(format!(
                "MQTT protocol level {other}: expected 4 (MQTT 3.1.1) or 3 (MQTT 3.1)"
            )));
        }
        fault = fault.or(reserved_flags(input));
        if surplus(input).is_some() {
            fault.get_or_insert("CONNECT has bytes behind its last field (3.1.3)");
        }
        match Packet::read(input, MAX_CONNECT_BYTES) {
            Ok(Packet::Connect(connect)) => return Ok((connect, level.unwrap_or(4), fault)),
            Err(CodecError::InvalidProtocol | CodecError::InvalidProtocolLevel(_)) => {
                answer(stream, ConnectReturnCode::RefusedProtocolVersion).await;
                let why = "its CONNECT has a protocol name that does not belong to its level \
                           (MQTT 3.1.1, 3.1.2.1)";
                return Err(Rejection::version(why.to_owned()));
            }
            Ok(_) => return Err(Rejection::other(NOT_CONNECT.to_owned())),
            Err(CodecError::InsufficientBytes(_)) => {}
            Err(error) => {
                let why = format!("not an MQTT CONNECT packet ({error})");
                // The name of the protocol and a level of it came: that is nobody else.
                let refusal = if level.is_some() { Rejection::packets } else { Rejection::other };
                return Err(refusal(why));
            }
        }
        match stream.read_buf(input).await {
            Ok(0) => {
                let why = "it closed before its CONNECT packet was complete";
                return Err(Rejection::other(why.to_owned()));
            }
            Ok(_) => {}
            Err(error) => return Err(Rejection::other(error.to_string())),
        }
    }
}

/// Why what came cannot become a CONNECT packet, from its first bytes on: what follows may never
/// come.
fn no_connect(input: &BytesMut) -> Option<Rejection> {
    const CONNECT: u8 = 0x10;
    let first = *input.first()?;
    if begins_tls(input) {
        let why =
            "it uses TLS; expected MQTT over plain TCP (stock firmware uses TLS on port 8883)";
        return Some(Rejection::other(why.to_owned()));
    }
    if first & 0xf0 == CONNECT {
        return None;
    }
    let other = Rejection::other(NOT_CONNECT.to_owned());
    if !is_of_client(first) {
        return Some(other);
    }
    let arrived = Arrived::of(input);
    match Packet::read(&mut input.clone(), MAX_CONNECT_BYTES) {
        Ok(packet) if packets::fault(&packet, &arrived, 4).is_none() => {
            Some(Rejection::packets(format!("{NOT_CONNECT}, but {}", name(&packet))))
        }
        Err(CodecError::InsufficientBytes(_)) => None,
        _ => Some(other),
    }
}

/// Sends CONNACK. A device that is gone already shows it when it is read from.
async fn answer(stream: &mut TcpStream, code: ConnectReturnCode) {
    let mut bytes = BytesMut::new();
    // Writing to memory does not fail.
    let _ = ConnAck::new(code, false).write(&mut bytes);
    let _ = stream.write_all(&bytes).await;
}

/// What is wrong with what a device presented, in words without the password.
fn wrong_login(given: &(String, String), login: Option<&Login>) -> Option<String> {
    let Some(login) = login else {
        return Some("its CONNECT has no user name and password".to_owned());
    };
    if login.username != given.0 {
        return Some("its CONNECT has a user name other than the one it was given".to_owned());
    }
    (login.password != given.1)
        .then(|| "its CONNECT has a password other than the one it was given".to_owned())
}

/// The topic of the published gateway: the part of the client id that names the device.
fn push_topic(client_id: &str) -> String {
    let name = client_id.split("@@@").nth(1).unwrap_or(client_id);
    let name: String = name
        .chars()
        .map(|c| match c {
            ':' => '_',
            c if c.is_ascii_alphanumeric() || "_-.".contains(c) => c,
            _ => '-',
        })
        .take(MAX_TOPIC_NAME)
        .collect();
    format!("devices/p2p/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_topic_names_the_device() {
        assert_eq!(
            push_topic("GID_a@@@02_00_00_4d_43_50@@@6d63702d"),
            "devices/p2p/02_00_00_4d_43_50"
        );
        assert_eq!(push_topic("02:00:00:aa"), "devices/p2p/02_00_00_aa");
        // Neither wildcards nor levels get into a topic name.
        assert_eq!(push_topic("a/+/#"), "devices/p2p/a----");
    }

    #[test]
    fn a_wrong_login_is_told_without_the_password() {
        let given = ("user".to_owned(), "secret".to_owned());
        let login = |user: &str, password: &str| Login::new(user, password);
        assert_eq!(wrong_login(&given, Some(&login("user", "secret"))), None);
        for bad in [Some(login("user", "secreT")), Some(login("", "secret")), None] {
            let why = wrong_login(&given, bad.as_ref()).unwrap();
            assert!(!why.contains("ecre"), "{why}");
        }
    }
}
