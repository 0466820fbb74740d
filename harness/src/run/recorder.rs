//! Writes what happens into the run's folder: one transcript a case, one console log a device.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use mcp_hil_core::transcript::{Entry, What};
use mcp_hil_core::wire::Frame;

use super::RunError;

/// Stands in the transcript where the token stood.
const TOKEN_MARK: &str = "${MCP_HIL_WS_TOKEN}";

/// The files of one lane.
#[derive(Debug)]
pub struct Recorder {
    folder: PathBuf,
    transcript: Option<BufWriter<File>>,
    console: BufWriter<File>,
    secret: String,
    failed: Option<RunError>,
}

impl Recorder {
    /// Makes the folders and the console log. `secret` never reaches a file.
    ///
    /// # Errors
    ///
    /// One of them cannot be made.
    pub fn new(folder: &Path, secret: &str) -> Result<Self, RunError> {
        let transcripts = folder.join("transcripts");
        std::fs::create_dir_all(&transcripts)
            .map_err(|reason| write_error(&transcripts, reason))?;
        let path = folder.join("console.log");
        let console = File::create(&path).map_err(|reason| write_error(&path, reason))?;
        Ok(Self {
            folder: folder.to_owned(),
            transcript: None,
            console: BufWriter::new(console),
            secret: secret.to_owned(),
            failed: None,
        })
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
        if self.secret.is_empty() {
            return;
        }
        match &mut entry.what {
            What::Console { line } => self.hide(line),
            What::Received { frame } => match frame {
                Frame::Text(text) => self.hide(text),
                Frame::NotUtf8(bytes)
                | Frame::Binary(bytes)
                | Frame::Ping(bytes)
                | Frame::Pong(bytes) => {
                    let shown = String::from_utf8_lossy(bytes);
                    if shown.contains(&self.secret) {
                        *bytes = shown.replace(&self.secret, TOKEN_MARK).into_bytes();
                    }
                }
            },
            What::LinkUp { headers, path, .. } => {
                for value in headers.values_mut() {
                    *value = value.replace(&self.secret, TOKEN_MARK);
                }
                // A token that we did not make up is a secret all the same.
                if let Some(other) = headers.get_mut("authorization")
                    && !other.contains(TOKEN_MARK)
                {
                    let scheme = other
                        .split(' ')
                        .next()
                        .filter(|word| word.len() < other.len());
                    *other = format!("{} <another token>", scheme.unwrap_or(""))
                        .trim()
                        .to_owned();
                }
                *path = path.replace(&self.secret, TOKEN_MARK);
            }
            _ => {}
        }
    }

    /// Replaces the token in a text, plain or as JSON spells it.
    fn hide(&self, text: &mut String) {
        let spelled = serde_json::Value::from(self.secret.as_str()).to_string();
        for form in [self.secret.as_str(), spelled.trim_matches('"')] {
            if text.contains(form) {
                *text = text.replace(form, TOKEN_MARK);
            }
        }
    }

    /// Writes an entry. A full disk is told once; the run goes on to its verdict.
    pub fn write(&mut self, entry: &Entry) {
        if let Some(file) = &mut self.transcript {
            let written = serde_json::to_writer(&mut *file, entry)
                .map_err(std::io::Error::from)
                .and_then(|()| file.write_all(b"\n"));
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

/// The file of a case's transcript, relative to the run's folder.
pub fn transcript_name(case: &str) -> String {
    format!("transcripts/{}.jsonl", case.replace('/', "."))
}

fn write_error(path: &Path, reason: std::io::Error) -> RunError {
    RunError::Write {
        path: path.display().to_string(),
        reason,
    }
}
