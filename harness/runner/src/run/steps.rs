//! A loudspeaker with fewer than 101 levels: how far the level that it shows may be from the one that was set.
//!
//! Amplifiers and mixers have 4, 15, 31 or 63 steps, and what such a device is told it rounds. That shows when a level
//! that is no round number is read back. What it rounds to stays as it is when it is set in its turn, the order of
//! levels is kept, and both ends are reached: whoever just gets levels wrong fails in one of these.

use std::sync::Arc;

use mcp_hil_core::capability::{Facts, SET_VOLUME};
use mcp_hil_core::transcript::Role;
use mcp_hil_core::wire::as_integer;
use serde_json::{Value, json};

use super::session::{Exchange, Session};

/// Where a reading of the status has the level.
const LEVEL: &str = "/json/audio_speaker/volume";

/// Levels that steps of any usual number do not all meet.
const ODD: [i64; 2] = [33, 51];

/// More levels, each far from the one before: a level that is not taken does not look like a step.
const LEVELS: [i64; 11] = [0, 68, 1, 86, 24, 99, 33, 100, 47, 12, 51];

/// How many of them are rounded at least: a level that is got wrong alone is no step.
const ROUNDED: usize = 2;

/// The coarsest speaker has five levels, and may round down.
const COARSEST: i64 = 25;

impl Session {
    /// How far a level that is shown may be from the one that was set: nothing on a device that shows what was set, or
    /// something that has nothing to do with steps.
    pub(super) async fn ask_for_steps(&mut self, facts: &Facts, status: &Value) -> Option<i64> {
        let can = |name: &str| facts.capabilities.contains(name);
        if !can("volume") || !can("status") {
            return None;
        }
        let mut asked = Asked { session: self, count: 0 };
        let mut is_exact = true;
        for level in ODD {
            is_exact &= asked.level_after(level).await? == level;
        }
        let tolerance = match is_exact {
            true => None,
            false => asked.tolerance().await,
        };
        if let Some(before) = status.pointer("/audio_speaker/volume").and_then(as_integer) {
            asked.set(before).await?;
        }
        tolerance
    }
}

/// The levels that were asked for.
struct Asked<'a> {
    session: &'a mut Session,
    count: usize,
}

impl Asked<'_> {
    async fn tolerance(&mut self) -> Option<i64> {
        let (mut farthest, mut rounded, mut levels) = (0, 0, Vec::new());
        for asked in LEVELS {
            let shown = self.level_after(asked).await?;
            let is_kept = shown == asked || self.level_after(shown).await? == shown;
            let apart = (shown - asked).abs();
            let is_end = asked == 0 || asked == 100;
            if !is_kept || apart > COARSEST || is_end && apart > 0 {
                return None;
            }
            farthest = farthest.max(apart);
            rounded += usize::from(apart > 0);
            levels.push((asked, shown));
        }
        levels.sort_unstable();
        let is_in_order = levels.iter().is_sorted_by_key(|(_, shown)| shown);
        // A step up or down from a rounded level is rounded again.
        (is_in_order && rounded >= ROUNDED).then_some((farthest * 2).min(COARSEST))
    }

    /// Sets a level, and reads what the status shows then.
    async fn level_after(&mut self, asked: i64) -> Option<i64> {
        self.set(asked).await?;
        let at: Arc<str> = format!("level{}-shown", self.count).into();
        let session = &mut *self.session;
        let level = |view: &Value| view.pointer(LEVEL).and_then(as_integer);
        let shows = |view: &Value| level(view) == Some(asked);
        let end = session.status(&at, Role::Probe).await;
        if end != Exchange::Settled || session.settle(&at, shows).await != Exchange::Settled {
            return None;
        }
        session.judge.answer_view(&session.judge.settled(&at)).as_ref().and_then(level)
    }

    async fn set(&mut self, level: i64) -> Option<()> {
        self.count += 1;
        let at = format!("level{}", self.count);
        let values = json!({"volume": level}).as_object().cloned().unwrap_or_default();
        let view = self.session.called(at, SET_VOLUME, values).await.ok()??;
        (view.get("outcome") == Some(&"done".into())).then_some(())
    }
}
