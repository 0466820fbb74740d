//! The connection to the server, whatever it is made of.

use std::time::Duration;

use reference_device::{Device, Transport};

use crate::defect::Defect;
use crate::link::{Event, Frame, Link};
use crate::mqtt::{ConnectPlan, MqttLink, Publication};

/// A connection over one of the two transports.
#[derive(Debug)]
pub(crate) enum Line {
    Websocket(Box<Link>),
    Mqtt(MqttLink),
}

impl Line {
    /// Dials as the device's settings say; the error is the system's error number.
    pub(crate) fn dial(device: &Device, defect: Option<&mut Defect>) -> Result<Line, i32> {
        match device.identity().transport {
            Transport::Websocket => {
                let mut headers = device.headers();
                let mut options = Default::default();
                if let Some(defect) = defect {
                    options = defect.link;
                    if let Some(hook) = &mut defect.headers {
                        hook(&mut headers);
                    }
                }
                let link = Link::dial(&device.identity().url, &headers, options)?;
                Ok(Line::Websocket(Box::new(link)))
            }
            Transport::Mqtt => {
                let mut plan = ConnectPlan::new(&device.identity().mqtt);
                if let Some(hook) = defect.and_then(|defect| defect.plan.as_mut()) {
                    hook(&mut plan);
                }
                MqttLink::dial(&plan).map(Line::Mqtt)
            }
        }
    }

    /// Waits for the next event, `timeout` at most.
    pub(crate) fn read(&mut self, timeout: Duration) -> Event {
        match self {
            Line::Websocket(link) => link.read(timeout),
            Line::Mqtt(link) => link.read(timeout),
        }
    }

    /// Sends, over MQTT to `topic`; false when the connection is gone.
    pub(crate) fn send(&mut self, frame: Frame, topic: &str, defect: Option<&mut Defect>) -> bool {
        let link = match self {
            Line::Websocket(link) => return link.send(frame),
            Line::Mqtt(link) => link,
        };
        let payload = match frame {
            Frame::Text(text) => text.into_bytes(),
            Frame::RawText(bytes) => bytes,
            // There are none on this transport.
            Frame::Binary(_) => return true,
        };
        let mut publication = Publication {
            topic: topic.to_string(),
            qos: 0,
            retain: false,
            payload,
        };
        if let Some(hook) = defect.and_then(|defect| defect.publication.as_mut()) {
            hook(&mut publication);
        }
        link.publish(publication)
    }
}
