//! The timeline of a case: its transcript as compact rows for the script of the page.
//!
//! The rows lie in the page packed, as `deflate` in base64, for messages are much alike: a tenth of their length is left.
//! A transcript may still be longer than a page can hold. Then rows are left out, never those around a finding, and a
//! row says which lines of the file they are.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Component, Path};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use mcp_hil_core::transcript::{
    Entry, HttpExchange, Mark, MqttNote, Part, Party, Role, TargetEvent, What,
};
use serde_json::{Value, json};

use super::latency::Latencies;
use super::text::script_json;
use mcp_hil_record::text::clean;

/// Most characters of a text in a row, and in one that a finding is about.
const TEXT: usize = 3_000;
const TEXT_OF_FINDING: usize = 20_000;

/// How many rows before and after one that a finding is about are kept, whatever else is left out.
const AROUND: u64 = 25;

/// How many of the last rows are kept.
const LAST: usize = 100;

/// Longest line of a transcript that is read, in bytes: the longest message and its escapes.
const LINE: usize = 64 << 20;

/// A timeline, ready for the page.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    /// The rows for the script, packed; empty where there is no transcript.
    pub data: String,
    /// Lines of the transcript by the positions that findings name.
    pub lines: BTreeMap<u64, u64>,
    /// Lines of the transcript.
    pub length: u64,
    /// Why it cannot be read, or not to its end.
    pub trouble: Option<String>,
}

impl Timeline {
    /// Reads a transcript of the run's folder. `findings` are the positions that must be shown, `room` how many bytes the
    /// rows may take before they are packed.
    pub(super) fn read(
        folder: &Path,
        name: &str,
        findings: &BTreeSet<u64>,
        room: usize,
        mut latencies: Option<&mut Latencies>,
    ) -> Self {
        // The record of a stranger must not bring in other files.
        let inside = |part| matches!(part, Component::Normal(_));
        let opened = match Path::new(name).components().all(inside) {
            true => File::open(folder.join(name)),
            false => Err(io::Error::other("it is not in the run's folder")),
        };
        let file = match opened {
            Ok(file) => file,
            Err(error) => {
                return Self {
                    trouble: Some(format!("`{name}` cannot be read: {error}")),
                    ..Self::default()
                };
            }
        };
        let mut timeline = Self::default();
        let mut rows = Rows::new(room);
        let mut reader = BufReader::new(file);
        let mut begin = None;
        let mut line = Vec::new();
        loop {
            line.clear();
            match io::Read::take(&mut reader, LINE as u64).read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    timeline.trouble = Some(format!("`{name}` cannot be read: {error}"));
                    break;
                }
            }
            timeline.length += 1;
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let entry: Entry = match serde_json::from_slice(&line) {
                Ok(entry) => entry,
                Err(error) => {
                    let number = timeline.length;
                    timeline.trouble = Some(format!("`{name}`, line {number}: {error}"));
                    break;
                }
            };
            if let Some(latencies) = &mut latencies {
                latencies.take(&entry);
            }
            if findings.contains(&entry.seq) {
                timeline.lines.insert(entry.seq, timeline.length);
            }
            let begin = *begin.get_or_insert(entry.at_us);
            let near = findings.range(entry.seq.saturating_sub(AROUND)..=entry.seq + AROUND);
            let text = match findings.contains(&entry.seq) {
                true => TEXT_OF_FINDING,
                false => TEXT,
            };
            let wanted = near.count() > 0;
            rows.push(timeline.length, row(&entry, begin, text), wanted);
        }
        let begin = begin.unwrap_or_default();
        timeline.data = packed(&format!(
            "{{\"file\":{},\"begin\":{begin},\"rows\":[{}]}}",
            script_json(&name),
            rows.finish()
        ));
        timeline
    }
}

/// A text as `deflate` in base64, as `DecompressionStream` of browsers takes it.
fn packed(text: &str) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing into memory cannot fail.
    let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    data_encoding::BASE64.encode(&written.unwrap_or_default())
}

/// Rows that fit into their room: the first ones, those around findings, and the last ones.
#[derive(Debug)]
struct Rows {
    json: String,
    room: usize,
    /// The line that comes next when none was left out.
    next: u64,
    last: VecDeque<(u64, String)>,
}

impl Rows {
    fn new(room: usize) -> Self {
        Self { json: String::new(), room, next: 1, last: VecDeque::new() }
    }

    fn push(&mut self, line: u64, row: String, wanted: bool) {
        if self.last.is_empty() && self.json.len() + row.len() < self.room {
            return self.put(line, &row);
        }
        if wanted {
            // From here on there is room only for what is wanted, and for the end.
            (self.room, self.last) = (0, VecDeque::new());
            return self.put(line, &row);
        }
        self.last.push_back((line, row));
        if self.last.len() > LAST {
            self.last.pop_front();
        }
    }

    fn put(&mut self, line: u64, row: &str) {
        if line > self.next {
            self.comma();
            self.json.push_str(&format!("[\"gap\",{},{}]", self.next, line - 1));
        }
        self.comma();
        self.json.push_str(row);
        self.next = line + 1;
    }

    fn comma(&mut self) {
        if !self.json.is_empty() {
            self.json.push(',');
        }
    }

    fn finish(mut self) -> String {
        while let Some((line, row)) = self.last.pop_front() {
            self.put(line, &row);
        }
        self.json
    }
}

/// An entry as a row: kind, position, microseconds since the case began, step, text; and a 1 when the
/// text was cut.
fn row(entry: &Entry, begin: u64, limit: usize) -> String {
    let (kind, text) = told(&entry.what);
    let cut = clean::cut(&text, limit);
    let was_cut = matches!(cut, std::borrow::Cow::Owned(_));
    let shown = clean::visible(&cut);
    let mut row = vec![
        json!(kind),
        json!(entry.seq),
        json!(entry.at_us.saturating_sub(begin)),
        json!(entry.step.as_deref().unwrap_or_default()),
        json!(shown),
    ];
    if was_cut {
        row.push(json!(1));
    }
    script_json(&Value::Array(row))
}

/// The kind of a row, which the script gives its place and colour, and its text.
fn told(what: &What) -> (&'static str, String) {
    match what {
        What::Sent { role, frame } => (
            match role {
                Role::Stimulus => "send",
                Role::Hello => "hello",
                Role::Fence => "fence",
                Role::Probe => "probe",
                Role::Reply => "reply",
            },
            frame.display(),
        ),
        What::Received { frame } => ("recv", frame.display()),
        What::Control { text } => ("send", text.clone()),
        What::Reply { text } => ("recv", text.clone()),
        What::Console { line } => ("log", line.clone()),
        What::LinkUp { transport, path, headers, mqtt, .. } => {
            let mut text = format!("connected over {}", transport.name());
            if !path.is_empty() {
                text += &format!(", path {path}");
            }
            if let Some(connect) = mqtt {
                text += &format!(
                    ", client {}, keep-alive {} s",
                    connect.client_id, connect.keep_alive_s
                );
            }
            for (name, value) in headers {
                text += &format!("; {name}: {value}");
            }
            ("up", text)
        }
        What::LinkDown { by, why, breach, .. } => {
            let who = match by {
                Party::Harness => "the harness",
                Party::Device => "the device",
                Party::Bench => "the bench",
            };
            let breach = match breach {
                Some(breach) => format!("; protocol violation: {breach:?}"),
                None => String::new(),
            };
            ("down", format!("link ended by {who}: {why}{breach}"))
        }
        What::Mqtt { note } => ("note", mqtt(note)),
        What::Refused { why, .. } => ("down", format!("connection refused: {why}")),
        What::Http { exchange } => ("http", http(exchange)),
        What::Audio { seen } => {
            ("note", format!("audio: {} packets, {} bytes", seen.packets, seen.bytes))
        }
        What::Target { event } => match event {
            TargetEvent::Started => ("reset", "the device is started".into()),
            TargetEvent::Exited(how) => ("reset", format!("the device ended: {how}")),
            TargetEvent::Bench(what) | TargetEvent::Back(what) => {
                ("reset", format!("bench: {what}"))
            }
            TargetEvent::Lost { why, .. } => ("reset", format!("the bench lost the device: {why}")),
            TargetEvent::Trouble(what) => ("reset", format!("bench problem: {what}")),
        },
        What::Mark { mark } => ("mark", remark(mark)),
    }
}

fn remark(mark: &Mark) -> String {
    match mark {
        Mark::NoAnswer { waited_ms } => format!("no answer within {waited_ms} ms"),
        Mark::Limit { name, value } => format!("limit {name} = {value} reached"),
        Mark::ListEnded { why } => format!("the listing ended early: {why}"),
        Mark::NoLink { waited_ms } => format!("no connection within {waited_ms} ms"),
        Mark::SecondAttempt => "second attempt, on a freshly started device".into(),
        Mark::Alone => "again, each message alone".into(),
        Mark::Skipped { why } => format!("step skipped: {why}"),
        Mark::Locked { tool, reason } => format!("`{tool}` sets nothing: {reason}"),
        Mark::Insists { on } => format!("the device requires `{on}` in initialize"),
        Mark::Closing => "the server closes the connection with a Close frame".to_owned(),
        Mark::Closed { how, .. } => format!("closed: {how}"),
        Mark::Masks { frames, key: Some(key), .. } => {
            format!("all {frames} frames came with mask {key}")
        }
        Mark::Masks { frames, step: Some(step), .. } => {
            format!("{frames} frames came with masks of which each was the one before and {step}")
        }
        Mark::Masks { frames, .. } => format!("{frames} frames came with masks of their own"),
        Mark::BehindClose { frame } => format!("{frame} came behind the device's Close frame"),
        Mark::Facts(facts) => {
            let tools = facts.tools.len() + facts.user_tools.len();
            let capabilities = facts.capabilities.len();
            format!("known from here on: {capabilities} capabilities, {tools} tools")
        }
        Mark::Generated { part, scenario } => {
            let part = match part {
                Part::Input => "input",
                Part::Trial => "a try of a failed input",
                Part::Smallest => "the smallest input that still fails",
                Part::Around => "settings",
                Part::Flight => "inputs in flight together",
            };
            let title = scenario.lines().find_map(|line| line.strip_prefix("title:"));
            format!("{part}{}", title.map_or_else(String::new, |title| format!(":{title}")))
        }
    }
}

fn mqtt(note: &MqttNote) -> String {
    match note {
        MqttNote::Subscribed { filter } => format!("SUBSCRIBE {filter}"),
        MqttNote::Ping => "PINGREQ".into(),
        MqttNote::AckWanted => "the next message is sent with QoS 1".into(),
        MqttNote::Acknowledged => "PUBACK".into(),
        MqttNote::AcknowledgedAgain => "PUBACK once more".into(),
        MqttNote::Topic { topic } => format!("the next message was published to topic {topic}"),
        MqttNote::Elsewhere { topic } => {
            format!("no message of the protocol was published to topic {topic}")
        }
        MqttNote::Qos { qos } => format!("the next message has QoS {qos}"),
        MqttNote::Redelivered => "a message was received again".into(),
        MqttNote::Duplicate => "the next message is marked as sent again".into(),
        MqttNote::Retained => "the next message has the RETAIN flag".into(),
        MqttNote::LargePacket { bytes } => format!("the next packet has {bytes} bytes"),
    }
}

fn http(exchange: &HttpExchange) -> String {
    let or = |text: &str, else_: &str| match text {
        "" => else_.to_owned(),
        text => text.to_owned(),
    };
    let status = match exchange.status {
        Some(status) => status.to_string(),
        None => "no answer".into(),
    };
    let method = or(&exchange.method, "?");
    let mut text = format!("{method} {} → {status}", or(&exchange.path, "?"));
    if let Some(problem) = &exchange.problem {
        text += &format!(" ({problem})");
    }
    if let Some(body) = &exchange.body {
        text += &format!(" {}", body.display());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first member of each row, of gaps with their lines.
    fn kept(room: usize, wanted: &[u64]) -> String {
        let mut rows = Rows::new(room);
        for line in 1..=1_000_u64 {
            let near = wanted.iter().any(|at| line.abs_diff(*at) <= AROUND);
            rows.push(line, format!("[{line}]"), near);
        }
        rows.finish()
    }

    #[test]
    fn what_has_room_is_kept_whole() {
        let all = kept(1 << 20, &[500]);
        assert_eq!(all.matches('[').count(), 1_000);
        assert!(!all.contains("gap"));
    }

    #[test]
    fn what_is_left_out_is_said_and_findings_stay() {
        let some = kept(700, &[500, 520]);
        let parsed: Value = serde_json::from_str(&format!("[{some}]")).unwrap();
        let rows = parsed.as_array().unwrap();
        let lines: Vec<u64> = rows.iter().filter_map(|row| row[0].as_u64()).collect();
        for line in (475..=545).chain(901..=1_000) {
            assert!(lines.contains(&line), "{line} is missing");
        }
        assert!(lines.len() < 330, "{}", lines.len());
        // Rows and gaps together are all lines, in order.
        let mut next = 1;
        for row in rows {
            let (from, to) = match row[0].as_u64() {
                Some(line) => (line, line),
                None => (row[1].as_u64().unwrap(), row[2].as_u64().unwrap()),
            };
            assert_eq!(from, next);
            next = to + 1;
        }
        assert_eq!(next, 1_001);
    }
}
