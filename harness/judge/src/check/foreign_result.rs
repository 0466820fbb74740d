//! Whose result it is: a tool that tells something does not tell what another one does.
//!
//! A buffer that two answers share shows so, and so does an answer that goes to the wrong request. What a tool tells is
//! known by the names in it, as long as nothing was set that may have changed them.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::capability::only_reads;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::obligation::Owes;
use serde_json::{Map, Value};

use super::answer::proof;
use super::log::{is_refused, view};
use super::pending::Open;
use super::sink::Sink;

/// How many names of its own a result has that is known by them.
const OWN: usize = 2;

/// What tools have told since anything was set: the names in it, by the tool.
#[derive(Debug, Default)]
pub(super) struct Results {
    names: BTreeMap<String, BTreeSet<String>>,
    /// Over which connection.
    link: u64,
}

impl Results {
    /// Follows and judges the answer to a call.
    pub(super) fn answered(
        &mut self,
        seq: u64,
        payload: &Map<String, Value>,
        open: &Open,
        sink: &mut Sink,
    ) {
        let Some(tool) = open.duty.tool.as_deref() else { return };
        let sets = !only_reads(tool) || open.duty.owes != Owes::Answer;
        if (sets && !is_refused(payload)) || open.link != self.link {
            self.names.clear();
            self.link = open.link;
        }
        if sets || is_refused(payload) || !open.text.contains("\"arguments\":{}") {
            return;
        }
        let Some(Value::Object(told)) = view(payload).remove("json") else { return };
        let names: BTreeSet<String> = told.keys().cloned().collect();
        let Some(own) = self.names.get(tool) else {
            self.names.insert(tool.to_owned(), names);
            return;
        };
        let is_foreign = !own.is_subset(&names) && names.difference(own).count() >= OWN;
        let mut others =
            self.names.iter().filter(|(other, theirs)| *other != tool && **theirs == names);
        let other = others.next().filter(|_| is_foreign);
        sink.test(Id::JsonrpcInFlight, other.is_none(), || {
            let other = other.map(|(other, _)| other.as_str()).unwrap_or_default();
            let expected = format!("what `{tool}` tells, and not what `{other}` does");
            proof(&expected, payload, Some(open), seq)
        });
        if other.is_none() {
            self.names.insert(tool.to_owned(), names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_core::obligation::Duty;
    use mcp_hil_core::wire::Frame;
    use serde_json::json;

    /// The number of findings after these calls: what was called, with which arguments, and the text it got.
    fn found(calls: &[(&str, Value, Value)]) -> usize {
        let (mut results, mut sink) = (Results::default(), Sink::default());
        for (seq, (tool, arguments, told)) in (1..).zip(calls) {
            let text = json!({"session_id": "", "type": "mcp", "payload": {"jsonrpc": "2.0", "id": seq,
                "method": "tools/call", "params": {"name": tool, "arguments": arguments}}});
            let text = text.to_string();
            let open = Open {
                seq,
                at_us: 0,
                case: "a/a".into(),
                step: Some(seq.to_string().into()),
                link: 1,
                duty: Duty::of(&Frame::Text(text.clone())),
                text: text.into(),
                in_line: false,
            };
            let result =
                json!({"content": [{"type": "text", "text": told.to_string()}], "isError": false});
            let payload = Map::from_iter([("result".to_owned(), result)]);
            sink.step.clone_from(&open.step);
            results.answered(seq, &payload, &open, &mut sink);
        }
        sink.found.len()
    }

    #[test]
    fn what_another_tool_tells_is_told_apart_as_long_as_nothing_was_set() {
        let (fan, lamp) =
            (json!({"speed": 1, "swing": true}), json!({"colour": "red", "level": 5}));
        let get_fan = |told: &Value| ("self.fan.get_state", json!({}), told.clone());
        let get_lamp = |told: &Value| ("self.lamp.get_state", json!({}), told.clone());
        let alone = [get_fan(&fan), get_lamp(&lamp)];
        assert_eq!(found(&[alone.to_vec(), vec![get_fan(&lamp), get_lamp(&lamp)]].concat()), 1);
        let moved = json!({"speed": 2, "swing": true});
        assert_eq!(found(&[alone.to_vec(), vec![get_fan(&moved)]].concat()), 0);
        let set = ("self.fan.set_mode", json!({"mode": 1}), json!(true));
        assert_eq!(found(&[alone.to_vec(), vec![set, get_fan(&lamp)]].concat()), 0);
        // Two that tell the same form of one and the other state are no sign.
        let shared = json!({"colour": "red", "level": 5, "speed": 1, "swing": true});
        assert_eq!(found(&[alone.to_vec(), vec![get_fan(&shared)]].concat()), 0);
        let asked = ("self.fan.get_state", json!({"of": 1}), lamp.clone());
        assert_eq!(found(&[alone.to_vec(), vec![asked]].concat()), 0);
    }
}
