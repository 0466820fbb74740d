//! What is judged of texts that tools give back.

use rstest::rstest;
use serde_json::json;

use super::play::*;

/// A text is put into an answer; what the tool makes of `said` is judged.
#[rstest]
#[case::escaped(
    r#"{"x":"mcp-hil-from a\"b mcp-hil-to"}"#,
    r#"{"x":"mcp-hil-from N mcp-hil-to"}"#,
    false
)]
#[case::by_hand(
    r#"{"x":"mcp-hil-from a"b mcp-hil-to"}"#,
    r#"{"x":"mcp-hil-from N mcp-hil-to"}"#,
    true
)]
#[case::no_json_at_all(r#"x=mcp-hil-from a"b mcp-hil-to"#, "x=mcp-hil-from N mcp-hil-to", false)]
fn an_answer_that_is_json_for_plain_texts_is_json_for_others(
    #[case] said: &str,
    #[case] plain: &str,
    #[case] accused: bool,
) {
    let mut play = Play::new();
    let texts = [("one", None), ("two", None), ("a\"b", Some(said.to_owned()))];
    for (id, (text, answer)) in (20..).zip(texts) {
        let answer = answer.unwrap_or_else(|| plain.replace('N', text));
        let sent = format!("mcp-hil-from {text} mcp-hil-to");
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": "self.t.show", "arguments": {"text": sent}}});
        let answer = json!({"jsonrpc": "2.0", "id": id,
            "result": {"content": [{"type": "text", "text": answer}], "isError": false}});
        play.play(&[&format!("> {id} {call}"), &format!("< {answer}")]);
    }
    let told: &[&str] = if accused { &["a/a arguments.string-echo"] } else { &[] };
    assert_eq!(play.end(), told);
}

/// Whatever a tool does with a text, how its characters are spelled makes no difference.
#[rstest]
#[case::same("\u{fc}\u{1f600}", "\u{fc}\u{1f600}", &[])]
#[case::pair_lost("\u{fc}\u{1f600}", "\u{fc}?", &["a/a arguments.string-escapes"])]
#[case::never_shown("\u{fc}", "\u{fc}?", &["a/a arguments.string-echo", "a/a arguments.string-echo"])]
fn a_text_with_escapes_is_the_same_text(
    #[case] plain: &str,
    #[case] escaped: &str,
    #[case] broken: &[&str],
) {
    let mut play = Play::new();
    let spelled = ["\u{fc}\u{1f600}", r"\u00fc\ud83d\ude00"];
    for (id, (text, told)) in (20..).zip(spelled.into_iter().zip([plain, escaped])) {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"self.t.show","arguments":{{"text":"mcp-hil-from {text} mcp-hil-to"}}}}}}"#
        );
        let told = format!("mcp-hil-from {told} mcp-hil-to");
        let answer = json!({"jsonrpc": "2.0", "id": id,
            "result": {"content": [{"type": "text", "text": told}], "isError": false}});
        play.play(&[&format!("> {id} {call}"), &format!("< {answer}")]);
    }
    assert_eq!(play.end(), broken);
}
