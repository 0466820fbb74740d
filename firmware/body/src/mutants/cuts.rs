//! Defects of buffers that end in the midst of a character or of an escape.

use crate::platform::Frame;
use crate::rows::prelude::*;

pub(super) const ERRORS: &[Row] = rows! {
    "error-tool-cut-in-character":
        "The name of an unknown tool is cut after 48 bytes, in the midst of a character."
        => cut_after("Unknown tool: ", 48);
    "error-method-cut-in-character":
        "The name of an unknown method is cut after 255 bytes, in the midst of a character."
        => cut_after("Method not implemented: ", 255);
    "error-tool-cut-in-escape":
        "The name of an unknown tool is escaped, and then cut after 63 bytes."
        => defect().on_answer_text(|_, text, _| {
            if let Some((start, end)) = echo(text, "Unknown tool: ")
                && end - start > 63
                && text.is_char_boundary(start + 63)
            {
                text.replace_range(start + 63..end, "");
            }
            Flow::Pass
        });
};

pub(super) const ARGUMENTS: &[Row] = rows! {
    "argument-echo-cut-in-character":
        "The text of a theme that is refused is cut after 32 bytes, in the midst of a character."
        => cut_after("Unknown theme: ", 32);
    "text-cut-in-character": "A text is cut after 1040 bytes, in the midst of a character."
        => with_tools(cut_after("shown: ", 1040), DISPLAY);
};

/// Where what an answer echoes after `head` begins and ends, as it is spelled.
fn echo(text: &str, head: &str) -> Option<(usize, usize)> {
    let start = text.find(head)? + head.len();
    let mut escaped = false;
    let end = text[start..].find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    Some((start, start + end?))
}

/// Cuts what an answer echoes after `head` at so many bytes. What is left of a character is sent.
fn cut_after(head: &'static str, bytes: usize) -> Defect {
    defect().on_answer_text(move |_, text, hands| {
        let Some((start, end)) = echo(text, head).filter(|(start, end)| end - start > bytes) else {
            return Flow::Pass;
        };
        let mut raw = text.as_bytes()[..start + bytes].to_vec();
        raw.extend_from_slice(&text.as_bytes()[end..]);
        instead(Act::Send(Frame::RawText(raw)), hands)
    })
}
