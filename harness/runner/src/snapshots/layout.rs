//! JSON for people: what fits in a line stands in one, the rest has a line for each member.
//!
//! It stays JSON: read again, it is the same value. What would not show itself, or move a cursor, is
//! written as `\u....`.

use serde_json::Value;

/// Longest line, indentation included. A single string may be longer.
const WIDTH: usize = 100;

/// Lays a value out.
pub fn json(value: &Value) -> String {
    let mut text = String::new();
    put(value, 0, 0, &mut text);
    text
}

/// Writes a value that begins in a line with `taken` characters, of which `indent` are blanks.
fn put(value: &Value, indent: usize, taken: usize, text: &mut String) {
    let flat = flat(value);
    if taken + flat.chars().count() < WIDTH {
        text.push_str(&flat);
        return;
    }
    match value {
        Value::Object(members) => {
            let members =
                members.iter().map(|(name, value)| (format!("{}: ", flat_text(name)), value));
            put_all('{', members, '}', indent, text);
        }
        Value::Array(items) => {
            put_all('[', items.iter().map(|item| (String::new(), item)), ']', indent, text)
        }
        _ => text.push_str(&flat),
    }
}

fn put_all<'a>(
    open: char,
    rows: impl ExactSizeIterator<Item = (String, &'a Value)>,
    close: char,
    indent: usize,
    text: &mut String,
) {
    let (inner, last) = (indent + 2, rows.len().saturating_sub(1));
    text.push(open);
    for (at, (label, value)) in rows.enumerate() {
        text.push('\n');
        text.push_str(&" ".repeat(inner));
        text.push_str(&label);
        put(value, inner, inner + label.chars().count(), text);
        if at < last {
            text.push(',');
        }
    }
    text.push('\n');
    text.push_str(&" ".repeat(indent));
    text.push(close);
}

/// A value in one line, with a blank after colons and commas.
fn flat(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}: {}", flat_text(name), flat(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flat).collect::<Vec<_>>().join(", "))
        }
        other => shown(other.to_string()),
    }
}

fn flat_text(text: &str) -> String {
    shown(Value::from(text).to_string())
}

/// Escapes characters that JSON allows in strings and people do not see.
fn shown(json: String) -> String {
    let unseen = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{feff}')
            || ('\u{200b}'..='\u{200f}').contains(&c)
            || ('\u{2028}'..='\u{202e}').contains(&c)
            || ('\u{2060}'..='\u{2069}').contains(&c)
    };
    if !json.chars().any(unseen) {
        return json;
    }
    json.chars().fold(String::new(), |mut text, c| {
        match unseen(c) {
            // All of them are below U+FFFF.
            true => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => text.push(c),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_values_take_one_line_and_long_ones_many() {
        let long = "x".repeat(90);
        let value = serde_json::json!({"a": [1, {"b": null}], "c": {"d": long, "e": []}});
        assert_eq!(
            json(&value),
            format!(
                "{{\n  \"a\": [1, {{\"b\": null}}],\n  \"c\": {{\n    \"d\": \"{long}\",\n    \"e\": []\n  }}\n}}"
            )
        );
    }

    #[test]
    fn what_would_not_show_itself_is_escaped_and_read_again_the_same() {
        let value = Value::from("a\u{1b}[31m\u{202e}\u{9b}\u{2028}\u{feff}é");
        let text = json(&value);
        assert_eq!(text, "\"a\\u001b[31m\\u202e\\u009b\\u2028\\ufeffé\"");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
