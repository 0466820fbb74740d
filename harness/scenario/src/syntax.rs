//! Mistakes in the YAML of a scenario, in words that help: the parser tells what it expected, and not what was meant.

use mcp_hil_core::problem::Problem;

/// What the parser said, with the place of the mistake and the likely fix.
pub(super) fn problem(file: &str, text: &str, error: &serde_saphyr::Error) -> Problem {
    let error = error.without_snippet();
    let (line, column) = error.location().map_or((0, 0), |at| (at.line(), at.column()));
    // The position has a place of its own; the message's copy of it would only repeat it.
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or(&said).trim_start_matches("error: ").trim();
    let at = |line: u64, column: u64, what: &str| Problem::at(file, line, column, what);
    let here = line_of(text, line);
    if text.trim().is_empty() {
        return at(1, 1, "the file is empty").hint("a scenario has a `title` and `steps`");
    }
    if said.starts_with("tabs disallowed") {
        let tab = here.find('\t').map_or(column, |before| before as u64 + 1);
        return at(line, tab, "a tab in the indentation").hint("YAML is indented with spaces only");
    }
    if let Some((line, column, quote)) = open_quote(text, line).filter(|_| said.contains("quoted"))
    {
        return at(line, column, "the quote that opens here is not closed")
            .hint(format!("close it with `{quote}` in the same line"));
    }
    if let Some(variable) = here.find("${").filter(|_| said.contains("flow")) {
        return at(line, variable as u64 + 1, "a variable without quotes")
            .hint("write variables in quotes: `\"${good.method}\"`");
    }
    if let Some(rest) = said.strip_prefix("duplicate mapping key: ") {
        let name = rest.split(',').next().unwrap_or(rest);
        let hint = match name {
            "expect" => "several expectations are a list: `expect: [{...}, {...}]`".to_owned(),
            _ => "remove one of them".to_owned(),
        };
        return at(line, column, &format!("`{name}` is there twice")).hint(hint);
    }
    if said == "expected mapping start" && line <= 1 && text.trim_start().starts_with('-') {
        return at(line, column, "a list at the top, expected `title` and `steps`")
            .hint("write `title: ...` and `steps:`, and the list below that");
    }
    if said.starts_with("multiple YAML documents") {
        return at(line, column, "a second document begins here")
            .hint("a file has one scenario; put the other one into a file of its own");
    }
    let problem = Problem::at(file, line, column, said);
    match hint(said, here, line, column) {
        Some(hint) => problem.hint(hint),
        None => problem.with_typo_hint(),
    }
}

/// The likely fix for what the parser said.
fn hint(said: &str, here: &str, line: u64, column: u64) -> Option<String> {
    let before = here.get(..(column as usize).saturating_sub(1)).unwrap_or(here);
    Some(match said {
        _ if said.contains("'-' indicator") => {
            "the members of a step stand exactly below each other: wrong indentation".to_owned()
        }
        _ if said.starts_with("mapping values are not allowed") && before.contains(": ") => {
            "put a text that contains `: ` in quotes".to_owned()
        }
        _ if said.starts_with("mapping values are not allowed") => {
            "wrong indentation: members of one mapping begin in the same column".to_owned()
        }
        "expected mapping start" if line <= 1 => {
            "a scenario begins with `title:` and `steps:`".to_owned()
        }
        "expected mapping start" => "write a mapping: `{name: value}`".to_owned(),
        "expected sequence start" if here.trim_start().starts_with('-') => {
            "put a space after `-`".to_owned()
        }
        "expected sequence start" => "this is a list: begin each element with `- `".to_owned(),
        "missing field `steps`" => "add `steps:` and below it a list of steps".to_owned(),
        "missing field `title`" => "add `title:` with a line for people".to_owned(),
        _ if said.starts_with("unknown field `") => {
            let name = said.split('`').nth(1).unwrap_or_default();
            let (word, _) = name.split_once(':')?;
            format!("put a space after the colon: `{word}: ...`")
        }
        _ if said.starts_with("unclosed bracket '{'") => "close it with `}`".to_owned(),
        _ if said.starts_with("unclosed bracket '['") => "close it with `]`".to_owned(),
        _ => return None,
    })
}

fn line_of(text: &str, line: u64) -> &str {
    text.lines().nth((line as usize).saturating_sub(1)).unwrap_or_default()
}

/// The last quote up to a line that opens and is not closed in its line.
fn open_quote(text: &str, line: u64) -> Option<(u64, u64, char)> {
    let lines: Vec<&str> = text.lines().take(line as usize).collect();
    lines.iter().enumerate().rev().find_map(|(number, line)| {
        let mut open: Option<(usize, char)> = None;
        let mut escaped = false;
        for (at, character) in line.char_indices() {
            match (open, character) {
                (None, '\'' | '"') if begins_a_text(&line[..at]) => open = Some((at, character)),
                (Some((_, '"')), '\\') => {
                    escaped = !escaped;
                    continue;
                }
                (Some((_, quote)), _) if quote == character && !escaped => open = None,
                _ => {}
            }
            escaped = false;
        }
        let (at, quote) = open?;
        Some((number as u64 + 1, line[..at].chars().count() as u64 + 1, quote))
    })
}

/// Whether a quote after this begins a quoted text: it does not inside of a word.
fn begins_a_text(before: &str) -> bool {
    before.is_empty() || before.ends_with([' ', '[', '{', ',', ':', '-'])
}
