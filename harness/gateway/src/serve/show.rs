//! Prints what happens, a line each: time, device, direction, what it was.

use std::io::{ErrorKind, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use time::OffsetDateTime;
use tokio::sync::Notify;
use unicode_width::UnicodeWidthChar;

use super::message::Said;
use mcp_hil_record::text::clean;
use mcp_hil_record::text::layout;
use mcp_hil_runner::secrets::{Secret, Veil};

/// Columns of a line, where its head leaves room.
const WIDTH: usize = 80;

/// Columns of the device's name: a MAC address fits.
const NAME_WIDTH: usize = 17;

/// Columns that the rest of a message gets at least, however long its head is.
const LEAST_REST: usize = 32;

/// Columns that names get in a table at most.
const MAX_CELL: usize = 40;

/// Which way something went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// To the device.
    ToDevice,
    /// From the device.
    FromDevice,
    /// Neither: a remark about it.
    Beside,
}

impl Way {
    fn mark(self) -> &'static str {
        match self {
            Self::ToDevice => "->",
            Self::FromDevice => "<-",
            Self::Beside => "--",
        }
    }
}

/// What the summary counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// Connections of devices.
    Connection,
    /// Messages from devices.
    Received,
    /// Messages to devices.
    Sent,
    /// Configuration requests.
    Configuration,
    /// Pictures.
    Picture,
    /// Other HTTP requests.
    OtherRequest,
    /// Audio packets and frames.
    Audio,
    /// Connections turned away.
    Refused,
}

impl Counted {
    /// In the order of the summary and of the variants, with the noun of each.
    const ALL: [(Self, &str); 8] = [
        (Self::Connection, "connection"),
        (Self::Received, "message in"),
        (Self::Sent, "message out"),
        (Self::Configuration, "configuration request"),
        (Self::Picture, "picture"),
        (Self::OtherRequest, "other HTTP request"),
        (Self::Audio, "audio packet"),
        (Self::Refused, "refused connection"),
    ];
}

/// Standard output, with all that must not appear on it.
#[derive(Debug)]
pub(super) struct Show {
    verbose: bool,
    began: Instant,
    inner: Mutex<Inner>,
    closed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// What is never shown, and what stands in its place.
    veil: Veil,
    counts: [u64; Counted::ALL.len()],
}

impl Show {
    /// With `verbose`, messages are shown whole below their lines.
    pub(super) fn new(verbose: bool) -> Self {
        Self { verbose, began: Instant::now(), inner: Mutex::default(), closed: Notify::new() }
    }

    /// Whether messages are shown whole.
    pub(super) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Never shows a text from now on, but `mark` in its place.
    pub(super) fn hide(&self, secret: &str, mark: &'static str) {
        let value = secret.to_owned();
        self.inner().veil.add(Secret { value, mark });
    }

    /// A secret is none any more: its device is gone.
    pub(super) fn forget(&self, secret: &str) {
        self.inner().veil.forget(secret);
    }

    /// The text without secrets. Called before anything is cut, so that no half of one is left.
    pub(super) fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        self.inner().veil.hide(&mut text);
        text
    }

    /// Counts for the summary.
    pub(super) fn count(&self, what: Counted, more: usize) {
        self.inner().counts[what as usize] += more as u64;
    }

    /// Prints a line about a device, and its `whole` message below when that is wanted.
    pub(super) fn line(&self, device: &str, way: Way, said: &Said, whole: Option<&str>) {
        let now = OffsetDateTime::now_utc();
        let time = format!("{:02}:{:02}:{:02}", now.hour(), now.minute(), now.second());
        let device = self.clean(device);
        let head = clean::visible(&self.clean(&said.head)).into_owned();
        let rest = clean::visible(&self.clean(&said.rest)).into_owned();
        let mut text = compose(&time, &device, way, &head, &rest);
        if let Some(whole) = whole.filter(|_| self.verbose) {
            text.push_str("\n  ");
            text.push_str(&clean::visible(&self.clean(whole)));
        }
        self.print(&text);
    }

    /// Prints more about the last line, below it.
    pub(super) fn more(&self, text: &str) {
        let text = clean::visible(&self.clean(text)).into_owned();
        let lines = layout::wrap(&text, WIDTH - 2);
        self.print(&lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n"));
    }

    /// Prints a table of two columns below the last line.
    pub(super) fn table(&self, rows: &[(String, String)]) {
        let rows: Vec<(String, String)> = rows
            .iter()
            .map(|(name, value)| {
                let visible = |text| clean::visible(&self.clean(text)).into_owned();
                (visible(name), visible(value))
            })
            .collect();
        let longest = rows.iter().map(|(name, _)| layout::columns(name)).max();
        let width = longest.unwrap_or(0).min(MAX_CELL);
        let lines: Vec<String> = rows
            .iter()
            .map(|(name, value)| {
                let room = WIDTH.saturating_sub(4 + layout::columns(name).max(width));
                let value = cut(value, room.max(LEAST_REST));
                format!("  {}  {value}", layout::pad(name, width)).trim_end().to_owned()
            })
            .collect();
        if !lines.is_empty() {
            self.print(&lines.join("\n"));
        }
    }

    /// Prints what it all came to.
    pub(super) fn summary(&self) {
        let counts = self.inner().counts;
        let mut parts: Vec<String> = Counted::ALL
            .iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .map(|((_, noun), count)| plural(count, noun))
            .collect();
        if parts.is_empty() {
            parts.push("no device connected".to_owned());
        }
        let seconds = self.began.elapsed().as_secs();
        self.print(&format!("served for {}: {}", plural(seconds, "second"), parts.join(", ")));
    }

    /// Ends when nobody reads standard output any more.
    pub(super) async fn nobody_reads(&self) {
        self.closed.notified().await;
    }

    fn print(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        let done = writeln!(out, "{text}").and_then(|()| out.flush());
        if done.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
            self.closed.notify_one();
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One line. The head stands whole; the rest is cut to what 80 columns leave.
fn compose(time: &str, device: &str, way: Way, head: &str, rest: &str) -> String {
    let device = match device {
        "" => "-".to_owned(),
        device => cut(&clean::visible(device), NAME_WIDTH),
    };
    let start = format!("{time} {} {} {head}", layout::pad(&device, NAME_WIDTH), way.mark());
    if rest.is_empty() {
        return start;
    }
    let room = WIDTH.saturating_sub(layout::columns(&start) + 1);
    format!("{start} {}", cut(rest, room.max(LEAST_REST)))
}

/// A text of so many columns at most; where more was, `…` stands.
fn cut(text: &str, width: usize) -> String {
    if layout::columns(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(character);
    }
    kept.push('…');
    kept
}

/// A number with its noun, the first word of which gets the plural: `2 messages in`.
fn plural(count: u64, noun: &str) -> String {
    match (count, noun.split_once(' ')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(("message", rest))) => format!("{count} messages {rest}"),
        _ => format!("{count} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_has_time_device_direction_and_what_it_was() {
        assert_eq!(
            compose("12:00:01", "02:00:00:4d:43:50", Way::ToDevice, "ping #3", "{}"),
            "12:00:01 02:00:00:4d:43:50 -> ping #3 {}"
        );
        assert_eq!(
            compose("12:00:01", "", Way::Beside, "refused", ""),
            "12:00:01 -                 -- refused"
        );
    }

    #[test]
    fn names_and_the_rest_are_cut_and_the_head_is_not() {
        let line = compose("12:00:01", &"x".repeat(99), Way::FromDevice, "a", &"y".repeat(99));
        assert_eq!(layout::columns(&line), 80);
        assert!(line.contains(&format!("{}… <- a yyy", "x".repeat(16))), "{line}");
        assert!(line.ends_with("y…"), "{line}");
        let head = "h".repeat(99);
        let line = compose("12:00:01", "", Way::FromDevice, &head, &"y".repeat(99));
        assert!(line.contains(&head) && line.ends_with(&format!("{}…", "y".repeat(31))));
    }

    #[test]
    fn secrets_are_taken_out_before_a_text_is_cut() {
        let show = Show::new(false);
        show.hide("hush-hush", "${T}");
        assert_eq!(show.clean("a hush-hush b hush-hush"), "a ${T} b ${T}");
        show.forget("hush-hush");
        assert_eq!(show.clean("hush-hush"), "hush-hush");
    }

    #[test]
    fn numbers_have_their_nouns() {
        assert_eq!(plural(1, "message in"), "1 message in");
        assert_eq!(plural(2, "message in"), "2 messages in");
        assert_eq!(plural(0, "second"), "0 seconds");
        assert_eq!(plural(3, "other HTTP request"), "3 other HTTP requests");
    }

    proptest! {
        #[test]
        fn what_is_cut_fits(text in any::<String>(), width in 1usize..60) {
            let text = clean::visible(&text).into_owned();
            let short = cut(&text, width);
            prop_assert!(layout::columns(&short) <= width.max(1), "{short}");
            prop_assert!(text.starts_with(short.trim_end_matches('…')));
        }
    }
}
