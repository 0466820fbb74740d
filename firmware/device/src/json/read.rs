//! Reading JSON in place (RFC 8259). A text is checked as a whole, with neither recursion nor memory of
//! its own; after that every part of it is a slice of the message. Nothing here allocates unless a
//! caller asks for a copy and says how long it may be.
//!
//! What is accepted is what `serde_json` accepts for a `Value`: lone surrogates, control characters in
//! strings, numbers beyond a double and deep nesting make the whole text invalid, and the last of
//! several members with one name counts. A test below compares the two on generated texts.

use alloc::string::String;
use core::str;

use serde_json::Number;

/// Deepest nesting of arrays and objects in a message, as `serde_json` has it. The open brackets of
/// that many levels are the bits of one number.
const DEEPEST: u32 = 127;

/// Longest number that surely fits a double when it has no exponent, in bytes.
const SURE_NUMBER: usize = 300;

/// One JSON value inside a text that has been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Value<'a>(&'a str);

/// A JSON object inside a text that has been checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object<'a>(&'a str);

/// A JSON string as it is spelled between its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a>(&'a str);

impl<'a> Value<'a> {
    /// Checks a text that is one value, with white space around it.
    pub(crate) fn read(text: &'a str) -> Option<Value<'a>> {
        let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
        scanner.space();
        let begin = scanner.at;
        scanner.check_value()?;
        let end = scanner.at;
        scanner.space();
        (scanner.at == text.len()).then(|| Value(&text[begin..end]))
    }

    /// The value, if it is an object.
    pub(crate) fn as_object(self) -> Option<Object<'a>> {
        self.0.starts_with('{').then_some(Object(self.0))
    }

    /// The value, if it is a string.
    pub(crate) fn as_text(self) -> Option<Text<'a>> {
        let spelled = self.0.strip_prefix('"')?.strip_suffix('"')?;
        Some(Text(spelled))
    }

    /// The value, if it is true or false.
    pub(crate) fn as_bool(self) -> Option<bool> {
        match self.0 {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The value, if it is a number.
    pub(crate) fn as_number(self) -> Option<Number> {
        let first = self.0.as_bytes()[0];
        let is_number = first == b'-' || first.is_ascii_digit();
        is_number.then(|| serde_json::from_str(self.0).ok())?
    }

    /// The value, if it is a whole number that 64 bits hold.
    pub(crate) fn as_u64(self) -> Option<u64> {
        self.as_number()?.as_u64()
    }

    /// The value, if it is a whole number that 64 bits hold with its sign.
    pub(crate) fn as_i64(self) -> Option<i64> {
        self.as_number()?.as_i64()
    }

    /// Whether the value is an array.
    pub(crate) fn is_array(self) -> bool {
        self.0.starts_with('[')
    }

    /// Whether the value is null.
    pub(crate) fn is_null(self) -> bool {
        self.0 == "null"
    }
}

impl<'a> Object<'a> {
    /// The members with these names, in one pass; of several with one name the last.
    pub(crate) fn pick<const N: usize>(self, names: [&str; N]) -> [Option<Value<'a>>; N] {
        let mut found = [None; N];
        for (name, value) in self.members() {
            if let Some(index) = names.iter().position(|wanted| name == **wanted) {
                found[index] = Some(value);
            }
        }
        found
    }

    /// The member with this name; of several the last.
    pub(crate) fn get(self, name: &str) -> Option<Value<'a>> {
        let [found] = self.pick([name]);
        found
    }

    /// The member with this name, if it is a string.
    pub(crate) fn text(self, name: &str) -> Option<Text<'a>> {
        self.get(name)?.as_text()
    }

    /// The member with this name, if it is an object.
    pub(crate) fn object(self, name: &str) -> Option<Object<'a>> {
        self.get(name)?.as_object()
    }

    /// All members, in order.
    pub(crate) fn members(self) -> impl Iterator<Item = (Text<'a>, Value<'a>)> {
        let text = self.0;
        let mut scanner = Scanner { bytes: text.as_bytes(), at: 1 };
        core::iter::from_fn(move || {
            scanner.space();
            // A comma stands before every member but the first.
            if scanner.eat(b',') {
                scanner.space();
            }
            let begin = scanner.at;
            // The closing bracket is no string.
            scanner.string()?;
            let name = Value(&text[begin..scanner.at]).as_text()?;
            scanner.colon()?;
            let begin = scanner.at;
            scanner.skip_value()?;
            Some((name, Value(&text[begin..scanner.at])))
        })
    }
}

impl<'a> Text<'a> {
    /// Its characters, without escapes.
    pub(crate) fn chars(self) -> impl Iterator<Item = char> + use<'a> {
        let mut rest = self.0.chars();
        core::iter::from_fn(move || match rest.next()? {
            '\\' => unescaped(&mut rest),
            other => Some(other),
        })
    }

    /// Length in bytes, without escapes.
    pub(crate) fn len(self) -> usize {
        self.chars().map(char::len_utf8).sum()
    }

    /// Whether it begins with `start`.
    pub(crate) fn starts_with(self, start: &str) -> bool {
        let mut chars = self.chars();
        start.chars().all(|wanted| chars.next() == Some(wanted))
    }

    /// A copy, if it has at most so many bytes and there is memory for it.
    pub(crate) fn copy(self, most: usize) -> Option<String> {
        let length = self.len();
        let mut out = String::new();
        if length > most || out.try_reserve_exact(length).is_err() {
            return None;
        }
        out.extend(self.chars());
        Some(out)
    }

    /// A copy for a person: beyond so many bytes it ends with dots.
    pub(crate) fn shortened(self, most: usize) -> String {
        let mut out = String::new();
        for character in self.chars() {
            if out.len() + character.len_utf8() > most {
                out.push_str("...");
                break;
            }
            out.push(character);
        }
        out
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.chars().eq(other.chars())
    }
}

/// The character behind a backslash in a string that has been checked.
fn unescaped(rest: &mut str::Chars<'_>) -> Option<char> {
    Some(match rest.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let first = unit(rest)?;
            if !is_high(first) {
                return char::from_u32(first);
            }
            // The other half follows with its own escape.
            rest.nth(1)?;
            return char::from_u32(joined(first, unit(rest)?));
        }
        other => other,
    })
}

fn unit(digits: &mut str::Chars<'_>) -> Option<u32> {
    (0..4).try_fold(0, |unit, _| Some(unit << 4 | digits.next()?.to_digit(16)?))
}

fn is_high(unit: u32) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u32) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

/// The character beyond the basic plane that two units stand for.
fn joined(high: u32, low: u32) -> u32 {
    0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)
}

/// A place in a text.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The brackets that are open.
#[derive(Default)]
struct Open {
    /// One bit for each, the innermost being the lowest: 1 for an object.
    kinds: u128,
    depth: u32,
}

impl Open {
    fn push(&mut self, is_object: bool) -> Option<()> {
        self.kinds = self.kinds << 1 | u128::from(is_object);
        self.depth += 1;
        (self.depth <= DEEPEST).then_some(())
    }

    fn pop(&mut self) {
        self.kinds >>= 1;
        self.depth -= 1;
    }

    fn in_object(&self) -> bool {
        self.kinds & 1 == 1
    }
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn need(&mut self, byte: u8) -> Option<()> {
        self.eat(byte).then_some(())
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn colon(&mut self) -> Option<()> {
        self.space();
        self.need(b':')?;
        self.space();
        Some(())
    }

    /// The name of a member and the colon behind it.
    fn name(&mut self) -> Option<()> {
        self.space();
        self.string()?;
        self.colon()
    }

    /// Passes a value of any kind, checking all of it.
    fn check_value(&mut self) -> Option<()> {
        let mut open = Open::default();
        loop {
            self.space();
            let mut is_complete = true;
            match self.peek()? {
                b'{' => {
                    self.at += 1;
                    open.push(true)?;
                    self.space();
                    is_complete = self.eat(b'}');
                    match is_complete {
                        true => open.pop(),
                        false => self.name()?,
                    }
                }
                b'[' => {
                    self.at += 1;
                    open.push(false)?;
                    self.space();
                    is_complete = self.eat(b']');
                    if is_complete {
                        open.pop();
                    }
                }
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.word(b"true")?,
                b'f' => self.word(b"false")?,
                b'n' => self.word(b"null")?,
                _ => return None,
            }
            if is_complete && self.behind_value(&mut open)? {
                return Some(());
            }
        }
    }

    /// Passes what follows a value up to the next one. True when there is none.
    fn behind_value(&mut self, open: &mut Open) -> Option<bool> {
        while open.depth > 0 {
            self.space();
            let in_object = open.in_object();
            if self.eat(b',') {
                if in_object {
                    self.name()?;
                }
                return Some(false);
            }
            self.need(if in_object { b'}' } else { b']' })?;
            open.pop();
        }
        Some(true)
    }

    /// Passes a value in a text that has been checked.
    fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0_u32;
        loop {
            match self.peek()? {
                b'"' => self.string()?,
                b'{' | b'[' => {
                    self.at += 1;
                    depth += 1;
                    continue;
                }
                b'}' | b']' => {
                    self.at += 1;
                    depth -= 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                    self.at += 1;
                    continue;
                }
                // A number or a word.
                _ => {
                    while !matches!(
                        self.peek(),
                        None | Some(b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')
                    ) {
                        self.at += 1;
                    }
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        let is_there = self.bytes[self.at..].starts_with(word);
        self.at += word.len();
        is_there.then_some(())
    }

    fn string(&mut self) -> Option<()> {
        self.need(b'"')?;
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let byte = self.peek()?;
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let first = self.unit()?;
                if is_high(first) {
                    self.need(b'\\')?;
                    self.need(b'u')?;
                    return is_low(self.unit()?).then_some(());
                }
                (!is_low(first)).then_some(())
            }
            _ => None,
        }
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | char::from(*digit).to_digit(16)?))
    }

    fn digits(&mut self) -> Option<()> {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > begin).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        let begin = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        let has_exponent = self.eat(b'e') || self.eat(b'E');
        if has_exponent {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        let spelled = &self.bytes[begin..self.at];
        if has_exponent || spelled.len() > SURE_NUMBER {
            // What is beyond a double has no value that could be compared with anything.
            serde_json::from_slice::<Number>(spelled).ok()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
