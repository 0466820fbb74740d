//! A device that a test talks to.

use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::answer::Answer;
use super::broken::Broken;
use super::error::StartError;
use super::snapshot::{Outcome, SnapshotError, compare};
use super::undone::{ControlError, ended};
use mcp_hil_record::event::CaseReport;
use mcp_hil_record::names::transcript_name;
use mcp_hil_runner::run::{Act, Order, Say};
use mcp_hil_runner::snapshots::Setup as Snapshots;

/// What the thread of a device comes back with.
type Thread = JoinHandle<Result<Vec<CaseReport>, StartError>>;

/// A device under test. When it goes away, all that was said to it and by it has been judged, and the test
/// fails with what was found.
#[derive(Debug)]
pub struct Device {
    orders: Option<UnboundedSender<Order>>,
    thread: Option<Thread>,
    case: String,
    folder: PathBuf,
    snapshots: Option<Snapshots>,
    /// Where the test has started it.
    at: &'static Location<'static>,
}

/// What a run came to in which nothing was found.
#[derive(Debug, Clone)]
pub struct Done {
    /// The cases: the test's own, and those around it.
    pub cases: Vec<CaseReport>,
    /// The run's folder.
    pub folder: PathBuf,
}

impl Device {
    pub(super) fn new(
        orders: UnboundedSender<Order>,
        thread: Thread,
        case: String,
        folder: PathBuf,
        snapshots: Option<Snapshots>,
        at: &'static Location<'static>,
    ) -> Self {
        Self { orders: Some(orders), thread: Some(thread), case, folder, snapshots, at }
    }

    /// The run's folder, with the transcript, the console and the reports.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The case that this test is, in reports and transcripts.
    pub fn case(&self) -> &str {
        &self.case
    }

    /// Calls a tool, and waits for the answer.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        let params = json!({"name": tool, "arguments": arguments});
        let say = Say::Request("tools/call".into(), Some(params));
        self.say(say, format!("the call of `{tool}`"))
    }

    /// Sends a request, and waits for the answer. Its id is the harness's.
    pub fn request(&mut self, method: &str, params: Option<Value>) -> Answer {
        let say = Say::Request(method.into(), params);
        self.say(say, format!("the request `{method}`"))
    }

    /// Sends a notification, and makes sure that no answer comes.
    pub fn notify(&mut self, method: &str, params: Option<Value>) -> Answer {
        let say = Say::Notification(method.into(), params);
        self.say(say, format!("the notification `{method}`"))
    }

    /// Sends any text in place of a payload, and waits for what the device owes for it: an answer, or
    /// silence, of which a good request after it makes sure.
    pub fn payload(&mut self, text: &str) -> Answer {
        self.say(Say::Payload(text.into()), "a payload".to_owned())
    }

    /// Compares the exchange that gave an answer with the one that people have reviewed, as `mcp-hil run
    /// --snapshots` does: in the same form, with the same redactions, in the folder of the same device.
    ///
    /// # Panics
    ///
    /// It is another one.
    #[track_caller]
    pub fn snapshot(&mut self, name: &str, answer: &Answer) {
        if let Err(error) = self.compare(name, answer) {
            panic!("{error}");
        }
    }

    /// As [`Device::snapshot`], with the outcome as a value.
    ///
    /// # Errors
    ///
    /// It is another one; or files cannot be read or written.
    pub fn compare(&mut self, name: &str, answer: &Answer) -> Result<Outcome, SnapshotError> {
        let Some(setup) = &self.snapshots else {
            return Ok(Outcome::Off);
        };
        let transcript = self.folder.join(transcript_name(&self.case));
        compare(setup, &self.case, name, &answer.step, &transcript)
    }

    /// Starts the device afresh: a board by the lines of its port, or by its power where the port has none; a
    /// program or an emulator by ending and starting it. Does not wait until it has booted: the console tells
    /// how far it is, and what is said to it next waits until it has connected again.
    ///
    /// # Errors
    ///
    /// It cannot be started afresh.
    pub fn reset(&mut self) -> Result<(), ControlError> {
        self.act(Act::Reset)
    }

    /// Takes the power of the device away and gives it back: of a board by the command `power.cycle` of its
    /// file; a program or an emulator is ended and started. Does not wait until it has booted.
    ///
    /// # Errors
    ///
    /// There is no such command, or it fails.
    pub fn power_cycle(&mut self) -> Result<(), ControlError> {
        self.act(Act::PowerCycle)
    }

    /// Takes the power of the device away: of a board by the command `power.off` of its file; a program or an
    /// emulator is ended. At the end of the test it is given back.
    ///
    /// # Errors
    ///
    /// There is no such command, or it fails.
    pub fn power_off(&mut self) -> Result<(), ControlError> {
        self.act(Act::PowerOff)
    }

    /// Gives the power back that [`Device::power_off`] took. Does not wait until it has booted.
    ///
    /// # Errors
    ///
    /// The command `power.on` of the board's file fails, or the program does not start.
    pub fn power_on(&mut self) -> Result<(), ControlError> {
        self.act(Act::PowerOn)
    }

    /// Does once what makes a board dial, as `[board.trigger]` in its file says: presses its button, as a
    /// rule. What the device makes of it is up to its state: stock firmware that is connected hangs up.
    ///
    /// # Errors
    ///
    /// The device has no trigger, or it cannot be pulled.
    pub fn trigger(&mut self) -> Result<(), ControlError> {
        self.act(Act::Trigger)
    }

    /// Drops the connection. A device that dials again is let in; what is said to it next waits for that, and
    /// so does [`Device::connect`].
    ///
    /// # Errors
    ///
    /// The bench has ended.
    pub fn disconnect(&mut self) -> Result<(), ControlError> {
        self.act(Act::Disconnect)
    }

    /// Waits until the device is connected. One that does not dial by itself is made to, as by its button;
    /// one that stays away nevertheless is started afresh.
    ///
    /// # Errors
    ///
    /// It does not come.
    pub fn connect(&mut self) -> Result<(), ControlError> {
        self.act(Act::Connect)
    }

    /// Ends the conversation, and says what was found in it.
    ///
    /// # Errors
    ///
    /// What the checks found.
    ///
    /// # Panics
    ///
    /// The bench could not do its part.
    #[track_caller]
    pub fn finish(mut self) -> Result<Done, Broken> {
        match self.end() {
            Ok(done) => done,
            Err(error) => panic!("{error}"),
        }
    }

    fn end(&mut self) -> Result<Result<Done, Broken>, StartError> {
        // Without it the thread comes to an end.
        self.orders = None;
        let Some(thread) = self.thread.take() else {
            return Err(StartError::Thread("it has already ended".into()));
        };
        let broke_down = |_| StartError::Thread("it panicked".into());
        let cases = thread.join().map_err(broke_down)??;
        let folder = self.folder.clone();
        Ok(match Broken::of(&cases, folder.clone()) {
            None => Ok(Done { cases, folder }),
            Some(broken) => Err(broken),
        })
    }

    fn say(&mut self, say: Say, asked: String) -> Answer {
        match self.order(|done| Order::Say(say, done)) {
            Some(heard) => Answer {
                step: heard.step,
                asked,
                view: heard.answer,
                why: heard.why,
                console: heard.console,
            },
            None => Answer {
                step: "0".into(),
                asked,
                view: None,
                why: ended().what,
                console: Vec::new(),
            },
        }
    }

    fn act(&mut self, act: Act) -> Result<(), ControlError> {
        let done = self.order(|done| Order::Do(act, done));
        done.unwrap_or_else(|| Err(ended())).map_err(Into::into)
    }

    /// Gives an order, and waits until it is carried out. `None` when nobody is there any more to do so.
    pub(super) fn order<T>(&mut self, order: impl FnOnce(Sender<T>) -> Order) -> Option<T> {
        let (done, heard) = channel();
        self.orders.as_ref()?.send(order(done)).ok()?;
        heard.recv().ok()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if self.thread.is_none() {
            return;
        }
        let text = match self.end() {
            Ok(Ok(_)) => return,
            Ok(Err(broken)) => broken.to_string(),
            Err(error) => error.to_string(),
        };
        // The place of this panic is here, for nobody calls a drop.
        let text = format!("{text}\n\nthe test started the device at {}", self.at);
        // A second panic would end the whole test program.
        if std::thread::panicking() {
            mcp_hil_core::notice!("{text}");
        } else {
            panic!("{text}");
        }
    }
}
