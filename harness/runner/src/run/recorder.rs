//! Writes what happens into the run's folder: one transcript a case, one console log a device.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use mcp_hil_core::capability::Facts;
use mcp_hil_core::transcript::{Entry, HttpExchange, Mark, MqttNote, What};
use mcp_hil_core::wire::Frame;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::RunError;
use crate::secrets::{Secret, Veil};
use mcp_hil_record::names::transcript_name;
use mcp_hil_record::report::write_whole;

/// The files of one run of one device.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
    transcript: Option<BufWriter<File>>,
    /// The line that is being written: room that is used again.
    line: Vec<u8>,
    console: BufWriter<File>,
    veil: Veil,
    failed: Option<RunError>,
}

impl Recorder {
    /// Makes the folders and the console log. None of the secrets ever reaches a file.
    ///
    /// # Errors
    ///
    /// One of them cannot be made.
    pub fn new(folder: &Path, secrets: Vec<Secret>) -> Result<Self, RunError> {
        let transcripts = folder.join("transcripts");
        std::fs::create_dir_all(&transcripts)
            .map_err(|reason| write_error(&transcripts, reason))?;
        let path = folder.join("console.log");
        let console = File::create(&path).map_err(|reason| write_error(&path, reason))?;
        Ok(Self {
            folder: folder.to_owned(),
            transcript: None,
            line: Vec::new(),
            console: BufWriter::new(console),
            veil: Veil::new(secrets),
            failed: None,
        })
    }

    /// Hides one more secret, in the place of the earlier one with this mark.
    pub fn hide_instead(&mut self, value: &str, mark: &'static str) {
        self.veil.hide_instead(value, mark);
    }

    /// Turns to the transcript of a case.
    pub fn begin_case(&mut self, case: &str) {
        self.flush();
        let path = self.folder.join(transcript_name(case));
        match File::create(&path) {
            Ok(file) => self.transcript = Some(BufWriter::new(file)),
            Err(reason) => {
                self.transcript = None;
                self.fail(&path, reason);
            }
        }
    }

    /// Takes secrets out of an entry, in place.
    pub fn scrub(&self, entry: &mut Entry) {
        if self.veil.is_empty() {
            return;
        }
        match &mut entry.what {
            What::Console { line } => self.hide(line),
            What::Sent { frame, .. } | What::Received { frame } => self.hide_in_frame(frame),
            What::LinkUp { headers, path, mqtt, .. } => {
                self.hide_in_headers(headers);
                self.hide(path);
                if let Some(connect) = mqtt {
                    self.hide(&mut connect.client_id);
                }
            }
            What::Mqtt {
                note:
                    MqttNote::Topic { topic: text }
                    | MqttNote::Elsewhere { topic: text }
                    | MqttNote::Subscribed { filter: text },
            }
            | What::LinkDown { why: text, .. }
            | What::Refused { why: text, .. } => self.hide(text),
            What::Http { exchange } => self.hide_in_exchange(exchange),
            What::Mark { mark: Mark::Facts(facts) } => **facts = self.without_secrets(facts),
            What::Mark { mark: Mark::Generated { scenario, .. } } => self.hide(scenario),
            _ => {}
        }
    }

    /// What a report may tell of a device.
    pub fn without_secrets(&self, facts: &Facts) -> Facts {
        let mut facts = facts.clone();
        for value in facts.variables.values_mut() {
            if let serde_json::Value::String(text) = value {
                self.hide(text);
            }
        }
        facts
    }

    /// The same without secrets, in whatever text it holds them.
    pub fn without<T: Serialize + DeserializeOwned>(&self, told: T) -> T {
        let hide = || {
            let mut text = serde_json::to_string(&told).ok()?;
            match self.veil.hide(&mut text) {
                true => serde_json::from_str(&text).ok(),
                false => None,
            }
        };
        hide().unwrap_or(told)
    }

    fn hide_in_exchange(&self, exchange: &mut HttpExchange) {
        self.hide_in_headers(&mut exchange.headers);
        self.hide(&mut exchange.path);
        if let Some(body) = &mut exchange.body {
            self.hide_in_frame(body);
        }
        let upload = exchange.upload.as_mut();
        let texts = upload.into_iter().flat_map(|upload| {
            let names = [&mut upload.file_name, &mut upload.file_type];
            names.into_iter().chain([&mut upload.question])
        });
        for text in texts.chain([&mut exchange.problem]).flatten() {
            self.hide(text);
        }
    }

    fn hide_in_headers(&self, headers: &mut BTreeMap<String, String>) {
        for value in headers.values_mut() {
            self.hide(value);
        }
        // A token that we did not make up is a secret all the same.
        if let Some(other) = headers.get_mut("authorization")
            && !self.veil.marks().any(|mark| other.contains(mark))
        {
            let scheme = other.split(' ').next().filter(|word| word.len() < other.len());
            *other = format!("{} <another token>", scheme.unwrap_or("")).trim().to_owned();
        }
    }

    fn hide_in_frame(&self, frame: &mut Frame) {
        match frame {
            Frame::Text(text) | Frame::Odd(_, text) => self.hide(text),
            Frame::NotUtf8(bytes)
            | Frame::Binary(bytes)
            | Frame::Ping(bytes)
            | Frame::Pong(bytes) => {
                let mut shown = String::from_utf8_lossy(bytes).into_owned();
                if self.veil.hide(&mut shown) {
                    *bytes = shown.into_bytes();
                }
            }
        }
    }

    /// Replaces the secrets in a text.
    pub fn hide(&self, text: &mut String) {
        self.veil.hide(text);
    }

    /// Writes an entry. A full disk is told once; the run goes on to its verdict.
    pub fn write(&mut self, entry: &Entry) {
        if let Some(file) = &mut self.transcript {
            // Whole lines: of a message in JSON, the many quotes would each be a write of their own.
            self.line.clear();
            let written = serde_json::to_writer(&mut self.line, entry)
                .map_err(std::io::Error::from)
                .and_then(|()| {
                    self.line.push(b'\n');
                    file.write_all(&self.line)
                });
            if let Err(reason) = written {
                let path = self.folder.join(transcript_name(&entry.case));
                self.transcript = None;
                self.fail(&path, reason);
            }
        }
        if let What::Console { line } = &entry.what {
            let seconds = entry.at_us as f64 / 1e6;
            if let Err(reason) = writeln!(self.console, "[{seconds:10.6}] {line}") {
                let path = self.folder.join("console.log");
                self.fail(&path, reason);
            }
        }
    }

    /// Writes a file that people are to have, its secrets hidden, and the folders above it.
    pub fn keep(&mut self, path: &Path, text: &str) {
        let mut text = text.to_owned();
        self.hide(&mut text);
        if let Err(reason) = write_whole(path, text.as_bytes()) {
            self.fail(path, reason);
        }
    }

    /// Brings everything to the disk.
    pub fn flush(&mut self) {
        let failed = [
            self.transcript.as_mut().and_then(|file| file.flush().err()),
            self.console.flush().err(),
        ];
        for reason in failed.into_iter().flatten() {
            let folder = self.folder.clone();
            self.fail(&folder, reason);
        }
    }

    /// The first failure to write.
    pub fn take_failure(&mut self) -> Option<RunError> {
        self.failed.take()
    }

    fn fail(&mut self, path: &Path, reason: std::io::Error) {
        self.failed.get_or_insert_with(|| write_error(path, reason));
    }
}

fn write_error(path: &Path, reason: std::io::Error) -> RunError {
    RunError::Write { path: path.display().to_string(), reason }
}

#[cfg(test)]
mod tests {
    use mcp_hil_core::transcript::{HttpEndpoint, Upload};

    use super::*;

    #[test]
    fn no_secret_of_an_http_request_is_left() {
        let folder = std::env::temp_dir().join(format!("mcp-hil-recorder-{}", std::process::id()));
        let secrets = [("hu\"sh", "${ONE}"), ("quiet", "${OTHER}"), ("", "${NONE}")];
        let secrets = secrets.map(|(value, mark)| Secret { value: value.to_owned(), mark });
        let recorder = Recorder::new(&folder, secrets.to_vec()).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let mut facts = mcp_hil_core::capability::Facts::default();
        facts.variables.insert("vision.token".into(), "quiet".into());
        let exchange = HttpExchange {
            endpoint: HttpEndpoint::Vision,
            path: "/x?token=quiet".into(),
            headers: [
                ("authorization".into(), "Bearer quiet".into()),
                ("x".into(), "hu\"sh".into()),
            ]
            .into(),
            body: Some(Frame::Text("{\"token\":\"hu\\\"sh\"}".into())),
            upload: Some(Upload {
                question: Some("quiet?".into()),
                file_name: Some("quiet".into()),
                ..Upload::default()
            }),
            problem: Some("quiet".into()),
            ..HttpExchange::unread()
        };
        let stranger = HttpExchange {
            headers: [("authorization".into(), "Bearer foreign".into())].into(),
            body: Some(Frame::NotUtf8(b"\xffquiet".to_vec())),
            ..HttpExchange::unread()
        };
        for what in [
            What::Mark {
                mark: Mark::Generated {
                    part: mcp_hil_core::transcript::Part::Input,
                    scenario: "title: quiet".into(),
                },
            },
            What::Http { exchange: Box::new(exchange) },
            What::Http { exchange: Box::new(stranger) },
            What::Sent {
                role: mcp_hil_core::transcript::Role::Stimulus,
                frame: Frame::Text("{\"token\":\"quiet\"}".into()),
            },
            What::Mark { mark: Mark::Facts(Box::new(facts)) },
        ] {
            let mut entry = Entry { seq: 0, at_us: 0, case: "".into(), step: None, what };
            recorder.scrub(&mut entry);
            let shown = format!("{entry:?} {}", serde_json::to_string(&entry).unwrap());
            for secret in ["hu\\\"sh", "quiet", "foreign", "7175696574"] {
                assert!(!shown.contains(secret), "{secret}: {shown}");
            }
        }
    }
}
