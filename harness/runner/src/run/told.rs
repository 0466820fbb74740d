//! Tools that tell what others have set: which they are, and readings of them.
//!
//! A device may do what it is told a while after it has said so. Until a reading shows what was set, or stands still, it
//! shows nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcp_hil_core::capability::{Pair, Told, pairs};
use mcp_hil_core::transcript::Role;
use mcp_hil_core::wire::Frame;
use serde_json::{Map, Value, json};

use super::session::{Exchange, Manner, Session};
use super::settle::Settling;

/// What tools have set last that others tell.
#[derive(Debug, Default)]
pub(super) struct LastSet {
    /// Arguments of the last call that was accepted, by the tool.
    arguments: BTreeMap<String, Map<String, Value>>,
    /// The tools of which something else is told than was set: it has steps, or an end of its own.
    inexact: BTreeSet<String>,
}

/// A call of a tool that sets what another one tells, or of one that tells it.
pub(super) struct Call {
    tool: String,
    arguments: Map<String, Value>,
}

impl Session {
    /// The call that a message is, if one of its kind was seen to be told, or to tell.
    pub(super) fn call_that_is_told(&self, frame: &Frame) -> Option<Call> {
        let told = &self.device.facts.told;
        let (false, Frame::Text(text)) = (told.is_empty(), frame) else { return None };
        let mut message: Value = serde_json::from_str(text).ok()?;
        let params = message.pointer_mut("/payload/params")?;
        let tool = params.get("name")?.as_str()?.to_owned();
        let Value::Object(arguments) = params.get_mut("arguments")?.take() else { return None };
        let is_known = told.iter().any(|one| one.tool == tool || one.reader == tool);
        is_known.then_some(Call { tool, arguments })
    }

    /// Takes note of what was set, or repeats a reading until it shows that, or stands still.
    pub(super) async fn settle_told(&mut self, at: &Arc<str>, call: Call) -> Exchange {
        let Call { tool, arguments } = call;
        let is_done = |view: &Value| view.get("outcome") == Some(&"done".into());
        if !self.judge.answer_view(at).as_ref().is_some_and(is_done) {
            return Exchange::Settled;
        }
        if self.device.facts.told.iter().any(|one| one.tool == tool) {
            self.settling.last_set.arguments.insert(tool, arguments);
            return Exchange::Settled;
        }
        // A reading with an expectation of its own was repeated before.
        let is_first = self.judge.settled(at) == *at;
        let last: Vec<(Told, Map<String, Value>)> = self
            .device
            .facts
            .told
            .iter()
            .filter(|one| is_first && one.reader == tool)
            .filter_map(|one| {
                let set = self.settling.last_set.arguments.get(&one.tool)?;
                Some((one.clone(), set.clone()))
            })
            .collect();
        if last.is_empty() {
            return Exchange::Settled;
        }
        let hidden = |view: &Value| {
            let hides = |(told, set): &&(Told, Map<String, Value>)| {
                let differs = |(name, at): (&String, &String)| {
                    set.get(name).is_some_and(|value| view.pointer(at) != Some(value))
                };
                told.places.iter().any(differs)
            };
            last.iter().filter(hides).map(|(told, _)| told.tool.clone()).collect::<BTreeSet<_>>()
        };
        let is_usual =
            |settling: &Settling, view: &Value| hidden(view).is_subset(&settling.last_set.inexact);
        let end = self.settle_or(at, &tool, |view| hidden(view).is_empty(), is_usual, false).await;
        if end == Exchange::Settled
            && let Some(view) = self.judge.answer_view(&self.judge.settled(at))
        {
            self.settling.last_set.inexact.extend(hidden(&view));
        }
        end
    }

    /// Which of these tools tell what others set: each of a pair is called with two values of all arguments, and read.
    pub(super) async fn ask_what_is_told(&mut self, tools: &[Value]) -> Vec<Told> {
        let mut told = Vec::new();
        // What each tool told last.
        let mut last = BTreeMap::new();
        for (number, pair) in pairs(tools, &self.device.permission).into_iter().enumerate() {
            match self.try_pair(number, pair, &mut last).await {
                Ok(found) => told.extend(found),
                Err(_) => break,
            }
        }
        told
    }

    async fn try_pair(
        &mut self,
        number: usize,
        pair: Pair,
        last: &mut BTreeMap<String, Value>,
    ) -> Result<Option<Told>, Exchange> {
        let at = |what: &str| format!("told{number}-{what}");
        if !last.contains_key(&pair.reader) {
            let first = self.called(at("before"), &pair.reader, Map::new()).await?;
            last.extend(first.map(|view| (pair.reader.clone(), view)));
        }
        let before = last.get(&pair.reader).cloned();
        let mut views = self.tried_together(number, &pair).await?;
        last.extend(views.last().map(|view| (pair.reader.clone(), view.clone())));
        for (turn, values) in pair.values.iter().enumerate().skip(views.len()) {
            let set = self.called(at(&format!("set{turn}")), &pair.tool, values.clone()).await?;
            if set.as_ref().and_then(|view| view.get("outcome")) != Some(&"done".into()) {
                return Ok(None);
            }
            let read = self.called(at(&format!("read{turn}")), &pair.reader, Map::new()).await?;
            let Some(view) = read.filter(|view| pair.may_be_in(view, turn)) else {
                return Ok(None);
            };
            last.insert(pair.reader.clone(), view.clone());
            views.push(view);
        }
        let [first, second] = &views[..] else { return Ok(None) };
        let (tool, arguments) = (pair.tool.clone(), pair.values[0].len());
        let told = pair.told([first, second]);
        // What is known to have been there is put back.
        let shown = |told: &Told| {
            let place = |(name, at): (&String, &String)| {
                Some((name.clone(), before.as_ref()?.pointer(at)?.clone()))
            };
            told.places.iter().map(place).collect::<Option<Map<_, _>>>()
        };
        if let Some(saved) = told.as_ref().and_then(shown).filter(|saved| saved.len() == arguments)
        {
            self.called(at("back"), &tool, saved).await?;
        }
        Ok(told)
    }

    /// Calls a pair with both values in flight together, where that may be: what the reader told after each. Nothing
    /// unless all is as it would be one after the other: then it is tried so.
    async fn tried_together(&mut self, number: usize, pair: &Pair) -> Result<Vec<Value>, Exchange> {
        let mut calls = Vec::new();
        for (turn, values) in pair.values.iter().enumerate() {
            calls.push((format!("told{number}-both-set{turn}"), &pair.tool, values.clone()));
            calls.push((format!("told{number}-both-read{turn}"), &pair.reader, Map::new()));
        }
        if self.flights.width() < calls.len() {
            return Ok(Vec::new());
        }
        let mut frames = Vec::new();
        for (at, tool, arguments) in &calls {
            let params = json!({"name": tool, "arguments": arguments});
            frames.push((at.as_str().into(), self.request_frame("tools/call", Some(&params))));
        }
        let order = self.sent_in_flight(frames).await;
        if self.connection.link.is_none() {
            return Err(Exchange::Gone);
        }
        let is_sorted = order.is_some_and(|order| order.is_sorted());
        let views: Vec<Value> =
            calls.iter().filter_map(|(at, ..)| self.judge.answer_view(at)).collect();
        let is_done = |view: &Value| view.get("outcome") == Some(&"done".into());
        if !is_sorted || views.len() < calls.len() || !views.iter().all(is_done) {
            return Ok(Vec::new());
        }
        let read: Vec<Value> = views.into_iter().skip(1).step_by(2).collect();
        let are_there = read.iter().enumerate().all(|(turn, view)| pair.may_be_in(view, turn));
        Ok(if are_there { read } else { Vec::new() })
    }

    /// Calls a tool. Gives a view of its answer; an error where there is no use in asking further.
    pub(super) async fn called(
        &mut self,
        at: String,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Option<Value>, Exchange> {
        let at: Arc<str> = at.into();
        let frame =
            self.request_frame("tools/call", Some(&json!({"name": tool, "arguments": arguments})));
        match self.exchange(&at, Role::Probe, frame, Manner::Plain).await {
            Exchange::Settled | Exchange::Ignored => Ok(self.judge.answer_view(&at)),
            end => Err(end),
        }
    }
}
