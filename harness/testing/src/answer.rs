//! What a device said to a message, and what a test expected of it.

use std::fmt;

use serde_json::Value;

use super::undone;

/// Characters of a value that a failure shows.
const LONGEST: usize = 400;

/// What came of a message.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The step in the transcript.
    pub(super) step: String,
    /// What was asked, in words.
    pub(super) asked: String,
    /// `result` or `error`, and for tools the `text` and the `json` in it; none where no answer came.
    pub(super) view: Option<Value>,
    /// Why none came.
    pub(super) why: String,
    /// What was on the console last, where none came.
    pub(super) console: Vec<String>,
}

/// The answer is another one than a test expected.
#[derive(Clone, PartialEq, thiserror::Error)]
#[error(
    "{asked}\n\n  expected {expected}\n  got      {got}{}\n\nhint: {hint}",
    undone::shown(console)
)]
pub struct Unexpected {
    /// What was asked, in words.
    pub asked: String,
    /// What was expected.
    pub expected: &'static str,
    /// What came.
    pub got: Box<Got>,
    /// What was on the console last, where no answer came.
    pub console: Vec<String>,
    hint: String,
}

// What `unwrap` shows is for people.
impl fmt::Debug for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What came in place of what was expected.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Got {
    /// No answer.
    #[error("no answer: {0}")]
    Nothing(String),
    /// A JSON-RPC error.
    #[error("the error {}", shown(.0))]
    Error(Value),
    /// A result with `isError` true.
    #[error("a tool failure: {}", shown(.0))]
    ToolError(Value),
    /// A result.
    #[error("the result {}", shown(.0))]
    Result(Value),
    /// An answer where none was expected, or one with neither result nor error.
    #[error("an answer: {}", shown(.0))]
    Answer(Value),
}

impl Answer {
    /// The result, when it is one and no failure of a tool.
    ///
    /// # Errors
    ///
    /// No answer, an error, `isError` true.
    pub fn result(&self) -> Result<&Value, Unexpected> {
        let expected = "a result";
        match self.outcome() {
            Ok(result) if result.get("isError") != Some(&Value::Bool(true)) => Ok(result),
            Ok(result) => Err(self.unexpected(expected, Got::ToolError(result.clone()))),
            Err(got) => Err(self.unexpected(expected, got)),
        }
    }

    /// The text of a tool's result.
    ///
    /// # Errors
    ///
    /// No result, or one without a text.
    pub fn text(&self) -> Result<&str, Unexpected> {
        let result = self.result()?;
        let text = self.view.as_ref().and_then(|view| view.get("text"));
        text.and_then(Value::as_str)
            .ok_or_else(|| self.unexpected("a result with a text", Got::Result(result.clone())))
    }

    /// The text of a tool's result, read as JSON.
    ///
    /// # Errors
    ///
    /// No result, or one whose text is no JSON.
    pub fn json(&self) -> Result<Value, Unexpected> {
        let text = self.text()?;
        serde_json::from_str(text)
            .map_err(|_| self.unexpected("a result with JSON text", Got::Result(text.into())))
    }

    /// The refusal: an error of JSON-RPC, or the result of a tool that failed.
    ///
    /// # Errors
    ///
    /// No answer, or a result that is no failure.
    pub fn error(&self) -> Result<&Value, Unexpected> {
        let expected = "an error, or a result with `isError` true";
        let error = self.view.as_ref().and_then(|view| view.get("error"));
        match (error, self.outcome()) {
            (Some(error), _) => Ok(error),
            (None, Ok(result)) if result.get("isError") == Some(&Value::Bool(true)) => Ok(result),
            (None, Ok(result)) => Err(self.unexpected(expected, Got::Result(result.clone()))),
            (None, Err(got)) => Err(self.unexpected(expected, got)),
        }
    }

    /// That no answer came.
    ///
    /// # Errors
    ///
    /// One came.
    pub fn silence(&self) -> Result<(), Unexpected> {
        match &self.view {
            None => Ok(()),
            Some(view) => Err(self.unexpected("no answer", Got::Answer(view.clone()))),
        }
    }

    /// As [`Answer::result`].
    ///
    /// # Panics
    ///
    /// Where that is an error.
    #[track_caller]
    pub fn expect_result(&self) -> &Value {
        match self.result() {
            Ok(result) => result,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`Answer::text`].
    ///
    /// # Panics
    ///
    /// Where that is an error.
    #[track_caller]
    pub fn expect_text(&self) -> &str {
        match self.text() {
            Ok(text) => text,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`Answer::json`].
    ///
    /// # Panics
    ///
    /// Where that is an error.
    #[track_caller]
    pub fn expect_json(&self) -> Value {
        match self.json() {
            Ok(json) => json,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`Answer::error`].
    ///
    /// # Panics
    ///
    /// Where that is an error.
    #[track_caller]
    pub fn expect_error(&self) -> &Value {
        match self.error() {
            Ok(refusal) => refusal,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`Answer::silence`].
    ///
    /// # Panics
    ///
    /// Where that is an error.
    #[track_caller]
    pub fn expect_silence(&self) {
        if let Err(error) = self.silence() {
            panic!("{error}");
        }
    }

    fn outcome(&self) -> Result<&Value, Got> {
        let Some(view) = &self.view else {
            return Err(Got::Nothing(self.why.clone()));
        };
        match (view.get("result"), view.get("error")) {
            (_, Some(error)) => Err(Got::Error(error.clone())),
            (Some(result), None) => Ok(result),
            (None, None) => Err(Got::Answer(view.clone())),
        }
    }

    fn unexpected(&self, expected: &'static str, got: Got) -> Unexpected {
        Unexpected {
            asked: self.asked.clone(),
            expected,
            got: Box::new(got),
            console: self.console.clone(),
            hint: format!(
                "step {} of the transcript; the end of the test names the run's folder",
                self.step
            ),
        }
    }
}

/// A value, cut where it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(view: Option<Value>) -> Answer {
        Answer {
            step: "3".into(),
            asked: "`tools/call` of `self.x`".into(),
            view,
            why: "the device answers other requests, but not this one".into(),
            console: vec!["I (9) app: busy".into()],
        }
    }

    #[test]
    fn each_kind_of_answer_is_what_it_is() {
        let result = json!({"content": [{"type": "text", "text": "{\"a\":1}"}], "isError": false});
        let good = answer(Some(json!({"result": result, "text": "{\"a\":1}"})));
        assert_eq!(good.result(), Ok(&result));
        assert_eq!(good.json(), Ok(json!({"a": 1})));
        assert!(good.error().is_err() && good.silence().is_err());

        let failed = json!({"content": [], "isError": true});
        let tool = answer(Some(json!({"result": failed})));
        assert_eq!(tool.error(), Ok(&failed));
        assert_eq!(*tool.result().unwrap_err().got, Got::ToolError(failed));

        let refused = answer(Some(json!({"error": {"code": -32602}})));
        assert_eq!(refused.error(), Ok(&json!({"code": -32602})));
        assert!(matches!(*refused.text().unwrap_err().got, Got::Error(_)));

        let none = answer(None);
        assert_eq!(none.silence(), Ok(()));
        let text = none.result().unwrap_err().to_string();
        assert!(
            text.contains("`self.x`")
                && text.contains("got      no answer: the device")
                && text.contains("its console ended with:\n  I (9) app: busy"),
            "{text}"
        );
    }

    #[test]
    fn a_text_that_is_no_json_is_shown() {
        let plain = answer(Some(json!({"result": {"content": []}, "text": "true!"})));
        let text = plain.json().unwrap_err().to_string();
        assert!(text.contains("expected a result with JSON text"), "{text}");
        assert!(text.contains("true!"), "{text}");
    }
}
