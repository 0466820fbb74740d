//! The heartbeat of stock firmware, faster: it tells of the free memory.

use crate::defect::Defect;
use crate::hooks::{Act, Flow};
use crate::prelude::*;

/// Tells of its memory at every tenth answer, and does not wait ten seconds for it. What an answer takes
/// of it is told: of its text, what was taken before, and the number of the answer.
pub(crate) fn heartbeat(takes: fn(&str, u64, u64) -> u64) -> Defect {
    let (mut count, mut taken) = (0, 0);
    let own = |line: &mut String| match line.contains(" SystemInfo: ") {
        true => Flow::Drop,
        false => Flow::Pass,
    };
    Defect::default().console(own).on_answer_text(move |_, text, hands| {
        count += 1;
        taken = takes(text, taken, count);
        if count % 10 == 0 {
            let free = 142_331_u64.saturating_sub(taken);
            hands.act(Act::Print(format!(
                "I ({}) SystemInfo: free sram: {free} minimal sram: {}",
                hands.device.uptime_ms(),
                free.min(121_004)
            )));
        }
        Flow::Pass
    })
}
