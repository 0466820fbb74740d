//! A status that is one reading behind: it shows what was so when it was read before, however long ago that was.
//!
//! What takes its time shows sooner or later, looked at or not. Here the first reading shows the old settings long after a
//! tool has set others, and the one right behind it shows the new ones; once may be chance.

use mcp_hil_core::capability::{STATUS_TOOL, only_reads};
use mcp_hil_core::catalogue::RequirementId as Id;
use serde_json::{Map, Value};

use super::log::{is_refused, settings, view};
use super::sink::{Sink, evidence};

/// For so long after a call its effect may still be on its way.
const ARRIVES_US: u64 = 1_000_000;

/// One reading is right behind another one when it is asked for within this time.
const NEXT_US: u64 = 60_000;

/// How often it is seen in a row before it is told.
const TIMES: u8 = 2;

/// Readings of the status, and what was set between them.
#[derive(Debug, Default)]
pub(super) struct Behind {
    /// When a tool has set something last, and what the status showed before.
    set: Option<(u64, Option<Value>)>,
    /// The last reading since then, when it was answered, and whether it was the first.
    last: Option<(u64, Value, bool)>,
    /// How often it was seen since it was last seen otherwise.
    times: u8,
}

impl Behind {
    /// Follows the answer to a call, which was asked for and answered at these times.
    pub(super) fn answered(
        &mut self,
        seq: u64,
        tool: &str,
        payload: &Map<String, Value>,
        (asked_us, now_us): (u64, u64),
        sink: &mut Sink,
    ) {
        if tool != STATUS_TOOL {
            if !only_reads(tool) && !is_refused(payload) {
                let earlier = self.set.take().and_then(|(_, shown)| shown);
                let shown = self.last.take().map(|(_, shown, _)| shown).or(earlier);
                self.set = Some((now_us, shown));
            }
            return;
        }
        let Some(shown) = settings(&Value::Object(view(payload))) else { return };
        sink.held(Id::StatusFresh);
        let is_first = self.last.is_none();
        if let (Some((set_us, Some(old))), Some((read_us, first, true))) = (&self.set, &self.last)
            && read_us.saturating_sub(*set_us) >= ARRIVES_US
            && asked_us.saturating_sub(*read_us) <= NEXT_US
        {
            self.times = match first == old && shown != *first {
                true => self.times.saturating_add(1),
                false => 0,
            };
            if self.times >= TIMES {
                let expected = format!("{shown}, as in the reading right behind it");
                let received =
                    format!("{first}, {} ms after it was set", (read_us - set_us) / 1000);
                sink.test_once(Id::StatusFresh, false, || evidence(expected, received, seq));
            }
        }
        self.last = Some((now_us, shown, is_first));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    /// How long after a setting it is read first, and how long after that once more; and what is read.
    #[rstest]
    #[case::behind(1_200, 20, [30, 70], 1)]
    #[case::fresh(1_200, 20, [70, 70], 0)]
    #[case::at_once(100, 20, [30, 70], 0)]
    #[case::later(1_200, 400, [30, 70], 0)]
    #[case::on_its_way(1_200, 20, [55, 70], 0)]
    fn a_reading_behind_time_is_told_the_second_time(
        #[case] first_ms: u64,
        #[case] next_ms: u64,
        #[case] read: [i64; 2],
        #[case] found: usize,
    ) {
        let (mut behind, mut sink, mut now) = (Behind::default(), Sink::default(), 0);
        let mut step = |tool: &str, text: String, after_ms: u64| {
            let asked = now + after_ms * 1000;
            now = asked + 500;
            let answer = json!({"result": {"content": [{"type": "text", "text": text}]}});
            let answer = answer.as_object().unwrap().clone();
            behind.answered(now, tool, &answer, (asked, now), &mut sink);
        };
        let status = |level: i64| json!({"audio_speaker": {"volume": level}}).to_string();
        for _ in 0..2 {
            step(STATUS_TOOL, status(30), 50);
            step("self.audio_speaker.set_volume", "true".to_owned(), 50);
            step(STATUS_TOOL, status(read[0]), first_ms);
            step(STATUS_TOOL, status(read[1]), next_ms);
        }
        assert_eq!(sink.found.len(), found);
    }
}
