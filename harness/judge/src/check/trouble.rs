//! Trouble of the bench in the middle of a case, and what of the case stands in spite of it.

use mcp_hil_core::transcript::What;
use mcp_hil_core::verdict::{Judgement, Outcome};

use super::console;
use super::log::CaseLog;

/// What broke on the bench in a case, and from when on.
#[derive(Debug, Clone)]
pub(crate) struct Trouble {
    /// What broke.
    pub(crate) what: String,
    /// The entry that told of it. The trouble itself began a moment before.
    seq: u64,
    /// The device's own reset may look the same: the first sign of a boot decides.
    pub(crate) is_doubtful: bool,
}

impl Trouble {
    pub(crate) fn new(what: &str, seq: u64, is_doubtful: bool) -> Self {
        Self { what: what.to_owned(), seq, is_doubtful }
    }

    /// Whether a judgement is the device's in spite of the trouble: what the device *did* before shows it.
    /// Silence and the end of a connection do not, as they may have come of the trouble, which shows
    /// later on its own channel.
    pub(crate) fn spares(&self, judgement: &Judgement, logs: &[&CaseLog]) -> bool {
        let evidence = match &judgement.outcome {
            Outcome::Broken(evidence) => evidence,
            Outcome::Held | Outcome::Bench(_) => return true,
            Outcome::Unclear(_) | Outcome::OurFault(_) => return false,
        };
        let Some(seq) = evidence.seq.filter(|seq| *seq < self.seq) else {
            return false;
        };
        let mut entries = logs.iter().flat_map(|log| &log.entries);
        let shown = entries.find(|logged| logged.entry.seq == seq);
        shown.is_some_and(|logged| is_own_deed(&logged.entry.what))
    }
}

/// Whether an entry is something that the device did by itself.
fn is_own_deed(what: &What) -> bool {
    match what {
        // Power that comes and goes shows at the console before it shows at the port.
        What::Console { line } => !console::tells_of_power(line),
        What::Received { .. }
        | What::LinkUp { .. }
        | What::Mqtt { .. }
        | What::Refused { .. }
        | What::Http { .. }
        | What::Audio { .. } => true,
        What::Sent { .. }
        | What::Control { .. }
        | What::Reply { .. }
        | What::LinkDown { .. }
        | What::Target { .. }
        | What::Mark { .. } => false,
    }
}
