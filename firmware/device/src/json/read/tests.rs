//! Tests of the JSON reader.

use super::*;
use alloc::format;
use alloc::vec::Vec;
use rstest::rstest;

/// The tree that `value` stands for, built from what is read in place.
fn tree(value: Value<'_>) -> serde_json::Value {
    use serde_json::Value as Tree;
    if let Some(object) = value.as_object() {
        let members = object.members();
        let members = members.map(|(name, value)| (name.shortened(1 << 20), tree(value)));
        return Tree::Object(members.collect());
    }
    if value.is_array() {
        // The device never looks into an array.
        return serde_json::from_str(value.0).expect("an array");
    }
    if let Some(text) = value.as_text() {
        let copy = text.copy(1 << 20).expect("a copy");
        assert_eq!((copy.len(), &*copy), (text.len(), &*text.shortened(1 << 20)));
        return Tree::String(copy);
    }
    match (value.as_bool(), value.as_number()) {
        (Some(flag), None) => Tree::Bool(flag),
        (None, Some(number)) => Tree::Number(number),
        (None, None) if value.is_null() => Tree::Null,
        other => panic!("{value:?}: {other:?}"),
    }
}

fn compare(text: &str) -> bool {
    let ours = Value::read(text).map(tree);
    let theirs = serde_json::from_str::<serde_json::Value>(text).ok();
    assert_eq!(ours, theirs, "{text:?}");
    theirs.is_some()
}

#[rstest]
#[case("", false)]
#[case(" \t\r\n{ \"a\" : [ 1 , { } , [ ] ] , \"a\" : -0.5e+3 } ", true)]
#[case(r#"{"a":1,}"#, false)]
#[case(r#"{,}"#, false)]
#[case(r#"{"a" 1}"#, false)]
#[case(r#"{"a":1"b":2}"#, false)]
#[case("[1,]", false)]
#[case("[1}", false)]
#[case("[] []", false)]
#[case("01", false)]
#[case("-", false)]
#[case("1.", false)]
#[case("1e", false)]
#[case("1e308", true)]
#[case("1e309", false)]
#[case("-0", true)]
#[case("18446744073709551616", true)]
#[case("tru", false)]
#[case("truex", false)]
#[case(r#""\u00e9\ud83d\ude00\/\b\f\n\r\t\"\\""#, true)]
#[case(r#""\ud83d""#, false)]
#[case(r#""\ude00""#, false)]
#[case(r#""\ud83d\u0041""#, false)]
#[case(r#""\ud83dx""#, false)]
#[case(r#""\u12""#, false)]
#[case(r#""\u+123""#, false)]
#[case(r#""\x""#, false)]
#[case("\"\u{1}\"", false)]
#[case("\"", false)]
#[case("\u{feff}{}", false)]
fn what_is_json_is_no_matter_of_opinion(#[case] text: &str, #[case] is_json: bool) {
    assert_eq!(compare(text), is_json);
}

#[test]
fn nesting_has_a_limit_that_costs_nothing() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let nested = |depth| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(compare(&nested(DEEPEST as usize)));
        assert!(!compare(&nested(DEEPEST as usize + 1)));
    }
    assert_eq!(Value::read(&"[".repeat(1_000_000)), None);
    assert_eq!(Value::read(&r#"{"a":"#.repeat(1_000_000)), None);
}

#[test]
fn long_numbers_are_numbers_while_a_double_holds_them() {
    assert!(compare(&"9".repeat(308)));
    assert!(!compare(&"9".repeat(1_000)));
    assert!(compare(&format!("3.{}", "1".repeat(60_000))));
}

/// Pieces that fit together often enough, strung together by chance.
#[test]
fn generated_texts_are_read_as_serde_json_reads_them() {
    const PIECES: [&str; 34] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"id\":",
        "{\"a\":",
        "\"\\u0069d\":1",
        "1",
        "-",
        "0",
        ".5",
        "e9",
        "E-2",
        "1e999",
        "true",
        "false",
        "null",
        "\\",
        "\\u00e9",
        "\\ud83d",
        "\\ude00",
        " ",
        "\n",
        "\u{1}",
        "\u{e9}",
        "\u{1f600}",
        "\"b\\n\"",
        "[1,2]",
        "{\"x\":[]}",
        ",\"k\":",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    let mut accepted = 0;
    for _ in 0..200_000 {
        let pieces: Vec<&str> = (0..draw(9)).map(|_| PIECES[draw(PIECES.len())]).collect();
        accepted += usize::from(compare(&pieces.concat()));
    }
    // A good message with one byte changed, taken out, or put in.
    let good = r#"{"session_id":"s\"1","type":"mcp","payload":{"jsonrpc":"2.0","id":-1.5e3,"method":"tools/call","params":{"name":"\u0061","arguments":{"x":[null,true,{"y":[]}],"x":2}}}}"#;
    for _ in 0..100_000 {
        let mut text = good.as_bytes().to_vec();
        let at = draw(text.len());
        let byte = b" \"\\{}[],:01e.-aut\n"[draw(18)];
        match draw(3) {
            0 => text[at] = byte,
            1 => drop(text.remove(at)),
            _ => text.insert(at, byte),
        }
        accepted += usize::from(compare(str::from_utf8(&text).expect("ASCII")));
    }
    assert!(accepted > 10_000, "{accepted}");
}

#[test]
fn names_and_texts_are_compared_without_their_escapes() {
    let text = r#"{"\u006dethod":"p\u0069ng","method":"p\u006fng","other":"a\nb"}"#;
    let object = Value::read(text).and_then(Value::as_object).expect("one");
    let [method, none] = object.pick(["method", "none"]);
    let method = method.and_then(Value::as_text).expect("a text");
    assert!(method == *"pong" && method != *"pon" && method != *"ponge");
    assert!(method.starts_with("po") && !method.starts_with("pongs"));
    assert_eq!(none, None);
    let other = object.text("other").expect("a text");
    assert_eq!(other.copy(3).as_deref(), Some("a\nb"));
    assert_eq!((other.copy(2), other.len()), (None, 3));
    assert_eq!(other.shortened(2), "a\n...");
}
