//! Connections that a device closes because of a message that it need not take.
//!
//! RFC 6455, section 7.4.1: code 1009 is for a message that is too big to process. On a text that is not UTF-8 a
//! connection has failed (section 8.1), as on a frame that no server may send (section 5), which need not be told (section 7.1.7). MQTT
//! 3.1.1, section 4.8: a client that has no room for a packet closes the connection; it has no codes, and DISCONNECT
//! before it is not asked for. Who does so, comes back by itself and serves has refused the message, and nothing else.
//!
//! A device that is left alone may end the connection as well, in due form, or because it says that it restarts: it has a
//! timer that saves power, and a button (device-protocol 2.5, 6.3).

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::limits::MAX_OWED_MESSAGE_BYTES;
use mcp_hil_core::obligation::Duty;
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::{Evidence, Judgement, Outcome};
use mcp_hil_core::wire::Frame;

use super::sink::Sink;

/// The code of a Close frame for a message that is too big.
const TOO_BIG: u16 = 1009;

/// Codes that fit a message whose length does not even fit in 16 bits: against a policy, too big, more than was expected.
/// None has to be told (sections 7.1.7 and 7.4).
const FAR_TOO_BIG: [u16; 3] = [1008, TOO_BIG, 1011];

/// Codes of a conversation that is over, and of an end that goes away.
const IN_ORDER: [u16; 2] = [1000, 1001];

/// After so many microseconds without a message a device is left alone.
const ALONE_US: u64 = 2_000_000;

/// How a connection ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) transport: Transport,
    /// With a Close frame, or with DISCONNECT.
    pub(crate) orderly: bool,
    /// The code of the Close frame.
    pub(crate) code: Option<u16>,
    /// The device has left it open, and has another one.
    pub(crate) is_left: bool,
    /// When.
    pub(crate) at_us: u64,
    /// The console has told that the device restarts on purpose.
    pub(crate) is_announced: bool,
}

impl Ended {
    /// Whether a device that is left alone may end a connection so.
    fn is_of_its_own_accord(&self) -> bool {
        let in_order = self.orderly && self.code.is_none_or(|code| IN_ORDER.contains(&code));
        in_order || self.is_announced
    }
}

/// Why a device may close the connection behind a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    /// It is too big.
    TooBig,
    /// It is so big that nobody sends the like of it.
    FarTooBig,
    /// It is a text that is not UTF-8, or a frame that no server may send: the connection has failed.
    Failed,
    /// It says goodbye. Over WebSocket no document says what that is: who takes it for the end of the conversation may
    /// end it in any way, and stay away.
    Goodbye,
    /// There was no message for a while.
    Alone,
}

/// What a device may refuse by closing the connection, and a connection that was closed so.
#[derive(Debug, Default)]
pub(crate) struct Closings {
    /// Where the last such message was sent, until the device has answered something that came behind it.
    refusable: Option<(u64, Ground)>,
    /// When the latest message was sent or answered, or the connection made.
    latest_us: u64,
    /// The device has closed the connection so, and has not answered since.
    is_open: bool,
    /// What that comes to if it does not come back and serve.
    owed: Option<Judgement>,
}

impl Closings {
    /// The device has connected.
    pub(crate) fn connected(&mut self, at_us: u64) {
        self.latest_us = at_us;
    }

    /// A message goes out.
    pub(crate) fn sent(&mut self, (seq, at_us): (u64, u64), frame: &Frame, duty: &Duty) {
        self.latest_us = at_us;
        let ground = if frame.len() > usize::from(u16::MAX) {
            Ground::FarTooBig
        } else if frame.len() > MAX_OWED_MESSAGE_BYTES {
            Ground::TooBig
        } else if matches!(frame, Frame::NotUtf8(_) | Frame::Odd(..)) {
            Ground::Failed
        } else if duty.ends_session.is_some() {
            Ground::Goodbye
        } else {
            return;
        };
        self.refusable = Some((seq, ground));
    }

    /// The message at `asked` was answered: the device has read what came before it, and it serves.
    pub(crate) fn answered(&mut self, asked: u64, at_us: u64) {
        self.latest_us = at_us;
        if self.refusable.is_none_or(|(seq, _)| seq < asked) {
            *self = Self { latest_us: at_us, ..Self::default() };
        }
    }

    /// Whether the device, which has ended the connection, may have refused a message by it. If so, `requirement` is
    /// kept unless the device stays away.
    pub(crate) fn ended(
        &mut self,
        ended: Ended,
        requirement: Id,
        evidence: impl FnOnce() -> Evidence,
        sink: &Sink,
    ) -> bool {
        let is_alone = ended.at_us.saturating_sub(self.latest_us) >= ALONE_US;
        let ground = match self.refusable {
            _ if is_alone && ended.is_of_its_own_accord() => Ground::Alone,
            Some((_, ground)) => ground,
            None => return false,
        };
        let may = match (ended.transport, ground) {
            (_, Ground::Alone) => true,
            // Who refuses a message by closing the connection has to close it.
            (_, Ground::TooBig | Ground::FarTooBig | Ground::Failed) if ended.is_left => false,
            (Transport::WebSocket, Ground::TooBig) => ended.code == Some(TOO_BIG),
            (Transport::WebSocket, Ground::Failed | Ground::Goodbye) => true,
            (Transport::WebSocket, Ground::FarTooBig) => {
                ended.code.is_none_or(|code| FAR_TOO_BIG.contains(&code))
            }
            (Transport::Mqtt, Ground::TooBig | Ground::FarTooBig) => true,
            (Transport::Mqtt, Ground::Failed | Ground::Goodbye) => false,
        };
        self.is_open |= may;
        if may && matches!(ground, Ground::TooBig | Ground::FarTooBig | Ground::Alone) {
            self.owed = Some(Judgement {
                requirement,
                case: sink.case.clone(),
                step: sink.step.clone(),
                outcome: Outcome::Broken(Box::new(evidence())),
            });
        }
        may
    }

    /// Whether a program may end with its connection: on what no server may send that has failed.
    pub(crate) fn may_end(&self, transport: Transport) -> bool {
        transport == Transport::WebSocket
            && self.refusable.is_some_and(|(_, ground)| ground == Ground::Failed)
    }

    /// Whether the device has refused a message so, and has not served since.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    /// The device did not come back by itself, or the case is over before it has served.
    pub(crate) fn stayed_away(&mut self, sink: &mut Sink) {
        let latest_us = self.latest_us;
        if let Some(owed) = std::mem::replace(self, Self { latest_us, ..Self::default() }).owed {
            sink.add(owed.requirement, owed.case, owed.step, owed.outcome);
        }
    }
}
