//! GitHub Actions: annotations beside the lines of scenarios, and a summary of the job.
//!
//! A runner takes a line of any output that begins with `::` for a command. Devices could give it some:
//! therefore commands are off while the run is on, by a word that nobody can guess, and on again for the
//! annotations.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::verdict::Finding;

use super::lines::{self, Status};
use super::markdown::{self, is_red};
use super::summary::exit_meaning;
use mcp_hil_record::Reporter;
use mcp_hil_record::about::stood_in;
use mcp_hil_record::answers::AnswerKind;
use mcp_hil_record::cause::Cause;
use mcp_hil_record::event::{CaseReport, Event};
use mcp_hil_record::text::clean;
use mcp_hil_record::text::layout::count;
use mcp_hil_record::{Record, Recorder};
use mcp_hil_runner::random::Random;

/// Most annotations of a kind that GitHub shows of a step; the last one counts the others.
const MOST: usize = 10;

/// Most characters of a text in an annotation.
const EVIDENCE: usize = 500;

/// Fewest bytes that are worth a summary.
const LEAST: usize = 4 << 10;

/// Where the files lie that annotations are put beside.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    /// The folder of the repository, GITHUB_WORKSPACE.
    pub root: PathBuf,
    /// The folder that names of files are relative to.
    pub current: PathBuf,
}

impl Workspace {
    /// A file as the repository names it; `None` when it is none of its files.
    fn name(&self, file: &str) -> Option<String> {
        let path = self.current.join(file);
        // The suite is built into the program: its files are there in its own repository only.
        let name = path.strip_prefix(&self.root).ok().filter(|_| path.is_file())?;
        Some(name.display().to_string())
    }
}

/// Writes annotations when the run is over.
#[derive(Debug)]
pub struct Annotations<W> {
    out: W,
    workspace: Workspace,
    /// What turns commands on again.
    word: String,
    recorder: Recorder,
}

impl<W: Write + Send> Annotations<W> {
    /// Annotations on the stream that the report goes to, or another one that the runner reads.
    ///
    /// # Errors
    ///
    /// The system has no source of chance.
    pub fn new(out: W, workspace: Workspace) -> io::Result<Self> {
        let word = u128::from_le_bytes(Random::secret()?);
        Ok(Self {
            out,
            workspace,
            word: format!("mcp-hil-{word:032x}"),
            recorder: Recorder::default(),
        })
    }
}

impl<W: Write + Send> Reporter for Annotations<W> {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.recorder.take(event);
        let text = match (event, self.recorder.record()) {
            (Event::RunStarted(_), _) => format!("::stop-commands::{}\n", self.word),
            (Event::RunFinished(_), Some(record)) => {
                format!("::{}::\n{}", self.word, annotations(record, &self.workspace))
            }
            _ => return Ok(()),
        };
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// Appends the summary of a run to a file that other commands of the step may write to too.
#[derive(Debug)]
pub struct StepSummary {
    path: PathBuf,
    catalogue: Arc<Catalogue>,
    recorder: Recorder,
}

impl StepSummary {
    /// A summary for the file that GITHUB_STEP_SUMMARY names.
    pub fn new(path: impl Into<PathBuf>, catalogue: Arc<Catalogue>) -> Self {
        Self { path: path.into(), catalogue, recorder: Recorder::default() }
    }
}

impl Reporter for StepSummary {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.recorder.take(event);
        match (event, self.recorder.record()) {
            (Event::RunFinished(_), Some(record)) => append(&self.path, record, &self.catalogue),
            _ => Ok(()),
        }
    }
}

fn append(path: &Path, record: &Record, catalogue: &Catalogue) -> io::Result<()> {
    let taken = fs::metadata(path).map_or(0, |file| file.len());
    let taken = usize::try_from(taken).unwrap_or(usize::MAX);
    // Of a file that is too large GitHub shows nothing, not even what others wrote.
    let room = markdown::LIMIT.saturating_sub(taken + 1);
    if room < LEAST {
        return Err(io::Error::other("the step has already written too much there"));
    }
    let text = markdown::render(record, catalogue, room);
    let mut file = File::options().append(true).create(true).open(path)?;
    file.write_all(format!("{text}\n").as_bytes())
}

/// The annotations of a run, a line each.
fn annotations(record: &Record, workspace: &Workspace) -> String {
    let summary = &record.summary;
    let mut errors: Vec<String> = Vec::new();
    let mut error = |title: &str, text: &str| errors.push(command("error", None, title, text));
    if let Some(what) = &summary.bench_error {
        error("mcp-hil: the bench", &clean::cut(what, EVIDENCE));
    }
    if !summary.stale.is_empty() {
        error("mcp-hil: the baseline is stale", &clean::cut(&summary.stale.join("\n"), EVIDENCE));
    }
    if !summary.unexercised.is_empty() {
        let title = "mcp-hil: unexercised requirements";
        error(title, &clean::cut(&summary.unexercised.join(", "), EVIDENCE));
    }
    for cause in &summary.causes {
        // Beside the scenario of the evidence, if that is a file here, or else of another case of it.
        let spoilt = || record.cases.iter().filter(|case| cause.spoils(case));
        let evidence = spoilt().filter(|case| case.case == cause.case);
        let place = evidence.chain(spoilt()).find_map(|case| place(case, workspace));
        errors.push(of_cause(cause, place));
    }
    let spoilt =
        |case: &&CaseReport| is_red(case) && !summary.causes.iter().any(|cause| cause.spoils(case));
    errors.extend(record.cases.iter().filter(spoilt).map(|case| of_case(case, workspace)));
    let mut warnings: Vec<String> = Vec::new();
    if let Some(text) = stood_in(&record.run.duts) {
        // A green build without the board must be seen without opening a log.
        warnings.push(command(
            "warning",
            None,
            "mcp-hil: another device replaced the board",
            &text,
        ));
    }
    for answer in &record.answers {
        let kind = if answer.fails { "error" } else { "warning" };
        let place = workspace.name(&answer.file).map(|file| (file, 1));
        let what = match answer.kind {
            AnswerKind::Answer => "answer ",
            AnswerKind::Capabilities => "",
        };
        let title = format!("{} {what}{}", lines::answer_word(answer.state), answer.snapshot);
        let changes: Vec<String> = answer.changes.iter().map(ToString::to_string).collect();
        let changes = changes.iter().map(|change| clean::line(change, EVIDENCE));
        let mut text = changes.take(MOST).collect::<Vec<_>>().join("\n");
        if text.is_empty() {
            text = clean::line(&answer.file, EVIDENCE);
        }
        let told = command(kind, place, &title, &text);
        match answer.fails {
            true => errors.push(told),
            false => warnings.push(told),
        }
    }
    if errors.is_empty()
        && let Some(meaning) = exit_meaning(summary)
    {
        errors.push(command("error", None, "mcp-hil", &meaning));
    }

    let mut warned: Vec<(&CaseReport, &Finding)> = Vec::new();
    for case in &record.cases {
        for finding in case.findings.iter().filter(|finding| finding.is_warning()) {
            // What many cases show is told beside the first of them.
            let same =
                |(_, known): &(&CaseReport, &Finding)| known.requirement == finding.requirement;
            if !warned.iter().any(same) {
                warned.push((case, finding));
            }
        }
    }
    let flaky = record.cases.iter().filter(|case| case.flaky);
    warnings.extend(flaky.map(|case| of_flaky(case, workspace)));
    warnings.extend(warned.iter().map(|(case, finding)| {
        let place = place(case, workspace);
        let title = format!("WARN {} {}", lines::link(&case.dut, &case.transport), case.case);
        command("warning", place, &title, &evidence(finding))
    }));
    capped("error", errors) + &capped("warning", warnings)
}

fn of_cause(cause: &Cause, place: Option<(String, u64)>) -> String {
    let link = lines::link(&cause.dut, &cause.transport);
    let title = format!("{link} {}", cause.finding.requirement);
    let mut text = evidence(&cause.finding);
    text += &match &cause.cases[..] {
        [only] => format!("\ncase {}", clean::visible(&only.case)),
        all => format!("\n{}, first {}", count(all.len(), "case"), clean::visible(&cause.case)),
    };
    if let Some(transcript) = &cause.transcript {
        let seq = cause.finding.seq.map_or_else(String::new, |seq| format!(" seq {seq}"));
        text += &format!("\ntranscript {}{seq}", clean::visible(transcript));
    }
    text += &format!("\nrepro {}", clean::visible(&cause.repro()));
    command("error", place, &title, &text)
}

/// A case that passed only when it was tried again.
fn of_flaky(case: &CaseReport, workspace: &Workspace) -> String {
    let title = format!("FLAKY {} {}", lines::link(&case.dut, &case.transport), case.case);
    let told = case.findings.first().map(evidence).unwrap_or_default();
    let text = format!("{told}\n{}", lines::attempts(case).unwrap_or_default());
    command("warning", place(case, workspace), &title, text.trim())
}

/// A case that the bench spoilt.
fn of_case(case: &CaseReport, workspace: &Workspace) -> String {
    let link = lines::link(&case.dut, &case.transport);
    let title = format!("{} {link} {}", Status::of(case).word(), case.case);
    let text = clean::line(lines::reason(case).unwrap_or("no reason given"), EVIDENCE);
    command("error", place(case, workspace), &title, &text)
}

fn evidence(finding: &Finding) -> String {
    format!(
        "{}\nexpected {}\nreceived {}",
        clean::visible(&finding.requirement),
        clean::line(&finding.expected, EVIDENCE),
        match clean::line(&finding.received, EVIDENCE) {
            empty if empty.is_empty() => "nothing".to_owned(),
            received => received,
        },
    )
}

fn place(case: &CaseReport, workspace: &Workspace) -> Option<(String, u64)> {
    let name = workspace.name(case.file.as_deref()?)?;
    Some((name, case.line.unwrap_or(1)))
}

/// Only so many as GitHub shows; the last one says how many there are besides.
fn capped(kind: &str, mut all: Vec<String>) -> String {
    if all.len() > MOST {
        let left = count(all.len() + 1 - MOST, "more annotation");
        all.truncate(MOST - 1);
        let text = format!("{left} of this kind: see the job summary, or the reports");
        all.push(command(kind, None, "mcp-hil", &text));
    }
    all.concat()
}

/// A command for the runner, as a line.
fn command(kind: &str, place: Option<(String, u64)>, title: &str, text: &str) -> String {
    let title = property(&clean::line(title, EVIDENCE));
    let place = place
        .map_or_else(String::new, |(file, line)| format!("file={},line={line},", property(&file)));
    format!("::{kind} {place}title={title}::{}\n", data(text))
}

/// Text of a command: the runner undoes just these.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
