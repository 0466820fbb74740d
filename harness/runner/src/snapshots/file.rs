//! The files of reviewed answers: written as `insta` writes them, and read back.
//!
//! A header between two lines `---` says where the answer comes from; it is not compared. Below it stand
//! exchanges, each as `request` and `answer` with JSON, with an empty line between them.

use mcp_hil_judge::compare::change::Said;

use super::layout::json;

/// The line around the header.
const FENCE: &str = "---";

/// A reviewed answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Snap {
    /// What stands below the header.
    pub text: String,
    /// The same, read.
    pub said: Vec<Said>,
}

/// Exchanges as text.
pub fn written(said: &[Said]) -> String {
    let exchange = |said: &Said| {
        let answer = said.answer.as_ref();
        let answer = answer.map_or_else(|| "none".to_owned(), json);
        format!("request {}\n\nanswer {answer}", json(&said.request))
    };
    said.iter().map(exchange).collect::<Vec<_>>().join("\n\n")
}

/// A whole file: the scenario that asks for the answer, the step, and the answer.
pub fn whole(source: &str, from: &str, text: &str) -> String {
    let quoted = |text: &str| json(&text.into());
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let source = match source.chars().all(plain) && source.starts_with(char::is_alphanumeric) {
        true => source.to_owned(),
        false => quoted(source),
    };
    format!("{FENCE}\nsource: {source}\ndescription: {}\n{FENCE}\n{text}\n", quoted(from))
}

impl Snap {
    /// Parses the content of a snapshot file.
    ///
    /// # Errors
    ///
    /// The line, counted from 1, and what is wrong there.
    pub fn read(text: &str) -> Result<Self, (usize, String)> {
        let (first, body) = body(text)?;
        let said = exchanges(&body).map_err(|(line, why)| (first + line, why))?;
        Ok(Self { text: body, said })
    }
}

/// What stands below the header of a file, and the line in which it begins, counted from 1.
///
/// # Errors
///
/// The line, counted from 1, and what is wrong there.
pub(super) fn body(text: &str) -> Result<(usize, String), (usize, String)> {
    let text = text.replace("\r\n", "\n");
    let mut lines = text.split('\n');
    if lines.next() != Some(FENCE) {
        return Err((1, format!("expected `{FENCE}`, the beginning of a snapshot")));
    }
    let Some(end) = lines.position(|line| line == FENCE) else {
        return Err((1, format!("expected a second `{FENCE}`, the end of the header")));
    };
    let body = lines.collect::<Vec<_>>().join("\n");
    Ok((end + 3, body.trim_end().to_owned()))
}

/// Reads exchanges; a mistake is told with its line, counted from 0.
fn exchanges(body: &str) -> Result<Vec<Said>, (usize, String)> {
    let mut said: Vec<Said> = Vec::new();
    let mut open = None;
    let mut at = 0;
    for part in body.split("\n\n") {
        let (label, rest) = part.split_once(' ').unwrap_or((part, ""));
        let value = match (label, rest) {
            ("answer", "none") => None,
            ("request" | "answer", json) => {
                let read = serde_json::from_str(json);
                Some(read.map_err(|error| (at + error.line() - 1, no_json(&error)))?)
            }
            _ => {
                let shown: String = label.chars().take(40).collect();
                let what = format!("expected `request` or `answer`, got `{shown}`");
                return Err((at, what));
            }
        };
        match (label, value, open.take()) {
            ("request", Some(request), None) => open = Some(request),
            ("answer", answer, Some(request)) => said.push(Said { request, answer }),
            _ => {
                let what = "expected requests and answers in turn";
                return Err((at, what.into()));
            }
        }
        at += part.split('\n').count() + 1;
    }
    match open {
        None => Ok(said),
        Some(_) => Err((at, "expected the answer to the last request".into())),
    }
}

/// What is wrong with a text that is no JSON; where is told otherwise.
fn no_json(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    format!("not JSON: {what}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said() -> Vec<Said> {
        let long = "x\n\n---\nrequest \u{1b}".repeat(12);
        vec![
            Said {
                request: json!({"payload": {"id": "[id]", "method": "x"}}),
                answer: Some(json!({"payload": {"result": {"text": long, "of": [1.5, null]}}})),
            },
            Said { request: json!({}), answer: None },
        ]
    }

    #[test]
    fn what_is_written_is_read_back() {
        let text = written(&said());
        for source in ["scenarios/scripts/a/b.yaml", "my: file\n---.yaml"] {
            let file = whole(source, "a/b, step 0: \"it\"\n---", &text);
            let snap = Snap::read(&file).unwrap();
            assert_eq!((&snap.said, &snap.text), (&said(), &text), "{file}");
            let snap = Snap::read(&file.replace('\n', "\r\n")).unwrap();
            assert_eq!(snap.text, text);
        }
    }

    #[test]
    fn a_damaged_file_is_told_with_its_line() {
        let file = whole("a", "b", &written(&said()));
        for (broken, line, why) in [
            (String::new(), 1, "expected `---`"),
            (file.replacen("---\nrequest", "request", 1), 1, "a second `---`"),
            (file.replacen("request", "<<<<<<< HEAD\nrequest", 1), 5, "got `<<<<<<<`"),
            (file.replacen("\"method\": ", "", 1), 5, "not JSON"),
            (file.replace("answer none\n", ""), 5, "the last request"),
            (file.replace("request {}\n\n", ""), 5, "in turn"),
        ] {
            let (at, what) = Snap::read(&broken).unwrap_err();
            assert!(what.contains(why), "{what}\n{broken}");
            assert!(at >= line, "{at}\n{broken}");
        }
    }
}
