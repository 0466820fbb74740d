//! How a look around is shown.

use serde::Serialize;

use super::{Item, State};
use mcp_hil_record::error::UserError;
use mcp_hil_record::text::layout::{count, wrap};

/// Columns of a page, of the state and of the name.
const WIDTH: usize = 80;
const STATE: usize = 10;
const NAME: usize = 16;

/// The look around as one line of JSON.
pub(super) fn json(items: &[Item]) -> Result<String, UserError> {
    #[derive(Serialize)]
    struct Looked<'a> {
        items: &'a [Item],
        missing: usize,
    }
    let text = serde_json::to_string(&Looked { items, missing: missing(items) });
    let text = text.map_err(|error| {
        UserError::bench(
            format!("cannot write this as JSON: {error}"),
            "a path is not valid Unicode; leave out `--format json`",
        )
    })?;
    Ok(text + "\n")
}

/// The look around for people. Commands stand on lines of their own, to be copied.
pub(super) fn text(items: &[Item]) -> String {
    let mut text = String::new();
    for item in items {
        let state = match item.state {
            State::Ok => "ok",
            State::Missing => "missing",
            State::Optional => "optional",
        };
        let (mut state, mut name) = (state, item.name);
        for part in wrap(&item.what, WIDTH - STATE - NAME) {
            text.push_str(format!("{state:STATE$}{name:NAME$}{part}").trim_end());
            text.push('\n');
            (state, name) = ("", "");
        }
        if let Some(get) = &item.get {
            text.push_str(&format!("{:STATE$}  {get}\n", ""));
        }
    }
    text.push('\n');
    text.push_str(&match missing(items) {
        0 => "no required package is missing; install the optional ones as needed\n".to_owned(),
        number => {
            format!("{} missing: the line below each one installs it\n", count(number, "thing"))
        }
    });
    text
}

fn missing(items: &[Item]) -> usize {
    items.iter().filter(|item| item.state == State::Missing).count()
}
