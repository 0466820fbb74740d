//! Secrets, and every usual spelling of them, out of all that people get to read.
//!
//! What a program was told it may say again in another spelling: a token in a URL is percent-encoded, a
//! password in a `Basic` header is a part of something in base64. So each secret becomes a pattern that
//! takes every character in any of its spellings, mixed as they may be.

use std::fmt::Write as _;

use data_encoding::BASE64_NOPAD;
use mcp_hil_core::wire::to_hex;
use regex::{NoExpand, Regex, RegexBuilder};

/// Fewest characters of base64 that are taken for a part of a secret: fewer may stand in any text.
const SHORTEST_BASE64: usize = 6;

/// Fewest bytes of a secret that is looked for in hexadecimal digits.
const SHORTEST_HEX: usize = 4;

/// Largest pattern, in bytes: enough for secrets of some thousand characters.
const LARGEST_PATTERN: usize = 64 << 20;

/// A secret, and what stands in the transcript where it stood.
#[derive(Debug, Clone)]
pub struct Secret {
    /// What never reaches a file; an empty one is none.
    pub value: String,
    /// The name of its variable, such as `${MCP_HIL_WS_TOKEN}`.
    pub mark: &'static str,
}

/// What hides secrets in texts.
#[derive(Debug, Default)]
pub struct Veil {
    hidden: Vec<Hidden>,
}

#[derive(Debug)]
struct Hidden {
    secret: Secret,
    pattern: Regex,
}

impl Veil {
    /// Hides these secrets.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let mut veil = Self::default();
        secrets.into_iter().for_each(|secret| veil.add(secret));
        veil
    }

    /// Hides one more.
    pub fn add(&mut self, secret: Secret) {
        if secret.value.is_empty() {
            return;
        }
        let pattern = pattern(&secret.value);
        // Of two of which one is a part of the other, the longer one goes first.
        let length = secret.value.len();
        let at = self.hidden.partition_point(|other| other.secret.value.len() >= length);
        self.hidden.insert(at, Hidden { secret, pattern });
    }

    /// Hides one more, in the place of the earlier one with this mark.
    pub fn hide_instead(&mut self, value: &str, mark: &'static str) {
        self.hidden.retain(|hidden| hidden.secret.mark != mark);
        let value = value.to_owned();
        self.add(Secret { value, mark });
    }

    /// Hides a secret no longer.
    pub fn forget(&mut self, value: &str) {
        self.hidden.retain(|hidden| hidden.secret.value != value);
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.hidden.is_empty()
    }

    /// What stands where secrets stood.
    pub fn marks(&self) -> impl Iterator<Item = &'static str> {
        self.hidden.iter().map(|hidden| hidden.secret.mark)
    }

    /// Replaces the secrets in a text; whether there were any.
    pub fn hide(&self, text: &mut String) -> bool {
        let mut changed = false;
        for Hidden { secret, pattern } in &self.hidden {
            if pattern.is_match(text) {
                *text = pattern.replace_all(text, NoExpand(secret.mark)).into_owned();
                changed = true;
            }
        }
        changed
    }
}

/// What finds a secret in all its spellings.
fn pattern(secret: &str) -> Regex {
    let mut any = format!("(?:{})", spelled(secret));
    for form in in_base64(secret.as_bytes()) {
        let _ = write!(any, "|(?:{form})");
    }
    if secret.len() >= SHORTEST_HEX {
        let digits = to_hex(secret.as_bytes());
        let _ = write!(any, "|(?i:{digits})");
    }
    let built =
        RegexBuilder::new(&any).size_limit(LARGEST_PATTERN).dfa_size_limit(LARGEST_PATTERN).build();
    // A secret too long for that is hidden as it is.
    built.unwrap_or_else(|_| Regex::new(&regex::escape(secret)).expect("escaped text"))
}

/// A pattern for each character as it is, percent-encoded, in a form, escaped in JSON or in HTML.
fn spelled(secret: &str) -> String {
    let mut pattern = String::new();
    for c in secret.chars() {
        let plain = match c {
            // JSON in JSON doubles the backslashes.
            '"' | '\'' | '/' => format!(r"\\*{}", regex::escape(&c.to_string())),
            '\\' => r"\\+".to_owned(),
            '\n' => r"\n|\\+n".to_owned(),
            '\r' => r"\r|\\+r".to_owned(),
            '\t' => r"\t|\\+t".to_owned(),
            ' ' => r" |\+".to_owned(),
            c => regex::escape(&c.to_string()),
        };
        let named = match c {
            '"' => "|&quot;",
            '\'' => "|&apos;",
            '&' => "|&amp;",
            '<' => "|&lt;",
            '>' => "|&gt;",
            _ => "",
        };
        let mut utf8 = [0; 4];
        let percent: String = c
            .encode_utf8(&mut utf8)
            .bytes()
            .map(|byte| format!("%(?:25)?{}", hex(&format!("{byte:02x}"))))
            .collect();
        let mut utf16 = [0; 2];
        let escaped: String = c
            .encode_utf16(&mut utf16)
            .iter()
            .map(|unit| format!(r"\\+u{}", hex(&format!("{unit:04x}"))))
            .collect();
        let code = u32::from(c);
        let entity = format!("&#0*{code};|&#[xX]0*{};", hex(&format!("{code:x}")));
        // Named and numbered references come first: `&` alone is the beginning of one.
        let named = named.trim_start_matches('|');
        let named = if named.is_empty() { String::new() } else { format!("{named}|") };
        let _ = write!(pattern, "(?:{named}{entity}|{percent}|{escaped}|{plain})");
    }
    pattern
}

/// Hexadecimal digits in either case.
fn hex(digits: &str) -> String {
    let mut pattern = String::new();
    for digit in digits.chars() {
        let _ = match digit.is_ascii_alphabetic() {
            true => write!(pattern, "[{digit}{}]", digit.to_ascii_uppercase()),
            false => write!(pattern, "{digit}"),
        };
    }
    pattern
}

/// Patterns for the bytes in base64, standard and safe for URLs, with padding or without: alone, or as a
/// part of something that begins one or two bytes before them.
fn in_base64(secret: &[u8]) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3 {
        let mut bytes = vec![0; before];
        bytes.extend(secret);
        let bits = bytes.len() * 8;
        // Characters of which every bit belongs to the secret; those at the edges hold some of it.
        let (from, to) = ((before * 8).div_ceil(6), bits / 6);
        let encoded = BASE64_NOPAD.encode(&bytes);
        if to.saturating_sub(from) < SHORTEST_BASE64 {
            continue;
        }
        let mut form = String::new();
        if from > 0 {
            form.push_str("[A-Za-z0-9+/_-]?");
        }
        for c in encoded[from..to].chars() {
            form.push_str(match c {
                '+' => r"(?:[+-]|%2[bB])",
                '/' => r"(?:\\*/|_|%2[fF])",
                _ => "",
            });
            if c.is_ascii_alphanumeric() {
                form.push(c);
            }
        }
        if bits % 6 != 0 {
            form.push_str("[A-Za-z0-9+/_-]?(?:=|%3[dD]){0,2}");
        }
        forms.push(form);
    }
    forms
}

#[cfg(test)]
mod tests {
    use data_encoding::{BASE64, BASE64URL, BASE64URL_NOPAD};
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    /// A secret with all that encodings change.
    const SECRET: &str = "tök/en+1?&\"<\u{1F600}> 'x'\\~=%";

    fn veiled(secret: &str, text: &str) -> String {
        let veil = Veil::new([Secret { value: secret.to_owned(), mark: "${T}" }]);
        let mut text = text.to_owned();
        veil.hide(&mut text);
        text
    }

    fn percent(text: &str, upper: bool, all: bool) -> String {
        let byte = |byte: u8| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' if !all => {
                char::from(byte).to_string()
            }
            byte if upper => format!("%{byte:02X}"),
            byte => format!("%{byte:02x}"),
        };
        text.bytes().map(byte).collect()
    }

    fn html(text: &str) -> String {
        let pairs =
            [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")];
        let mut text = text.to_owned();
        for (from, to) in pairs {
            text = text.replace(from, to);
        }
        text
    }

    fn escaped(text: &str) -> String {
        let units = text.encode_utf16();
        units.map(|unit| format!("\\u{unit:04X}")).collect()
    }

    fn json(text: &str) -> String {
        let quoted = serde_json::Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    }

    #[rstest]
    #[case::plain(SECRET.to_owned())]
    #[case::percent_upper(percent(SECRET, true, false))]
    #[case::percent_lower(percent(SECRET, false, false))]
    #[case::percent_all(percent(SECRET, true, true))]
    #[case::percent_twice(percent(SECRET, true, false).replace('%', "%25"))]
    #[case::form(percent(SECRET, true, false).replace("%20", "+"))]
    #[case::json(json(SECRET))]
    #[case::json_twice(json(&json(SECRET)))]
    #[case::json_escapes(escaped(SECRET))]
    #[case::json_slash(json(SECRET).replace('/', "\\/"))]
    #[case::html(html(SECRET))]
    #[case::html_in_url(html(&percent(SECRET, true, false)))]
    #[case::base64(BASE64.encode(SECRET.as_bytes()))]
    #[case::base64_bare(BASE64_NOPAD.encode(SECRET.as_bytes()))]
    #[case::base64_url(BASE64URL.encode(SECRET.as_bytes()))]
    #[case::base64_url_bare(BASE64URL_NOPAD.encode(SECRET.as_bytes()))]
    #[case::base64_in_url(percent(&BASE64.encode(SECRET.as_bytes()), true, false))]
    #[case::hex(SECRET.bytes().map(|byte| format!("{byte:02X}")).collect())]
    fn a_secret_is_hidden_in_every_usual_spelling(#[case] spelling: String) {
        for (head, tail) in [("", ""), ("GET /x?token=", "&y=1 HTTP/1.1"), ("{\"t\":\"", "\"}")] {
            let text = veiled(SECRET, &format!("{head}{spelling}{tail}"));
            assert_eq!(text, format!("{head}${{T}}{tail}"), "{spelling}");
        }
    }

    #[test]
    fn a_secret_is_hidden_as_a_part_of_base64() {
        let secret = "quiet-token-of-the-bench";
        for before in ["", "u", "us", "user:", "a:b"] {
            for after in ["", "x", "yz", "tail"] {
                for engine in [&BASE64, &BASE64URL] {
                    let whole = engine.encode(format!("{before}{secret}{after}").as_bytes());
                    let text = veiled(secret, &format!("Basic {whole};"));
                    assert!(text.contains("${T}"), "{before} {after}: {text}");
                    // No more than the edges of it are left.
                    let left = text.replace("${T}", "");
                    let own = BASE64.encode(format!("{before}{after}").as_bytes()).len();
                    assert!(left.len() <= "Basic ;".len() + own + 8, "{left}");
                }
            }
        }
    }

    #[test]
    fn of_two_secrets_the_longer_one_is_hidden_first() {
        let secrets = [("hush", "${SHORT}"), ("hush-hush", "${LONG}"), ("", "${NONE}")];
        let veil = Veil::new(secrets.map(|(value, mark)| Secret { value: value.to_owned(), mark }));
        let mut text = "hush-hush hush".to_owned();
        assert!(veil.hide(&mut text));
        assert_eq!(text, "${LONG} ${SHORT}");
        assert_eq!(veil.marks().count(), 2);
    }

    #[test]
    fn a_secret_that_is_given_up_is_shown() {
        let mut veil = Veil::default();
        veil.hide_instead("first-key", "${KEY}");
        veil.hide_instead("other-key", "${KEY}");
        let mut text = "first-key other-key".to_owned();
        veil.hide(&mut text);
        assert_eq!(text, "first-key ${KEY}");
        veil.forget("other-key");
        assert!(veil.is_empty());
    }

    #[test]
    fn a_very_long_secret_is_hidden() {
        let secret = "0123456789abcdef".repeat(512);
        assert_eq!(veiled(&secret, &format!("<{secret}>")), "<${T}>");
    }

    proptest! {
        #[test]
        fn other_text_stays_as_it_is(text in "[ -~]{0,80}") {
            prop_assume!(!text.contains("zq"));
            prop_assert_eq!(veiled("zq-Zq~zq_zqX", &text), text);
        }

        #[test]
        fn no_secret_survives_an_encoding(secret in "[!-~]{6,40}", head in "[a-z=/?]{0,5}") {
            let spellings = [
                secret.clone(),
                percent(&secret, true, false),
                percent(&secret, false, true),
                json(&secret),
                escaped(&secret),
                html(&secret),
                BASE64.encode(secret.as_bytes()),
                BASE64URL_NOPAD.encode(secret.as_bytes()),
            ];
            for spelling in spellings {
                let text = veiled(&secret, &format!("{head}{spelling}"));
                prop_assert!(!text.contains(&spelling), "{} in {}", spelling, text);
            }
        }
    }
}
