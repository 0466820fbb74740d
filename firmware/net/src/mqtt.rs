//! The MQTT 3.1.1 client of the device, without sockets: a codec with the device's own opinion of
//! acknowledgements and signs of life.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use mqtt_protocol_core::mqtt::Connection;
use mqtt_protocol_core::mqtt::Version;
use mqtt_protocol_core::mqtt::common::Cursor;
use mqtt_protocol_core::mqtt::connection::Event;
use mqtt_protocol_core::mqtt::packet::v3_1_1::{Connect, Pingreq, Publish};
use mqtt_protocol_core::mqtt::packet::{GenericPacketTrait, Packet, Qos};
use mqtt_protocol_core::mqtt::role;
use reference_body::{ConnectPlan, NO_SYSTEM_CODE, Publication};

/// One connection to a broker.
pub(crate) struct Client {
    connection: Connection<role::Client>,
    plan: ConnectPlan,
    /// Packets that went out.
    count: u64,
    outgoing: Vec<u8>,
    inbox: VecDeque<Vec<u8>>,
    consent: Option<Result<(), i32>>,
    closed: bool,
}

impl Client {
    /// A connection that begins with CONNECT; the error is what the console shows.
    pub(crate) fn new(plan: &ConnectPlan) -> Result<Client, i32> {
        let mut connection = Connection::new(Version::V3_1_1);
        connection.set_auto_pub_response(plan.acknowledges);
        let mut client = Client {
            connection,
            plan: plan.clone(),
            count: 0,
            outgoing: Vec::new(),
            inbox: VecDeque::new(),
            consent: None,
            closed: false,
        };
        let connect = connect(plan).ok_or(NO_SYSTEM_CODE)?;
        let events = client.connection.checked_send(connect);
        client.handle(events);
        Ok(client)
    }

    /// What the broker said to CONNECT, once it has: the error is its return code.
    pub(crate) fn consent(&self) -> Option<Result<(), i32>> {
        self.consent
    }

    /// Whether the connection has to end.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The next message.
    pub(crate) fn next_message(&mut self) -> Option<Vec<u8>> {
        self.inbox.pop_front()
    }

    /// The bytes that have to be sent.
    pub(crate) fn take_outgoing(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.outgoing)
    }

    /// Takes bytes from the broker.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let mut cursor = Cursor::new(bytes);
        while !self.closed && (cursor.position() as usize) < bytes.len() {
            let events = self.connection.recv(&mut cursor);
            self.handle(events);
        }
    }

    /// Publishes; false when that cannot be.
    pub(crate) fn publish(&mut self, publication: Publication) -> bool {
        let qos = match publication.qos {
            0 => Qos::AtMostOnce,
            1 => Qos::AtLeastOnce,
            _ => Qos::ExactlyOnce,
        };
        let mut builder = Publish::builder()
            .qos(qos)
            .retain(publication.retain)
            .payload(publication.payload);
        builder = match builder.topic_name(publication.topic) {
            Ok(builder) => builder,
            Err(_) => return false,
        };
        if qos != Qos::AtMostOnce {
            match self.connection.acquire_packet_id() {
                Ok(id) => builder = builder.packet_id(id),
                Err(_) => return false,
            }
        }
        let Ok(publish) = builder.build() else {
            return false;
        };
        let events = self.connection.checked_send(publish);
        self.handle(events);
        !self.closed
    }

    /// Shows life.
    pub(crate) fn ping(&mut self) {
        let events = self.connection.checked_send(Pingreq::new());
        self.handle(events);
    }

    fn handle(&mut self, events: Vec<Event>) {
        for event in events {
            match event {
                Event::RequestSendPacket { packet, .. } => self.send(&packet),
                Event::NotifyPacketReceived(Packet::V3_1_1Connack(answer)) => {
                    let code = answer.return_code();
                    self.consent = Some(if code.is_success() {
                        Ok(())
                    } else {
                        Err(code as i32)
                    });
                }
                Event::NotifyPacketReceived(Packet::V3_1_1Publish(message)) => {
                    if self.plan.reads_qos1 || message.qos() == Qos::AtMostOnce {
                        self.inbox.push_back(message.payload().as_slice().to_vec());
                    }
                }
                Event::RequestClose | Event::NotifyError(_) => self.closed = true,
                // The device has timers of its own.
                Event::RequestTimerReset { .. }
                | Event::RequestTimerCancel(_)
                | Event::NotifyPacketReceived(_)
                | Event::NotifyPacketIdReleased(_) => {}
            }
        }
    }

    fn send(&mut self, packet: &Packet) {
        let bytes = packet.to_continuous_buffer();
        match self.plan.tamper {
            Some(tamper) => self.outgoing.extend(tamper(self.count, &bytes)),
            None => self.outgoing.extend_from_slice(&bytes),
        }
        self.count += 1;
    }
}

fn connect(plan: &ConnectPlan) -> Option<Connect> {
    let settings = &plan.settings;
    let mut builder = Connect::builder()
        .clean_session(true)
        .keep_alive(settings.keep_alive_s)
        .client_id(&*settings.client_id)
        .ok()?;
    if !settings.username.is_empty() {
        builder = builder.user_name(&*settings.username).ok()?;
        builder = builder.password(&*settings.password).ok()?;
    }
    builder.build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use reference_device::MqttSettings;

    fn plan() -> ConnectPlan {
        ConnectPlan::new(&MqttSettings {
            client_id: "c".to_string(),
            username: "u".to_string(),
            password: "p".to_string(),
            keep_alive_s: 2,
            ..MqttSettings::default()
        })
    }

    fn connected(plan: &ConnectPlan) -> Client {
        let mut client = Client::new(plan).expect("a client");
        client.take_outgoing();
        client.feed(&[0x20, 2, 0, 0]);
        assert_eq!(client.consent(), Some(Ok(())));
        client
    }

    #[test]
    fn connect_is_what_the_settings_say() {
        let mut client = Client::new(&plan()).expect("a client");
        assert_eq!(
            client.take_outgoing(),
            b"\x10\x13\x00\x04MQTT\x04\xc2\x00\x02\x00\x01c\x00\x01u\x00\x01p"
        );
        assert_eq!(client.consent(), None);
        client.feed(&[0x20, 2, 0, 5]);
        assert_eq!(client.consent(), Some(Err(5)));
    }

    #[test]
    fn messages_come_without_a_subscription_and_are_acknowledged() {
        let mut client = connected(&plan());
        client.feed(b"\x30\x04\x00\x01th");
        client.feed(b"\x32\x06\x00\x01t\x00\x07");
        client.feed(b"i\x30\x04\x00\x01tj");
        assert_eq!(client.next_message(), Some(b"h".to_vec()));
        assert_eq!(client.next_message(), Some(b"i".to_vec()));
        assert_eq!(client.next_message(), Some(b"j".to_vec()));
        assert_eq!(client.take_outgoing(), b"\x40\x02\x00\x07");
    }

    #[test]
    fn a_plan_may_leave_acknowledgements_out() {
        let mut client = connected(&ConnectPlan {
            acknowledges: false,
            ..plan()
        });
        client.feed(b"\x32\x06\x00\x01t\x00\x07i");
        assert_eq!(client.next_message(), Some(b"i".to_vec()));
        assert_eq!(client.take_outgoing(), b"");
    }

    #[test]
    fn what_is_published_is_spoilt_on_its_way_only() {
        let mut client = connected(&ConnectPlan {
            tamper: Some(|number, packet| {
                let mut bytes = packet.to_vec();
                bytes.push(u8::try_from(number).expect("few packets"));
                bytes
            }),
            ..plan()
        });
        let sent = client.publish(Publication {
            topic: "t".to_string(),
            qos: 0,
            retain: true,
            payload: b"x".to_vec(),
        });
        assert!(sent);
        client.ping();
        assert_eq!(
            client.take_outgoing(),
            b"\x31\x04\x00\x01tx\x01\xc0\x00\x02"
        );
    }

    #[test]
    fn what_is_no_packet_ends_the_connection() {
        let mut client = connected(&plan());
        client.feed(&[0x00, 0x00]);
        assert!(client.is_closed());
    }
}
