//! Checks on readings of the device's state.

use mcp_hil_core::capability::STATUS_TOOL;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::Owes;
use mcp_hil_core::transcript::BRING_UP;
use serde_json::{Map, Value};

use super::answer::{is_content, proof};
use super::log::{CaseLog, Reply, settings, view};
use super::pending::Open;
use super::put_off::{has_no_room, is_put_off};
use super::sink::{Sink, evidence};

/// The first reading of bring-up.
const FIRST: &str = "status";

/// Where the status shows the charge of the battery.
const CHARGE: &str = "/battery/level";

/// The last one, which was repeated until it stood still.
pub(crate) const STILL: &str = "status-still";

/// What the first reading after a boot may show differently: a backlight fades in.
const FADES_IN: &str = "/screen/brightness";

/// Judges a reading of the state: readings serve as fences and probes all over the suite, and none of them may
/// fail.
///
/// That its text is JSON, the volume workflow asks of who has a volume.
pub(crate) fn judge_reading(
    seq: u64,
    payload: &Map<String, Value>,
    open: &Open,
    has_volume: bool,
    sink: &mut Sink,
) {
    if !is_plain_call(open) {
        return;
    }
    let result = payload.get("result");
    let failed = result.is_none_or(|result| result.get("isError") == Some(&Value::Bool(true)));
    // A device may have no room for so many requests, at a time or in a row, or no time, and say so.
    if failed && (is_put_off(payload) || open.in_line && has_no_room(payload)) {
        return;
    }
    if failed {
        sink.test(Id::CallSuccess, false, || {
            proof("a result without `isError` true", payload, Some(open), seq)
        });
        return;
    }
    // Content that is not what MCP says breaks requirements of its own.
    let content = result.and_then(|result| result.get("content")).and_then(Value::as_array);
    if content.is_some_and(|items| items.iter().all(is_content)) {
        let read = view(payload);
        if has_volume {
            sink.test_once(
                Id::StatusObject,
                read.get("json").is_some_and(Value::is_object),
                || proof("a JSON object as the text of the status", payload, Some(open), seq),
            );
        }
        let charge = read.get("json").and_then(|status| status.pointer(CHARGE)?.as_f64());
        if let Some(charge) = charge {
            sink.test_once(Id::StatusBattery, (0.0..=100.0).contains(&charge), || {
                proof("a charge of 0 to 100 percent in battery.level", payload, Some(open), seq)
            });
        }
    }
}

/// Whether the request is a good call of the tool that tells the device's state.
fn is_plain_call(open: &Open) -> bool {
    if open.duty.owes != Owes::Answer || open.duty.tool.as_deref() != Some(STATUS_TOOL) {
        return false;
    }
    // In another order, with escapes or blanks it is a variation, which has requirements of its own.
    if !open.text.contains(r#""payload":{"jsonrpc":"2.0","id":"#)
        || !open.text.contains(r#","method":"tools/call","params":{"#)
    {
        return false;
    }
    let sent = serde_json::from_str::<Value>(&open.text).unwrap_or_default();
    // MCP's schema says that `_meta` is an object: another value may be refused.
    if sent.pointer("/payload/params/_meta").is_some_and(|meta| !meta.is_object()) {
        return false;
    }
    match sent.pointer("/payload/params/arguments") {
        None => true,
        Some(arguments) => arguments.as_object().is_some_and(Map::is_empty),
    }
}

/// Judges the first reading after a boot: until the last one of bring-up nothing was sent that sets anything.
pub(crate) fn judge_bring_up(log: &CaseLog, sink: &mut Sink) {
    if *sink.case != *BRING_UP {
        return;
    }
    let shown = |step: &str| match log.reply(step) {
        Reply::Answer(answer, payload) => {
            let mut settings = settings(&Value::Object(view(payload)))?;
            settings.as_object_mut()?.remove(FADES_IN);
            Some((answer.entry.seq, settings))
        }
        _ => None,
    };
    let (Some((seq, first)), Some((_, last))) = (shown(FIRST), shown(&log.settled(STILL))) else {
        return;
    };
    sink.step = Some(FIRST.into());
    sink.test(Id::StatusKept, first == last, || {
        evidence(
            format!("in the first status what later ones show: {last}"),
            format!("{first}, although nothing was set in between"),
            seq,
        )
    });
    sink.step = None;
}
