//! What a reporter is, and how one stream reaches all of them.

use std::io::{self, Write};

use crate::event::Event;

/// A fold over the events of a run.
pub trait Reporter: Send {
    /// Takes the next event.
    ///
    /// # Errors
    ///
    /// What it writes to did not take it.
    fn event(&mut self, event: &Event) -> io::Result<()>;
}

/// Hands each event to every reporter.
///
/// A reporter that cannot write must not stop a run: its first error is told once, it is not called
/// again (half a line is followed by no other), and the others go on.
pub struct Reporters<'a> {
    each: Vec<Slot<'a>>,
    talk: Box<dyn Write + Send + 'a>,
}

struct Slot<'a> {
    name: String,
    reporter: Box<dyn Reporter + 'a>,
    failed: Option<io::Error>,
}

impl<'a> Reporters<'a> {
    /// No reporters yet; `talk` (standard error) is where their troubles are told.
    pub fn new(talk: impl Write + Send + 'a) -> Self {
        Self { each: Vec::new(), talk: Box::new(talk) }
    }

    /// Adds a reporter under the name that its troubles are told with, such as its file.
    pub fn add(&mut self, name: impl Into<String>, reporter: impl Reporter + 'a) -> &mut Self {
        let reporter = Box::new(reporter);
        self.each.push(Slot { name: name.into(), reporter, failed: None });
        self
    }

    /// Hands an event on.
    pub fn event(&mut self, event: &Event) {
        for slot in self.each.iter_mut().filter(|slot| slot.failed.is_none()) {
            if let Err(error) = slot.reporter.event(event) {
                // When not even this can be told, the error still waits in `failures`.
                let _ = writeln!(self.talk, "mcp-hil: cannot write {}: {error}", slot.name);
                let _ = self.talk.flush();
                slot.failed = Some(error);
            }
        }
    }

    /// The reporters that could not write, each with its first error.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &io::Error)> {
        self.each.iter().filter_map(|slot| Some((&*slot.name, slot.failed.as_ref()?)))
    }
}
