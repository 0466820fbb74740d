//! A parser that forgives what cJSON forgives, which stock firmware reads with: raw control characters in
//! strings, zeros before a number, text behind the end; strings end at NUL; the first of two members
//! counts, in whatever case its name is written.

use serde_json::{Map, Number, Value};

use crate::hooks::{Hands, Inbound};
use crate::prelude::*;

/// Deepest nesting that it reads, as cJSON.
const DEPTH: usize = 1_000;

/// The names that the device looks members up by.
const NAMES: [&str; 15] = [
    "type",
    "payload",
    "session_id",
    "jsonrpc",
    "id",
    "method",
    "params",
    "name",
    "arguments",
    "cursor",
    "withUserTools",
    "capabilities",
    "vision",
    "url",
    "token",
];

/// Gives the device a text as cJSON understands it. What that does not understand either stays as it is.
pub(super) fn read(inbound: &mut Inbound, hands: &Hands) {
    let properties = hands.device.registry().tools();
    let names = properties.flat_map(|tool| tool.properties.iter().map(|property| property.name));
    let names: Vec<&str> = NAMES.into_iter().chain(names).collect();
    let mut parser = Parser { rest: inbound.text.as_bytes(), names: &names, is_odd: false };
    let Some(value) = parser.value(0) else {
        return;
    };
    // A good message keeps its spelling.
    if parser.is_odd || !parser.rest.is_empty() {
        inbound.text = value.to_string();
    }
}

struct Parser<'a> {
    rest: &'a [u8],
    names: &'a [&'a str],
    /// Something was forgiven.
    is_odd: bool,
}

impl Parser<'_> {
    fn blanks(&mut self) {
        while let [first, rest @ ..] = self.rest
            && *first <= b' '
        {
            self.is_odd |= !b" \t\r\n".contains(first);
            self.rest = rest;
        }
    }

    fn take(&mut self, text: &[u8]) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.blanks();
        match self.rest.first()? {
            _ if self.take(b"null") => Some(Value::Null),
            _ if self.take(b"true") => Some(Value::Bool(true)),
            _ if self.take(b"false") => Some(Value::Bool(false)),
            b'"' => self.string().map(Value::String),
            b'-' | b'0'..=b'9' => self.number(),
            b'[' if depth < DEPTH => self.array(depth),
            b'{' if depth < DEPTH => self.object(depth),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<Value> {
        let end = |byte: &u8| !b"0123456789+-eE.".contains(byte);
        let end = self.rest.iter().position(end).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at(end);
        let text = core::str::from_utf8(text).ok()?;
        self.rest = rest;
        if let Ok(number) = serde_json::from_str::<Number>(text) {
            return Some(Value::Number(number));
        }
        self.is_odd = true;
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", text),
        };
        let digits = digits.trim_start_matches('0');
        let whole = match digits.starts_with(|first: char| first.is_ascii_digit()) {
            true => format!("{sign}{digits}"),
            false => format!("{sign}0{digits}"),
        };
        serde_json::from_str(&whole).ok().map(Value::Number)
    }

    fn string(&mut self) -> Option<String> {
        self.rest = self.rest.strip_prefix(b"\"")?;
        let mut bytes = Vec::new();
        loop {
            let [first, rest @ ..] = self.rest else {
                return None;
            };
            self.rest = rest;
            match first {
                b'"' => break,
                b'\\' => self.escape(&mut bytes)?,
                byte => {
                    self.is_odd |= *byte < b' ';
                    bytes.push(*byte);
                }
            }
        }
        if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
            self.is_odd = true;
            bytes.truncate(end);
        }
        String::from_utf8(bytes).ok()
    }

    fn escape(&mut self, bytes: &mut Vec<u8>) -> Option<()> {
        let [first, rest @ ..] = self.rest else {
            return None;
        };
        self.rest = rest;
        bytes.push(match first {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'"' | b'\\' | b'/' => *first,
            b'u' => {
                let mut code = self.hex()?;
                if (0xd800..0xdc00).contains(&code) && self.take(b"\\u") {
                    let low = self.hex()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                    code = 0x10000 + ((code - 0xd800) << 10) + low;
                }
                // Alone, half a pair is refused.
                let character = char::from_u32(code)?;
                bytes.extend(character.encode_utf8(&mut [0; 4]).bytes());
                return Some(());
            }
            _ => return None,
        });
        Some(())
    }

    fn hex(&mut self) -> Option<u32> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        let digits = core::str::from_utf8(digits).ok()?;
        u32::from_str_radix(digits, 16).ok()
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.rest = self.rest.strip_prefix(b"[")?;
        let mut items = Vec::new();
        self.blanks();
        if self.take(b"]") {
            return Some(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.take(b"]") {
                return Some(Value::Array(items));
            }
            if !self.take(b",") {
                return None;
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.rest = self.rest.strip_prefix(b"{")?;
        let mut members = Map::new();
        self.blanks();
        if self.take(b"}") {
            return Some(Value::Object(members));
        }
        loop {
            self.blanks();
            let name = self.string()?;
            self.blanks();
            if !self.take(b":") {
                return None;
            }
            let value = self.value(depth + 1)?;
            let meant = |known: &&&str| known.eq_ignore_ascii_case(&name);
            let known = self.names.iter().find(meant).map(|known| (*known).to_string());
            self.is_odd |= known.as_ref().is_some_and(|known| *known != name);
            let name = known.unwrap_or(name);
            self.is_odd |= members.contains_key(&name);
            members.entry(name).or_insert(value);
            self.blanks();
            if self.take(b"}") {
                return Some(Value::Object(members));
            }
            if !self.take(b",") {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<(String, bool)> {
        let mut parser = Parser { rest: text.as_bytes(), names: &NAMES, is_odd: false };
        let value = parser.value(0)?;
        let is_odd = parser.is_odd || !parser.rest.is_empty();
        Some((value.to_string(), is_odd))
    }

    #[test]
    fn good_text_is_read_as_it_stands() {
        let text = r#"{"id":1758893424665,"a":[1.5,-0.0,"\u00e9\n",true,null,{}]}"#;
        let (_, is_odd) = parsed(text).expect("it reads");
        assert!(!is_odd);
    }

    #[test]
    fn what_cjson_forgives_is_forgiven() {
        let cases = [
            ("{\"a\":\"x\ny\"}", r#"{"a":"x\ny"}"#),
            (r#"{"a":"x\u0000y"}"#, r#"{"a":"x"}"#),
            (r#"{"ID":7,"id":8}"#, r#"{"id":7}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":1}"#),
            (r#"{"id":007}"#, r#"{"id":7}"#),
            (r#"{"id":-00}"#, r#"{"id":-0}"#),
            (r#"{"id":7} and more"#, r#"{"id":7}"#),
        ];
        for (text, meant) in cases {
            let (read, is_odd) = parsed(text).unwrap_or_else(|| panic!("{text}"));
            assert!(is_odd, "{text}");
            let same: Value = serde_json::from_str(meant).expect("it is JSON");
            assert_eq!(read, same.to_string(), "{text}");
        }
        for text in ["", "{", "{\"a\"}", "[1,]", r#""\ud800""#, r#""\x""#, "nul"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
