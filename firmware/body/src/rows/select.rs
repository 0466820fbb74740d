//! What the rows of the tables pick: requests, answers and other messages, and what becomes of them.

use serde_json::{Map, Value};

use super::edit::{act_if, defect, drop_if, error, get, nth, reply_if};
use crate::defect::Defect;
use crate::hooks::{Act, Flow, Hands, Request};
use crate::prelude::*;

/// Names of tools.
pub(crate) const STATUS: &str = "self.get_device_status";
pub(crate) const SET: &str = "self.audio_speaker.set_volume";
pub(crate) const UP: &str = "self.audio_speaker.volume_up";
pub(crate) const DOWN: &str = "self.audio_speaker.volume_down";
pub(crate) const MUTE: &str = "self.audio_speaker.mute";
pub(crate) const UNMUTE: &str = "self.audio_speaker.unmute";
pub(crate) const BRIGHTNESS: &str = "self.screen.set_brightness";

/// Some of the requests. Its methods say what is done to them or to their answers.
pub(crate) struct Requests {
    is_such: Box<dyn FnMut(&Request) -> bool>,
}

/// Requests of some kind.
pub(crate) fn when(is_such: impl FnMut(&Request) -> bool + 'static) -> Requests {
    Requests { is_such: Box::new(is_such) }
}

/// Requests of one method.
pub(crate) fn method(name: &'static str) -> Requests {
    when(move |request| request.method() == name)
}

/// Calls of one tool.
pub(crate) fn tool(name: &'static str) -> Requests {
    when(move |request| request.tool() == name)
}

/// Calls of any tool.
pub(crate) fn calls() -> Requests {
    when(|request| !request.tool().is_empty())
}

/// All messages, requests or not.
pub(crate) fn all() -> Requests {
    when(|_| true)
}

impl Requests {
    /// The first of them alone.
    pub(crate) fn first(self) -> Requests {
        self.nth(1)
    }

    /// The one of this number alone, counted from 1.
    pub(crate) fn nth(mut self, number: usize) -> Requests {
        let mut nth = nth(number);
        when(move |request| (self.is_such)(request) && nth())
    }

    /// Does something when they arrive, in the place of the device.
    pub(crate) fn instead(mut self, act: Act) -> Defect {
        texts(move |text| (self.is_such)(&Request::read(text)), act)
    }

    /// They are carried out and not answered.
    pub(crate) fn unanswered(mut self) -> Defect {
        defect().on_answer(move |cause, _, _| drop_if((self.is_such)(cause)))
    }

    /// Does something in the place of the answer.
    pub(crate) fn instead_of_answer(mut self, act: Act) -> Defect {
        defect().on_answer_text(move |cause, _, hands| {
            act_if((self.is_such)(cause), act.clone(), hands)
        })
    }

    /// Does something before the answer is sent.
    pub(crate) fn with_answer(self, act: Act) -> Defect {
        self.with_answer_by(move |_, hands| hands.act(act.clone()))
    }

    /// Does something before the answer is sent, whose text is the first argument.
    pub(crate) fn with_answer_by(
        mut self,
        mut hook: impl FnMut(&str, &mut Hands) + 'static,
    ) -> Defect {
        defect().on_answer_text(move |cause, text, hands| {
            if (self.is_such)(cause) {
                hook(text, hands);
            }
            Flow::Pass
        })
    }

    /// Edits the payload of the answer.
    pub(crate) fn answer(mut self, mut edit: impl FnMut(&mut Value) + 'static) -> Defect {
        defect().on_answer(move |cause, payload, _| {
            if (self.is_such)(cause) {
                edit(payload);
            }
            Flow::Pass
        })
    }

    /// Edits the result, if the answer has one.
    pub(crate) fn result(self, mut edit: impl FnMut(&mut Value) + 'static) -> Defect {
        self.answer(move |payload| {
            payload.get_mut("result").map(&mut edit);
        })
    }

    /// Edits the error, if the answer has one.
    pub(crate) fn error(self, mut edit: impl FnMut(&mut Value) + 'static) -> Defect {
        self.answer(move |payload| {
            payload.get_mut("error").map(&mut edit);
        })
    }

    /// Edits the text of the answer.
    pub(crate) fn text(mut self, mut edit: impl FnMut(&mut String) + 'static) -> Defect {
        defect().on_answer_text(move |cause, text, _| {
            if (self.is_such)(cause) {
                edit(text);
            }
            Flow::Pass
        })
    }
}

/// Does something when such a text arrives, in the place of the device.
pub(crate) fn texts(mut is_such: impl FnMut(&str) -> bool + 'static, act: Act) -> Defect {
    defect().inbound(move |inbound, hands| act_if(is_such(&inbound.text), act.clone(), hands))
}

/// Texts of this kind are not read.
pub(crate) fn texts_lost(mut is_such: impl FnMut(&str) -> bool + 'static) -> Defect {
    defect().inbound(move |inbound, _| drop_if(is_such(&inbound.text)))
}

/// Texts that arrive are read in another way.
pub(crate) fn texts_as(mut edit: impl FnMut(&mut String) + 'static) -> Defect {
    defect().inbound(move |inbound, _| {
        edit(&mut inbound.text);
        Flow::Pass
    })
}

/// Payloads that arrive are read in another way.
pub(crate) fn payloads(mut edit: impl FnMut(&mut Map<String, Value>) + 'static) -> Defect {
    defect().on_payload(move |payload, _| {
        edit(payload);
        Flow::Pass
    })
}

/// Payloads of this kind are not read.
pub(crate) fn payloads_lost(
    mut is_such: impl FnMut(&Map<String, Value>) -> bool + 'static,
) -> Defect {
    defect().on_payload(move |payload, _| drop_if(is_such(payload)))
}

/// Edits the payload of answers with an error.
pub(crate) fn refusals(mut edit: impl FnMut(&mut Value) + 'static) -> Defect {
    all().answer(move |payload| {
        if payload.get("error").is_some() {
            edit(payload);
        }
    })
}

/// Edits the errors.
pub(crate) fn errors(edit: impl FnMut(&mut Value) + 'static) -> Defect {
    all().error(edit)
}

/// Edits messages of one type that the device sends.
pub(crate) fn messages(
    kind: &'static str,
    mut edit: impl FnMut(&mut Value, &mut Hands) + 'static,
) -> Defect {
    defect().on_message(move |sent, envelope, hands| {
        if sent == kind {
            edit(envelope, hands);
        }
        Flow::Pass
    })
}

/// Edits the messages that carry notifications.
pub(crate) fn notifications(mut edit: impl FnMut(&mut Value, &mut Hands) + 'static) -> Defect {
    messages("mcp", move |envelope, hands| {
        if envelope["payload"].get("method").is_some() {
            edit(envelope, hands);
        }
    })
}

/// Lines of the console that are not printed.
pub(crate) fn unprinted(mut is_such: impl FnMut(&str) -> bool + 'static) -> Defect {
    defect().console(move |line| drop_if(is_such(line)))
}

/// Envelopes that arrive are read in another way.
pub(crate) fn envelopes(mut edit: impl FnMut(&mut Map<String, Value>) + 'static) -> Defect {
    defect().on_envelope(move |envelope, _| {
        edit(envelope);
        Flow::Pass
    })
}

/// Envelopes of this kind are not read.
pub(crate) fn envelopes_lost(
    mut is_such: impl FnMut(&Map<String, Value>) -> bool + 'static,
) -> Defect {
    defect().on_envelope(move |envelope, _| drop_if(is_such(envelope)))
}

/// Does something when an envelope of this kind arrives, in the place of the device.
pub(crate) fn envelopes_instead(is_such: fn(&Map<String, Value>) -> bool, act: Act) -> Defect {
    defect().on_envelope(move |envelope, hands| act_if(is_such(envelope), act.clone(), hands))
}

/// Sees the messages of one type that arrive.
pub(crate) fn arriving(
    kind: &'static str,
    mut hook: impl FnMut(&mut Map<String, Value>, &mut Hands) -> Flow + 'static,
) -> Defect {
    defect().on_envelope(move |envelope, hands| match get(envelope, "type") == kind {
        true => hook(envelope, hands),
        false => Flow::Pass,
    })
}

/// Gives requests of one method an answer in the place of the device, where the parameters are such.
pub(crate) fn answered(
    name: &'static str,
    is_such: fn(&Value) -> bool,
    answer: fn(&Value) -> Value,
) -> Defect {
    defect().on_method(name, move |payload, hands| {
        reply_if(is_such(get(payload, "params")), payload, hands, answer)
    })
}

/// Refuses requests of one method with these parameters.
pub(crate) fn refused(name: &'static str, is_such: fn(&Value) -> bool) -> Defect {
    answered(name, is_such, |id| error(id, -32602, "Invalid params"))
}

/// Changes the payloads of answers over MQTT.
pub(crate) fn over_mqtt(mut change: impl FnMut(&Request, &mut Value) + 'static) -> Defect {
    defect().on_answer(move |cause, payload, hands| {
        if hands.over_mqtt() {
            change(cause, payload);
        }
        Flow::Pass
    })
}
