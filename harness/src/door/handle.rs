//! A device that a test talks to.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::answer::Answer;
use super::broken::Broken;
use super::setup::{Setup, StartError};
use super::snapshot::{Outcome, SnapshotError, compare};
use crate::event::CaseReport;
use crate::run::{Exchange, Order, Say, transcript_name};
use crate::snapshots::Setup as Snapshots;

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
    /// How a device is to be started; it begins with what the environment says.
    pub fn setup() -> Setup {
        Setup::default()
    }

    pub(super) fn new(
        orders: UnboundedSender<Order>,
        thread: Thread,
        case: String,
        folder: PathBuf,
        snapshots: Option<Snapshots>,
    ) -> Self {
        Self {
            orders: Some(orders),
            thread: Some(thread),
            case,
            folder,
            snapshots,
        }
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

    /// Ends the conversation, and says what was found in it.
    ///
    /// # Errors
    ///
    /// What the checks found.
    ///
    /// # Panics
    ///
    /// The bench could not do its part.
    pub fn finish(mut self) -> Result<Done, Broken> {
        self.end().unwrap_or_else(|error| panic!("{error}"))
    }

    fn end(&mut self) -> Result<Result<Done, Broken>, StartError> {
        // Without it the thread comes to an end.
        self.orders = None;
        let Some(thread) = self.thread.take() else {
            return Err(StartError::Thread("it has ended before".into()));
        };
        let broke_down = |_| StartError::Thread("it broke down".into());
        let cases = thread.join().map_err(broke_down)??;
        let folder = self.folder.clone();
        Ok(match Broken::of(&cases, folder.clone()) {
            None => Ok(Done { cases, folder }),
            Some(broken) => Err(broken),
        })
    }

    fn say(&mut self, say: Say, asked: String) -> Answer {
        let (done, heard) = channel();
        let order = Order { say, done };
        let sent = self.orders.as_ref().map(|orders| orders.send(order));
        let heard = sent.and_then(|_| heard.recv().ok());
        let Some(heard) = heard else {
            return Answer {
                step: "0".into(),
                asked,
                view: None,
                why: "the bench has ended",
            };
        };
        Answer {
            step: heard.step,
            asked,
            view: heard.answer,
            why: match heard.end {
                Exchange::Settled => "none is owed",
                Exchange::Ignored => "the device answers other requests, but not this one",
                Exchange::Silent => "the device answers nothing any more",
                Exchange::Gone => "the connection is gone",
                Exchange::Interrupted => "the run was interrupted",
            },
        }
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
        // A second panic would end the whole test program.
        if std::thread::panicking() {
            eprintln!("{text}");
        } else {
            panic!("{text}");
        }
    }
}
