//! The states of the device that its console and its notifications name.

/// What the device is doing, as in `StateMachine: State: a -> b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum State {
    /// Before boot.
    #[default]
    Unknown,
    /// Booting.
    Starting,
    /// Booted, asking for its configuration.
    Activating,
    /// Ready, no connection.
    Idle,
    /// Dialling, or waiting for the server's hello.
    Connecting,
    /// Connected, microphone on.
    Listening,
    /// Connected, microphone off while the server speaks.
    Speaking,
}

impl State {
    /// The word that console and notifications use.
    pub fn name(self) -> &'static str {
        match self {
            State::Unknown => "unknown",
            State::Starting => "starting",
            State::Activating => "activating",
            State::Idle => "idle",
            State::Connecting => "connecting",
            State::Listening => "listening",
            State::Speaking => "speaking",
        }
    }
}
