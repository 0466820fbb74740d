//! Texts that a tool gives back: what stands between two marks in an argument comes back between them.
//!
//! A tool may give back nothing, or the beginning of a text: then no second mark comes. It may give the text back inside
//! of JSON, or quoted in another way; where its answers are JSON around other texts, they are around each. Where the words around it are always the same, short texts without marks are
//! compared, too. So is what a tool without arguments tells of a text that another one was given.

use std::collections::{BTreeMap, BTreeSet};

use mcp_hil_core::capability::only_reads;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::conversation::{TEXT_BEGINS, TEXT_ENDS};
use mcp_hil_core::obligation::Owes;
use serde_json::{Map, Value};

use super::answer::proof;
use super::log::view;
use super::pending::Open;
use super::sink::Sink;

/// How often a tool has to have given back a text with the same words around it before they are taken for its own.
const STEADY: usize = 8;

/// Most bytes of a text that is compared as a whole: what is longer may be shortened.
const WHOLE: usize = 24;

/// How many texts a tool must have told as others were given them before it is known to tell them.
const TOLD: usize = 4;

/// How many texts have to have ended with what a tool tells before something behind one is looked at.
const LAST: usize = 4;

/// Most texts that are remembered, to know a piece of one again.
const REMEMBERED: usize = 64;

/// How many texts that need no escapes must have come back in JSON before a tool is known to answer in JSON.
const IN_JSON: usize = 2;

/// The tools that have given back a text as a whole.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    /// The words that each puts around it.
    words: BTreeMap<String, Words>,
    /// The argument in which each takes it.
    names: BTreeMap<String, String>,
    /// Those whose answers were JSON around a text that needs no escapes.
    json: BTreeMap<String, Json>,
    /// What stood between the marks when they were last used, by the tool that took it.
    given: BTreeMap<String, String>,
    /// The latest of them.
    latest: String,
    /// Texts beyond ASCII that came back as they were sent, spelled without `\u`, with the tool.
    unescaped: BTreeSet<(String, String)>,
    /// The texts as a whole, the latest last.
    whole: Vec<String>,
    /// What tools without arguments tell of it.
    readers: BTreeMap<String, Reader>,
}

/// A tool that tells a text that another one was given.
#[derive(Debug, Default)]
struct Reader {
    /// How many texts it has told as they were given.
    times: usize,
    /// The last one.
    told: String,
    /// How many texts were told with nothing behind them.
    last: usize,
}

/// What is known of a tool that answers in JSON.
#[derive(Debug, Default)]
struct Json {
    /// How many such answers there were.
    times: usize,
    /// The longest text that came back in one of them: longer answers may be cut.
    longest: usize,
    /// It has also answered such a text in another way.
    wavers: bool,
}

/// What stands before and behind a text that is given back.
#[derive(Debug)]
struct Words {
    around: (String, String),
    /// How often they were these; none once they were others.
    times: Option<usize>,
}

/// First words in the names of tools that look for what they are given: what they tell depends on what they find.
const SEEKING: [&str; 5] = ["find", "search", "query", "lookup", "check"];

fn seeks(tool: &str) -> bool {
    let short = tool.rsplit('.').next().unwrap_or(tool);
    short.split('_').next().is_some_and(|verb| SEEKING.contains(&verb))
}

/// Whether some character of a message is spelled by its number.
fn is_escaped(message: &str) -> bool {
    message.contains("\\u")
}

impl Echoes {
    /// Whether any tool gives texts back.
    pub(super) fn is_any(&self) -> bool {
        !self.words.is_empty()
    }

    /// Judges the answer to a call.
    pub(super) fn judge(
        &mut self,
        seq: u64,
        payload: &Map<String, Value>,
        open: &Open,
        sink: &mut Sink,
    ) {
        let Some(tool) = &open.duty.tool else {
            return;
        };
        let is_marked = open.text.contains(TEXT_BEGINS);
        if is_marked && self.is_any() && is_escaped(&open.text) {
            // It was tried, whatever comes of it.
            sink.held(Id::ArgumentsStringEscapes);
        }
        let says = is_marked || self.words.contains_key(tool);
        let may_tell = !says && !self.given.is_empty() && only_reads(tool);
        if open.duty.owes != Owes::Answer || !(says || may_tell) {
            return;
        }
        let envelope: Value = serde_json::from_str(&open.text).unwrap_or_default();
        let arguments = envelope.pointer("/payload/params/arguments").and_then(Value::as_object);
        let view = view(payload);
        let text = view.get("text").and_then(Value::as_str).unwrap_or_default();
        if view.get("outcome").is_none_or(|outcome| outcome != "done") {
            return;
        }
        if may_tell {
            self.judge_reader(tool, text, (payload, open, seq), sink);
            return;
        }
        let arguments: Vec<(&String, &Value)> = arguments.into_iter().flatten().collect();
        if !is_marked {
            // Under another name it is not given to the tool.
            if let [(name, Value::String(sent))] = arguments[..]
                && self.names.get(tool).is_none_or(|known| known == name)
                && !seeks(tool)
            {
                self.judge_whole(tool, sent, text, (payload, open, seq), sink);
            }
            return;
        }
        let mut texts = arguments.into_iter().filter_map(|(name, it)| Some((name, it.as_str()?)));
        let Some((name, sent)) = texts.find_map(|(name, text)| Some((name, between(text)?))) else {
            return;
        };
        self.given.insert(tool.clone(), sent.to_owned());
        self.remember(&envelope, sent);
        sent.clone_into(&mut self.latest);
        let Some(received) = between(text) else {
            return;
        };
        // Another way to quote than that of JSON is not known here.
        let backslashes = |text: &str| text.matches('\\').count();
        let holds = is_same(received, sent);
        let text_of_tool = (tool.clone(), sent.to_owned());
        if is_escaped(&open.text) && self.unescaped.contains(&text_of_tool) {
            sink.test(Id::ArgumentsStringEscapes, holds, || {
                let expected = format!("`{sent}` between the marks, as without escapes");
                proof(&expected, payload, Some(open), seq)
            });
            return;
        }
        if holds && !sent.is_ascii() && !is_escaped(&open.text) {
            self.unescaped.insert(text_of_tool);
        }
        if holds || backslashes(received) <= backslashes(sent) {
            sink.test(Id::ArgumentsStringEcho, holds, || {
                let expected = format!("`{sent}` between the marks, as it was sent");
                proof(&expected, payload, Some(open), seq)
            });
        }
        if holds {
            self.names.entry(tool.clone()).or_insert_with(|| name.clone());
            self.judge_json(tool, sent, text, (payload, open, seq), sink);
            self.learn(tool, around(text));
        }
    }

    /// Keeps the whole text of a call, of which this stands between the marks.
    fn remember(&mut self, envelope: &Value, sent: &str) {
        let arguments = envelope.pointer("/payload/params/arguments").and_then(Value::as_object);
        let mut texts = arguments.into_iter().flat_map(Map::values).filter_map(Value::as_str);
        if let Some(whole) = texts.find(|whole| between(whole) == Some(sent)) {
            if self.whole.len() == REMEMBERED {
                self.whole.remove(0);
            }
            self.whole.push(whole.to_owned());
        }
    }

    /// Judges what a tool tells of the texts that others were given, once it has told some of them. One that was not
    /// taken leaves the one before.
    fn judge_reader(
        &mut self,
        tool: &str,
        text: &str,
        (payload, open, seq): (&Map<String, Value>, &Open, u64),
        sink: &mut Sink,
    ) {
        let Some(received) = between(text) else {
            return;
        };
        let reader = self.readers.entry(tool.to_owned()).or_default();
        let holds = self.given.values().any(|given| is_same(received, given));
        let is_known = holds || received == reader.told;
        let backslashes = |text: &str| text.matches('\\').count();
        let may_quote = backslashes(received) > backslashes(&self.latest);
        if is_known || reader.times >= TOLD && !may_quote {
            sink.test(Id::ArgumentsStringEcho, is_known, || {
                let expected = format!("`{}` between the marks, as it was set", self.latest);
                proof(&expected, payload, Some(open), seq)
            });
        }
        if holds {
            reader.times += 1;
            received.clone_into(&mut reader.told);
            let (_, behind) = around(text);
            let ends = self.whole.iter().any(|whole| text.ends_with(whole.as_str()));
            reader.last += usize::from(ends && behind.is_empty());
            if reader.last >= LAST && !behind.is_empty() {
                // A piece of another text, at its place in that.
                let mut others = self.whole.iter();
                let stale = others.find(|other| is_left_of(other, text, &behind));
                sink.test(Id::ArgumentsStringEcho, stale.is_none(), || {
                    let expected = format!(
                        "nothing behind `{TEXT_ENDS}`, where `{behind}` is left of a longer text"
                    );
                    proof(&expected, payload, Some(open), seq)
                });
            }
        }
    }

    /// Judges whether an answer is JSON where the tool answers in JSON: one that is put together by hand is none around
    /// a text that needs escapes.
    fn judge_json(
        &mut self,
        tool: &str,
        sent: &str,
        text: &str,
        (payload, open, seq): (&Map<String, Value>, &Open, u64),
        sink: &mut Sink,
    ) {
        let is_json = serde_json::from_str::<Map<String, Value>>(text).is_ok();
        let json = self.json.entry(tool.to_owned()).or_default();
        if !sent.contains(|letter: char| letter < ' ' || ['"', '\\'].contains(&letter)) {
            json.wavers |= !is_json && sent.len() <= json.longest;
            if is_json {
                json.times += 1;
                json.longest = json.longest.max(sent.len());
            }
        } else if json.times >= IN_JSON && !json.wavers && sent.len() <= json.longest {
            sink.test(Id::ArgumentsStringEcho, is_json, || {
                let expected = "a text that is JSON, as it is for other arguments";
                proof(expected, payload, Some(open), seq)
            });
        }
    }

    /// Judges a text without marks, of a tool that is known to tell it, and how.
    fn judge_whole(
        &self,
        tool: &str,
        sent: &str,
        text: &str,
        (payload, open, seq): (&Map<String, Value>, &Open, u64),
        sink: &mut Sink,
    ) {
        let steady = |words: &&Words| words.times.is_some_and(|times| times >= STEADY);
        let Some(Words { around: (before, behind), .. }) = self.words.get(tool).filter(steady)
        else {
            return;
        };
        if sent.len() > WHOLE || sent.contains('\0') {
            return;
        }
        let told = text.strip_prefix(before.as_str());
        let told = told.and_then(|rest| rest.strip_suffix(behind.as_str()));
        // A tool may well tidy up the ends of what it is told.
        let holds = told.is_some_and(|told| is_same(told, sent) || is_same(told, sent.trim()));
        sink.test(Id::ArgumentsStringEcho, holds, || {
            let expected = format!("`{sent}`, as it was sent, and in the words for other texts");
            proof(&expected, payload, Some(open), seq)
        });
    }

    fn learn(&mut self, tool: &str, around: (String, String)) {
        let words = self
            .words
            .entry(tool.to_owned())
            .or_insert_with(|| Words { around: around.clone(), times: Some(0) });
        let same = words.around == around;
        words.times = words.times.filter(|_| same).map(|times| times + 1);
    }
}

/// Whether a text was told as it is, or quoted as in JSON.
fn is_same(told: &str, sent: &str) -> bool {
    let quoted = || serde_json::from_str::<String>(&format!("\"{told}\""));
    told == sent || quoted().is_ok_and(|unquoted| unquoted == sent)
}

/// Whether what stands behind a text is what stands there in a longer one that was given before: it was written over that.
fn is_left_of(longer: &str, text: &str, behind: &str) -> bool {
    let Some(begin) = text.find(TEXT_BEGINS).filter(|_| longer.starts_with(TEXT_BEGINS)) else {
        return false;
    };
    let end = text.len() - behind.len();
    longer.get(end - begin..).is_some_and(|rest| rest.starts_with(behind))
}

/// What stands around the marks and what is between them.
fn around(text: &str) -> (String, String) {
    let before = text.split_once(TEXT_BEGINS).map_or("", |(before, _)| before);
    let behind = text.rsplit_once(TEXT_ENDS).map_or("", |(_, behind)| behind);
    (before.to_owned(), behind.to_owned())
}

/// What stands between the marks, if each is there once.
fn between(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once(TEXT_BEGINS)?;
    let (found, rest) = rest.split_once(TEXT_ENDS)?;
    let once =
        !found.contains(TEXT_BEGINS) && !rest.contains(TEXT_BEGINS) && !rest.contains(TEXT_ENDS);
    once.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("shown: mcp-hil-from a mcp-hil-to", Some("a"))]
    #[case("mcp-hil-from  mcp-hil-to", Some(""))]
    #[case("mcp-hil-from a", None)]
    #[case("mcp-hil-from a mcp-hil-to, mcp-hil-from a mcp-hil-to", None)]
    #[case("false", None)]
    fn only_a_whole_text_is_compared(#[case] text: &str, #[case] found: Option<&str>) {
        assert_eq!(between(text), found);
    }
}
