//! A client of an MQTT broker: what the gateway joins one with, and what the harness plays callers
//! and devices with.

use std::time::Duration;

use rumqttc::{AsyncClient, Event, EventLoop, MqttOptions, Packet, QoS, SubscribeReasonCode};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Largest packet either way, in bytes.
const MAX_PACKET_BYTES: usize = 1024 * 1024;

/// Messages that wait to be taken; more are left to TCP.
const WAITING: usize = 256;

/// Where a broker is, and who asks.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// User name and password.
    pub login: Option<(String, String)>,
}

// A password stays out of logs.
impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

impl Server {
    /// Reads `host:port`; `[address]:port` where the address has colons.
    ///
    /// # Errors
    ///
    /// What is missing, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected `host:port`, got `{text}`");
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = port.parse().map_err(|_| wrong())?;
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port, login: None })
    }
}

/// What a client gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming {
    /// A PUBLISH packet.
    Message {
        /// Its topic.
        topic: String,
        /// Its payload.
        payload: Vec<u8>,
    },
    /// The connection is gone, in words; nothing comes any more.
    Gone(String),
}

/// A connected client. Dropping it drops the connection.
#[derive(Debug)]
pub struct Mqtt {
    client: AsyncClient,
    incoming: mpsc::Receiver<Incoming>,
    pump: JoinHandle<()>,
}

impl Mqtt {
    /// Connects and subscribes; returns when both are acknowledged.
    ///
    /// # Errors
    ///
    /// Why not, in words.
    pub async fn connect(
        server: &Server,
        client_id: &str,
        topics: &[&str],
        wait: Duration,
    ) -> Result<Self, String> {
        let mut options = MqttOptions::new(client_id, server.host.clone(), server.port);
        options.set_keep_alive(Duration::from_secs(60));
        options.set_max_packet_size(MAX_PACKET_BYTES, MAX_PACKET_BYTES);
        if let Some((user, password)) = &server.login {
            options.set_credentials(user, password);
        }
        let (client, mut events) = AsyncClient::new(options, WAITING);
        let ready = timeout(wait, subscribe(&client, &mut events, topics));
        match ready.await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => return Err(format!("`{server}`: {why}")),
            Err(_) => {
                return Err(format!("`{server}`: no answer within {} s", wait.as_secs_f64()));
            }
        }
        let (sender, incoming) = mpsc::channel(WAITING);
        let pump = tokio::spawn(async move {
            loop {
                let what = match events.poll().await {
                    Ok(Event::Incoming(Packet::Publish(publish))) => Incoming::Message {
                        topic: publish.topic,
                        payload: publish.payload.to_vec(),
                    },
                    Ok(_) => continue,
                    Err(error) => Incoming::Gone(error.to_string()),
                };
                let last = matches!(what, Incoming::Gone(_));
                if sender.send(what).await.is_err() || last {
                    return;
                }
            }
        });
        Ok(Self { client, incoming, pump })
    }

    /// Publishes a message: with QoS 1 if it is to be acknowledged, else with QoS 0.
    ///
    /// # Errors
    ///
    /// The connection is gone.
    pub async fn publish(&self, topic: &str, text: &str, sure: bool) -> Result<(), String> {
        let qos = if sure { QoS::AtLeastOnce } else { QoS::AtMostOnce };
        self.client
            .publish(topic, qos, false, text)
            .await
            .map_err(|_| "the MQTT connection is lost".to_owned())
    }

    /// What comes next. Cancel-safe.
    pub async fn next(&mut self) -> Incoming {
        match self.incoming.recv().await {
            Some(incoming) => incoming,
            None => Incoming::Gone("the MQTT connection is lost".into()),
        }
    }
}

impl Drop for Mqtt {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

async fn subscribe(
    client: &AsyncClient,
    events: &mut EventLoop,
    topics: &[&str],
) -> Result<(), String> {
    for topic in topics {
        let asked = client.subscribe(*topic, QoS::AtLeastOnce).await;
        asked.map_err(|error| error.to_string())?;
    }
    let mut open = topics.len();
    let mut connected = false;
    while !connected || open > 0 {
        match events.poll().await.map_err(|error| error.to_string())? {
            Event::Incoming(Packet::ConnAck(_)) => connected = true,
            Event::Incoming(Packet::SubAck(ack)) => {
                if ack.return_codes.contains(&SubscribeReasonCode::Failure) {
                    return Err("it refuses our subscription".into());
                }
                open -= 1;
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_read_with_its_port() {
        let server = Server::parse("broker.local:1883").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("broker.local", 1883));
        assert_eq!(Server::parse("[::1]:1884").unwrap().to_string(), "[::1]:1884");
        for wrong in ["", "host", ":1883", "host:", "host:0", "host:65536"] {
            assert!(Server::parse(wrong).unwrap_err().contains("host:port"));
        }
    }
}
