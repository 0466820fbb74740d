//! What a large message costs. A chip has room for the message itself and little more.
//!
//! One test, for the allocator counts for the whole process.

use std::alloc::System;

use cap::Cap;
use reference_device::{Device, Identity, LARGEST_MESSAGE, Output};

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What the device may take for a message and its answers, in bytes: a page of 8,000, twice in the making.
const ALLOWANCE: usize = 24 << 10;

/// A message of the largest size with `x` somewhere.
fn filled(head: &str, tail: &str) -> String {
    let room = LARGEST_MESSAGE - head.len() - tail.len();
    format!("{head}{}{tail}", "x".repeat(room))
}

#[test]
fn the_largest_messages_are_handled_in_little_memory() {
    let mut device = Device::new(Identity::default());
    device.boot(0);
    device.connected(1);
    device.on_text(r#"{"type":"hello","transport":"websocket","session_id":"s"}"#, 2);
    while device.next_output().is_some() {}

    let mcp = r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":7,"method":"#;
    let escapes = "\\\"".repeat(32_000);
    let messages = [
        (filled(r#"{"type":"mcp-hil","text":""#, r#""}"#), None),
        (filled(r#"{"type":""#, r#""}"#), None),
        (filled("", ""), None),
        (filled(r#"{"type":"hello","transport":"websocket","session_id":""#, r#""}"#), None),
        (filled(&format!("{mcp}\""), r#""}}"#), Some("-32601")),
        (format!(r#"{mcp}"{escapes}"}}}}"#), Some("-32601")),
        (filled(&format!("{mcp}\"ping\",\"params\":{{\""), r#"":1}}}"#), Some("{}")),
        (
            filled(&format!("{mcp}\"tools/call\",\"params\":{{\"name\":\""), r#""}}}"#),
            Some("-32602"),
        ),
        (
            filled(&format!("{mcp}\"tools/list\",\"params\":{{\"cursor\":\""), r#""}}}"#),
            Some("-32602"),
        ),
        (
            filled(
                &format!(
                    "{mcp}\"tools/call\",\"params\":{{\"name\":\"self.screen.show_message\",\
                     \"arguments\":{{\"text\":\""
                ),
                r#""}}}}"#,
            ),
            Some("Argument too long"),
        ),
        (
            filled(
                &format!(
                    "{mcp}\"initialize\",\"params\":{{\"capabilities\":{{\"vision\":{{\"url\":\""
                ),
                r#""}}}}}"#,
            ),
            Some("protocolVersion"),
        ),
        (format!("{mcp}\"ping\",\"params\":{{\"x\":{}", "[".repeat(60_000)), None),
        (format!("{mcp}\"ping\",\"params\":{{\"x\":[{}1]}}}}}}", "1,".repeat(32_000)), Some("{}")),
    ];
    for (message, answer) in messages {
        assert!(message.len() <= LARGEST_MESSAGE, "{}", message.len());
        let used = ALLOCATOR.allocated();
        // Beyond that the process ends.
        ALLOCATOR.set_limit(used + ALLOWANCE).expect("more than is used");
        device.on_text(&message, 3);
        let mut answers = Vec::with_capacity(1);
        while let Some(output) = device.next_output() {
            if let Output::Text(text) = output {
                answers.push(text);
            }
        }
        ALLOCATOR.set_limit(usize::MAX).expect("no limit");
        let found = answers.iter().all(|text| answer.is_some_and(|part| text.contains(part)));
        let (number, start) = (answers.len(), &message[..80.min(message.len())]);
        assert!(found && number == usize::from(answer.is_some()), "{start}: {answers:?}");
        drop(answers);
        let kept = ALLOCATOR.allocated().saturating_sub(used);
        assert!(kept < 4096, "{start}: {kept} bytes are kept");
    }
}
