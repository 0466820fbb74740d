//! A defect: a layer around the conforming device that spoils exactly one thing.
//!
//! The device itself knows nothing of it. A defect is made of hooks on what passes by, and the
//! methods of [`Defect`] put a hook where most defects want it: on a request, on an answer, on a
//! page of the tool list. One hook of a kind is enough for every defect there is. Harmless
//! variations of the device ([`crate::variants`]) are made of the same hooks.

use core::fmt;

use crate::prelude::*;

use reference_device::{Device, HttpRequest, Property, Purpose};
use serde_json::{Map, Value};

use crate::hooks::{Flow, Hands, Inbound, Outbound, Request};
use crate::platform::{ConnectPlan, Headers, LinkOptions, Publication};

/// One place where a defect can sit.
type Hook<T> = Option<Box<T>>;
type OnHeaders = dyn FnMut(&mut Headers);
type OnInbound = dyn FnMut(&mut Inbound, &mut Hands) -> Flow;
type OnBinary = dyn FnMut(&[u8], &mut Hands);
type OnOutbound = dyn FnMut(&mut Outbound, &mut Hands) -> Flow;
type OnPlan = dyn FnMut(&mut ConnectPlan);
type OnPublication = dyn FnMut(&mut Publication);
type OnDatagram = dyn FnMut(&mut Vec<u8>) -> Flow;
type OnHttp = dyn FnMut(&mut HttpRequest) -> Flow;
type OnLine = dyn FnMut(&mut String) -> Flow;
type OnSetup = dyn FnMut(&mut Device);
type OnEvent = dyn FnMut(&mut Hands);

/// The seeded defect of one device.
#[derive(Default)]
pub struct Defect {
    /// Changes the device before it is switched on.
    pub(crate) setup: Hook<OnSetup>,
    /// Changes the handshake.
    pub(crate) headers: Hook<OnHeaders>,
    /// Changes the connection to the broker.
    pub(crate) plan: Hook<OnPlan>,
    /// Sees messages before they are published.
    pub(crate) publication: Hook<OnPublication>,
    /// Sees audio datagrams before they are sent.
    pub(crate) datagram: Hook<OnDatagram>,
    /// Sees HTTP requests before they are made.
    pub(crate) http: Hook<OnHttp>,
    /// Sees text frames before the device.
    pub(crate) inbound: Hook<OnInbound>,
    /// Sees binary frames before the device.
    pub(crate) binary: Hook<OnBinary>,
    /// Sees text frames of the device before they are sent.
    pub(crate) outbound: Hook<OnOutbound>,
    /// Sees console lines before they are printed.
    pub(crate) console: Hook<OnLine>,
    /// The connection was lost.
    pub(crate) disconnected: Hook<OnEvent>,
    /// An [`crate::hooks::Act::Wake`] has come.
    pub(crate) wake: Hook<OnEvent>,
    /// What is wrong below the messages.
    pub(crate) link: LinkOptions,
    /// By how many milliseconds each start takes longer.
    pub(crate) boot_ms: u64,
}

impl fmt::Debug for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Defect").finish_non_exhaustive()
    }
}

/// Methods that set one hook each.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: FnMut($($argument:ty),+) $(-> $flow:ty)?;)+) => {
        impl Defect {
            $($(#[$doc])*
            pub(crate) fn $name(
                mut self,
                hook: impl FnMut($($argument),+) $(-> $flow)? + 'static,
            ) -> Self {
                self.$name = Some(Box::new(hook));
                self
            })+
        }
    };
}

setters! {
    /// Another device: other tools, another identity.
    setup: FnMut(&mut Device);
    /// A defect of the handshake.
    headers: FnMut(&mut Headers);
    /// A defect of the connection to the broker.
    plan: FnMut(&mut ConnectPlan);
    /// A defect of what is published.
    publication: FnMut(&mut Publication);
    /// A defect of the audio datagrams.
    datagram: FnMut(&mut Vec<u8>) -> Flow;
    /// A defect that sees every text frame that arrives.
    inbound: FnMut(&mut Inbound, &mut Hands) -> Flow;
    /// A defect that sees every binary frame that arrives.
    binary: FnMut(&[u8], &mut Hands);
    /// A defect that sees every text frame that the device sends.
    outbound: FnMut(&mut Outbound, &mut Hands) -> Flow;
    /// A defect of the console.
    console: FnMut(&mut String) -> Flow;
    /// A defect that remembers the end of a connection.
    disconnected: FnMut(&mut Hands);
    /// What a defect does when it has been woken.
    wake: FnMut(&mut Hands);
}

impl Defect {
    /// A defect of the HTTP requests for one purpose.
    pub(crate) fn http(
        mut self,
        purpose: Purpose,
        mut hook: impl FnMut(&mut HttpRequest) -> Flow + 'static,
    ) -> Self {
        self.http =
            Some(Box::new(
                move |request: &mut HttpRequest| {
                    if request.purpose == purpose { hook(request) } else { Flow::Pass }
                },
            ));
        self
    }

    /// A defect below the messages.
    pub(crate) fn link(mut self, options: LinkOptions) -> Self {
        self.link = options;
        self
    }

    /// Sees the envelopes that arrive, as JSON; other text passes.
    pub(crate) fn on_envelope(
        self,
        mut hook: impl FnMut(&mut Map<String, Value>, &mut Hands) -> Flow + 'static,
    ) -> Self {
        self.inbound(move |inbound, hands| {
            let Ok(Value::Object(mut envelope)) = serde_json::from_str(&inbound.text) else {
                return Flow::Pass;
            };
            let before = envelope.clone();
            let flow = hook(&mut envelope, hands);
            // An untouched message keeps its spelling.
            if envelope != before {
                inbound.text = Value::Object(envelope).to_string();
            }
            flow
        })
    }

    /// Sees the MCP payloads that arrive and are objects.
    pub(crate) fn on_payload(
        self,
        mut hook: impl FnMut(&mut Map<String, Value>, &mut Hands) -> Flow + 'static,
    ) -> Self {
        self.on_envelope(move |envelope, hands| match envelope.get_mut("payload") {
            Some(Value::Object(payload)) => hook(payload, hands),
            _ => Flow::Pass,
        })
    }

    /// Sees the payloads of one method that arrive, good or not.
    pub(crate) fn on_method(
        self,
        method: &'static str,
        mut hook: impl FnMut(&mut Map<String, Value>, &mut Hands) -> Flow + 'static,
    ) -> Self {
        self.on_payload(move |payload, hands| {
            if payload.get("method").and_then(Value::as_str) == Some(method) {
                hook(payload, hands)
            } else {
                Flow::Pass
            }
        })
    }

    /// Sees the parameters of tool calls that arrive, where they are an object. `null` arguments
    /// stand for absent ones, so that an edit can add some.
    pub(crate) fn on_call(self, mut hook: impl FnMut(&mut Value, &mut Hands) + 'static) -> Self {
        self.on_method("tools/call", move |payload, hands| {
            if let Some(params @ Value::Object(_)) = payload.get_mut("params") {
                hook(params, hands);
            }
            Flow::Pass
        })
    }

    /// Sees each argument of a tool call that the tool declares and that was sent. The hook gives
    /// back what the tool gets to see instead; `None` takes the argument away.
    pub(crate) fn on_argument(
        self,
        mut hook: impl FnMut(&Property, Value) -> Option<Value> + 'static,
    ) -> Self {
        self.on_call(move |params, hands| {
            let Some(tool) = hands.tool_of(params) else {
                return;
            };
            let Some(Value::Object(arguments)) = params.get_mut("arguments") else {
                return;
            };
            for property in tool.properties {
                if let Some(value) = arguments.remove(property.name)
                    && let Some(value) = hook(property, value)
                {
                    arguments.insert(property.name.to_string(), value);
                }
            }
        })
    }

    /// Sees the messages of the device as JSON. The first argument is the member `type`.
    pub(crate) fn on_message(
        self,
        mut hook: impl FnMut(&str, &mut Value, &mut Hands) -> Flow + 'static,
    ) -> Self {
        self.outbound(move |outbound, hands| {
            let Ok(mut envelope) = serde_json::from_str::<Value>(&outbound.text) else {
                return Flow::Pass;
            };
            let kind = envelope["type"].as_str().unwrap_or_default().to_string();
            let flow = hook(&kind, &mut envelope, hands);
            outbound.text = envelope.to_string();
            flow
        })
    }

    /// Sees the hello of the device.
    pub(crate) fn on_hello(self, mut hook: impl FnMut(&mut Value) + 'static) -> Self {
        self.on_message(move |kind, envelope, _| {
            if kind == "hello" {
                hook(envelope);
            }
            Flow::Pass
        })
    }

    /// Sees the payloads of the device's notifications.
    pub(crate) fn on_notification(self, mut hook: impl FnMut(&mut Value) + 'static) -> Self {
        self.on_message(move |kind, envelope, _| {
            if kind == "mcp" && !envelope["payload"]["method"].is_null() {
                hook(&mut envelope["payload"]);
            }
            Flow::Pass
        })
    }

    /// Sees the answers of the device as text.
    pub(crate) fn on_answer_text(
        self,
        mut hook: impl FnMut(&Request, &mut String, &mut Hands) -> Flow + 'static,
    ) -> Self {
        self.outbound(move |outbound, hands| match outbound.cause {
            Some(cause) if is_answer(&outbound.text) => hook(cause, &mut outbound.text, hands),
            _ => Flow::Pass,
        })
    }

    /// Sees the payloads of the device's answers.
    pub(crate) fn on_answer(
        self,
        mut hook: impl FnMut(&Request, &mut Value, &mut Hands) -> Flow + 'static,
    ) -> Self {
        self.on_answer_text(move |cause, text, hands| {
            let Ok(mut envelope) = serde_json::from_str::<Value>(text) else {
                return Flow::Pass;
            };
            let flow = hook(cause, &mut envelope["payload"], hands);
            *text = envelope.to_string();
            flow
        })
    }

    /// Sees the results of one method.
    pub(crate) fn on_result(
        self,
        method: &'static str,
        mut hook: impl FnMut(&Request, &mut Value) + 'static,
    ) -> Self {
        self.on_answer(move |cause, payload, _| {
            if cause.method() == method
                && let Some(result) = payload.get_mut("result")
            {
                hook(cause, result);
            }
            Flow::Pass
        })
    }

    /// Sees the error objects of the device's answers.
    pub(crate) fn on_error(self, mut hook: impl FnMut(&Request, &mut Value) + 'static) -> Self {
        self.on_answer(move |cause, payload, _| {
            if let Some(error) = payload.get_mut("error") {
                hook(cause, error);
            }
            Flow::Pass
        })
    }
}

/// Answers are told from the device's other messages by their start: it writes them itself, so
/// their form is known, and the parser can be spared.
fn is_answer(text: &str) -> bool {
    text.split_once(r#""payload":{"jsonrpc":"2.0","#)
        .is_some_and(|(_, rest)| rest.starts_with(r#""id":"#))
}
