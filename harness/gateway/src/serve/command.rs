//! What a person types: commands for the device that came last.

use serde_json::{Map, Value, json};

/// What to send to the device.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Command {
    /// A tool call, as the parameters of `tools/call`.
    Call(Value),
    /// List the tools again.
    Tools,
    /// A JSON-RPC message, as it is.
    Payload(Map<String, Value>),
    /// A message with a type of its own, as it is.
    Envelope(Map<String, Value>),
}

impl Command {
    /// Reads a line; `None` when it is empty.
    ///
    /// # Errors
    ///
    /// What cannot be understood, in words for whoever typed it.
    pub(super) fn read(line: &str) -> Result<Option<Self>, String> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        Ok(Some(match word {
            "" => return Ok(None),
            "tools" if rest.is_empty() => Self::Tools,
            "call" => call(rest.trim())?,
            _ if line.starts_with('{') => {
                let message = object(line)?;
                match message.get("type").and_then(Value::as_str) {
                    Some(_) => Self::Envelope(message),
                    None => Self::Payload(message),
                }
            }
            _ => {
                return Err(format!(
                    "`{line}`: expected `call <tool> {{arguments}}`, `tools` or a JSON object"
                ));
            }
        }))
    }
}

fn call(rest: &str) -> Result<Command, String> {
    let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() {
        return Err("`call`: expected the name of a tool after it".to_owned());
    }
    let arguments = match arguments.trim() {
        "" => Map::new(),
        text => object(text)?,
    };
    Ok(Command::Call(json!({"name": name, "arguments": arguments})))
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(text).map_err(|error| format!("expected a JSON object, got: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Option<Command> {
        Command::read(line).unwrap()
    }

    #[test]
    fn lines_are_commands() {
        assert_eq!(read("  "), None);
        assert_eq!(read(" tools \n"), Some(Command::Tools));
        assert_eq!(
            read(r#"call self.a {"volume": 50}"#),
            Some(Command::Call(json!({"name": "self.a", "arguments": {"volume": 50}})))
        );
        assert_eq!(
            read("call  self.a"),
            Some(Command::Call(json!({"name": "self.a", "arguments": {}})))
        );
        assert!(matches!(read(r#"{"id":1,"method":"ping"}"#), Some(Command::Payload(_))));
        assert!(matches!(read(r#"{"type":"tts"}"#), Some(Command::Envelope(_))));
    }

    #[test]
    fn what_is_no_command_is_told() {
        for (line, why) in [
            ("call", "the name of a tool"),
            ("call self.a 50", "expected a JSON object"),
            ("call self.a [1]", "expected a JSON object"),
            ("{\"id\":", "expected a JSON object"),
            ("volume 50", "`call <tool> {arguments}`"),
        ] {
            let told = Command::read(line).unwrap_err();
            assert!(told.contains(why), "{line}: {told}");
        }
    }
}
