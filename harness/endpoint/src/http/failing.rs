//! Pictures that are not explained: what a service does that fails, by the last part of its URL.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::VISION_PATH;

/// How large an explanation is that no device has room for.
const HUGE_BYTES: usize = 200_000;

/// How the service fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failing {
    /// Status 401.
    Unauthorized,
    /// Status 404.
    NotFound,
    /// Status 500.
    Broken,
    /// The connection ends without an answer.
    Closed,
    /// The connection ends in the middle of the answer.
    Cut,
    /// The answer is larger than a device can take.
    Huge,
    /// The answer is a page for people.
    Page,
}

impl Failing {
    /// What belongs to a path, if it is one of these.
    pub(super) fn at(path: &str) -> Option<Self> {
        match path.strip_prefix(VISION_PATH)? {
            "/401" => Some(Self::Unauthorized),
            "/404" => Some(Self::NotFound),
            "/500" => Some(Self::Broken),
            "/closed" => Some(Self::Closed),
            "/cut" => Some(Self::Cut),
            "/huge" => Some(Self::Huge),
            "/page" => Some(Self::Page),
            _ => None,
        }
    }

    /// The text of the answer.
    pub(super) fn text(self) -> String {
        match self {
            Self::NotFound | Self::Closed => "there is nothing here\n".to_owned(),
            Self::Unauthorized => {
                r#"{"success":false,"message":"the token is not accepted"}"#.to_owned()
            }
            Self::Broken => {
                r#"{"success":false,"message":"the service is out of order"}"#.to_owned()
            }
            Self::Cut => r#"{"success":true,"response":"there is a ca"#.to_owned(),
            Self::Huge => {
                format!(
                    r#"{{"success":true,"response":"{}"}}"#,
                    "a cat and ".repeat(HUGE_BYTES / 10)
                )
            }
            Self::Page => {
                "<!DOCTYPE html>\n<title>Sign in</title><p>\"You\" must sign in\\.\n".to_owned()
            }
        }
    }
}

/// How many bytes an explanation is longer than usual that goes to this path: `/long/1024` behind the usual one.
pub(super) fn longer(path: &str) -> Option<usize> {
    let bytes = path.strip_prefix(VISION_PATH)?.strip_prefix("/long/")?.parse().ok()?;
    (bytes <= HUGE_BYTES).then_some(bytes)
}

/// Into how many pieces an answer is cut that comes in pieces.
const PIECES: usize = 3;

/// How long there is nothing behind a piece: long enough for a device to read it alone.
const BETWEEN_PIECES: Duration = Duration::from_millis(20);

/// How an answer comes, by the last part of its URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coming {
    /// In one piece.
    Whole,
    /// In chunks.
    Chunked,
    /// In pieces, after a header with its length.
    Slow,
}

impl Coming {
    /// What belongs to a path.
    pub(super) fn at(path: &str) -> Self {
        match path.strip_prefix(VISION_PATH) {
            Some("/chunked") => Self::Chunked,
            Some("/slow") => Self::Slow,
            _ => Self::Whole,
        }
    }
}

/// The body of an answer. One that is cut says more bytes than come.
#[derive(Debug)]
pub(super) struct AnswerBody {
    pieces: VecDeque<Bytes>,
    /// What is behind the last piece.
    next: Next,
    is_cut: bool,
    /// Its length, where that is told.
    length: Option<u64>,
    /// Runs out when the next piece may leave.
    pause: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, Clone, Copy)]
enum Next {
    Pieces,
    /// What was given is on its way before the connection ends.
    Pause,
    End,
}

impl AnswerBody {
    pub(super) fn new(text: String, coming: Coming, is_cut: bool) -> Self {
        // Of one that is cut the length is in a header, and is not true.
        let length = (coming != Coming::Chunked && !is_cut).then_some(text.len() as u64);
        let piece = match coming {
            Coming::Whole => text.len().max(1),
            Coming::Chunked | Coming::Slow => text.len().div_ceil(PIECES).max(1),
        };
        let pieces = text.as_bytes().chunks(piece).map(Bytes::copy_from_slice).collect();
        Self { pieces, next: Next::Pieces, is_cut, length, pause: None }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.next {
            Next::Pieces => {
                if let Some(pause) = &mut self.pause {
                    ready!(pause.as_mut().poll(context));
                }
                let piece = self.pieces.pop_front().unwrap_or_default();
                self.pause = Some(Box::pin(sleep(BETWEEN_PIECES)));
                if self.pieces.is_empty() {
                    self.next = if self.is_cut { Next::Pause } else { Next::End };
                }
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            Next::Pause => {
                self.next = Next::End;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Next::End if self.is_cut => {
                Poll::Ready(Some(Err(io::Error::other("the answer is cut, as its URL says"))))
            }
            Next::End => Poll::Ready(None),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.next, Next::End) && !self.is_cut
    }
}
