//! What a body needs of the machine that it runs on.

use alloc::string::String;
use alloc::vec::Vec;

use reference_device::{HttpOutcome, HttpRequest, Memory, MqttSettings};

/// Error number shown when the system gave none: the handshake was refused.
pub const NO_SYSTEM_CODE: i32 = -1;

/// Headers of the WebSocket handshake.
pub type Headers = Vec<(&'static str, String)>;

/// Sockets, a clock and a console. There is one connection to the server at a time.
pub trait Platform {
    /// Milliseconds of a clock that does not go back.
    fn now(&mut self) -> u64;

    /// Lets so many milliseconds pass.
    fn pause(&mut self, ms: u64);

    /// Whether a ROM has told on the console why the machine starts, before any of this ran.
    fn has_rom(&self) -> bool {
        false
    }

    /// What is left of the memory, if the machine can tell.
    fn memory(&mut self) -> Option<Memory> {
        None
    }

    /// Prints a console line and pushes it out.
    fn print(&mut self, line: &str);

    /// Connects to the server; the error is the system's error number.
    ///
    /// # Errors
    ///
    /// Nobody listens there, or it refuses.
    fn dial(&mut self, dial: &Dial<'_>) -> Result<(), i32>;

    /// Waits for the next event of the connection, so many milliseconds at most.
    fn read(&mut self, patience_ms: u64) -> Event;

    /// Sends a frame over WebSocket; false when the connection is gone.
    fn send(&mut self, frame: Frame) -> bool;

    /// Publishes a message over MQTT; false when the connection is gone.
    fn publish(&mut self, publication: Publication) -> bool;

    /// Ends the connection, if there is one, without a word of its protocol.
    fn hang_up(&mut self);

    /// Makes an HTTP request. Redirects are not followed; every status is an answer, unless its body is
    /// larger than [`reference_device::LARGEST_MESSAGE`].
    fn request(&mut self, request: &HttpRequest) -> HttpOutcome;

    /// Sends a UDP datagram. What cannot be sent is lost, as sound is.
    fn send_datagram(&mut self, server: &str, port: u16, bytes: &[u8]);

    /// Whether somebody has pressed the button since this was asked last.
    fn pressed(&mut self) -> bool {
        false
    }

    /// Switches off.
    fn end(&mut self, code: u8) -> !;
}

/// Whom to dial.
#[derive(Debug)]
pub enum Dial<'a> {
    /// A WebSocket server.
    Websocket {
        /// Its address, `ws://`.
        url: &'a str,
        /// Headers of the handshake beyond those that it needs.
        headers: Headers,
        /// What is wrong below the messages.
        options: LinkOptions,
    },
    /// A broker.
    Mqtt(ConnectPlan),
}

/// What the device sends.
#[derive(Clone, Debug)]
pub enum Frame {
    /// A text frame.
    Text(String),
    /// A text frame whose bytes need not be text.
    RawText(Vec<u8>),
    /// A binary frame.
    Binary(Vec<u8>),
    /// A Close frame with this code. The server ends the connection then.
    Close(u16),
}

/// What happened on the connection.
#[derive(Debug)]
pub enum Event {
    /// A text frame arrived.
    Text {
        /// Its content.
        text: String,
        /// It came in more than one WebSocket frame; only told when that is watched.
        fragmented: bool,
    },
    /// A binary frame arrived.
    Binary(Vec<u8>),
    /// A message arrived over MQTT. Its bytes need not be text.
    Message(Vec<u8>),
    /// A message was announced that is larger than [`reference_device::LARGEST_MESSAGE`], or than what is
    /// left of the memory. The server has been told as far as its protocol has words for that; nothing
    /// more comes.
    Refused {
        /// Bytes of the message, as far as they were announced.
        bytes: u64,
    },
    /// The time is over, or only control frames came.
    Nothing,
    /// The connection is gone.
    Closed,
}

/// What a defect wants from the layer below the messages.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkOptions {
    /// Do not answer pings.
    pub drop_pongs: bool,
    /// Do not answer pings with as much data as a control frame may carry.
    pub drop_long_pongs: bool,
    /// Answer only the first ten pings of a connection.
    pub ten_pongs: bool,
    /// Do not answer pings without data.
    pub drop_empty_pongs: bool,
    /// Do not answer pings whose data is no text in UTF-8.
    pub drop_binary_pongs: bool,
    /// The data of a pong ends before the first zero byte, as a text of C does.
    pub cut_pongs: bool,
    /// Lose a message between whose fragments a ping came.
    pub loses_pinged: bool,
    /// Lose a message one of whose fragments was empty.
    pub loses_emptied: bool,
    /// Lose a message whose last fragment was empty.
    pub loses_empty_end: bool,
    /// End the connection when a binary message in fragments comes.
    pub ends_at_binary_pieces: bool,
    /// Lose a message that did not come in one read.
    pub loses_split: bool,
    /// Do not answer pings between the fragments of a message.
    pub drop_inner_pongs: bool,
    /// Tell which messages came in fragments.
    pub watch_fragments: bool,
    /// Do not answer a Close frame, and end the connection without one.
    pub drop_closes: bool,
    /// After a Close frame of the server, leave the connection as it is until the server ends it.
    pub lingers: bool,
    /// End the connection when a pong comes.
    pub ends_at_pong: bool,
    /// End the connection without a word when a Close frame with a reason comes.
    pub ends_at_reason: bool,
    /// End the connection without a word when a Close frame without a code comes.
    pub ends_at_bare: bool,
    /// Take text that is not UTF-8, with U+FFFD for what cannot be read.
    pub takes_any_text: bool,
    /// Give the length of each frame in 16 bits, even where 7 are enough.
    pub wide_lengths: bool,
    /// Mask all frames with the same key.
    pub same_mask: bool,
    /// Mask frames with keys that are counted.
    pub counted_masks: bool,
    /// Say this code in a Close frame, whatever it should be.
    pub close_code: Option<u16>,
    /// Send a text behind a Close frame.
    pub talks_on: bool,
    /// Take the beginning of a connection for the rest of a frame that the one before has cut off.
    pub keeps_rest: bool,
    /// Close the connection without a word because of a message that is too large.
    pub refuses_silently: bool,
    /// Close it with the code of a broken protocol instead.
    pub refuses_as_error: bool,
    /// Leave the header Host out of the handshake.
    pub hostless: bool,
    /// Ask for `/`, whatever the URL says.
    pub pathless: bool,
    /// Open the handshake with POST, and leave out the empty line behind the headers.
    pub unfinished: bool,
    /// Lose what comes in one piece with the response to the handshake.
    pub forgets_rest: bool,
    /// Take a frame in which reserved bits are set.
    pub takes_reserved_bits: bool,
    /// Take a frame with an unknown opcode for a text.
    pub takes_unknown_opcodes: bool,
    /// Take a continuation of nothing for a text.
    pub takes_continuations: bool,
    /// Take a message that stands between the fragments of another one.
    pub takes_between: bool,
    /// Take a text that is not UTF-8, with question marks for what is none.
    pub takes_not_utf8: bool,
    /// Take a ping of which more is to follow.
    pub takes_cut_pings: bool,
    /// Put the pieces of a message that the connection before has cut off before the first message.
    pub keeps_pieces: bool,
}

/// Sees the bytes of a packet on its way to the broker and its number on the connection, CONNECT
/// being 0; gives the bytes to send.
pub type Tamper = fn(u64, &[u8]) -> Vec<u8>;

/// Everything that makes up a CONNECT packet and the behaviour below the messages.
#[derive(Clone, Debug)]
pub struct ConnectPlan {
    /// Where to, who, and how often to show life.
    pub settings: MqttSettings,
    /// After which part of the keep-alive interval the device shows life, in percent; `None` for
    /// never.
    pub ping_at_percent: Option<u32>,
    /// Acknowledge what came with QoS 1.
    pub acknowledges: bool,
    /// Hand on what came with QoS 1.
    pub reads_qos1: bool,
    /// Hand on what came with QoS 1 and the flag of what is sent again.
    pub reads_dup: bool,
    /// Rewrites the packets on their way to the broker.
    pub tamper: Option<Tamper>,
}

impl ConnectPlan {
    /// As the settings say, without a defect. Firmware shows life at half time.
    pub fn new(settings: &MqttSettings) -> Self {
        ConnectPlan {
            settings: settings.clone(),
            ping_at_percent: Some(50),
            acknowledges: true,
            reads_qos1: true,
            reads_dup: true,
            tamper: None,
        }
    }

    /// Milliseconds between two signs of life; `None` for never.
    pub fn ping_interval_ms(&self) -> Option<u64> {
        let percent = u64::from(self.ping_at_percent?);
        let interval = u64::from(self.settings.keep_alive_s) * 1000 * percent / 100;
        Some(interval).filter(|interval| *interval > 0)
    }
}

/// A message on its way to the broker.
#[derive(Clone, Debug)]
pub struct Publication {
    /// Topic.
    pub topic: String,
    /// 0, 1 or 2.
    pub qos: u8,
    /// The broker shall keep it.
    pub retain: bool,
    /// Content.
    pub payload: Vec<u8>,
}
