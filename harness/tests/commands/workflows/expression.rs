//! The part of GitHub's expressions that our workflows use.

use serde_json::Value;

/// What an expression means where these contexts are known. What is not known is null, as on GitHub.
pub(crate) fn evaluate(text: &str, contexts: &Value) -> Value {
    let mut parser = Parser { rest: text.trim(), contexts };
    let value = parser.any();
    assert_eq!(parser.rest, "", "not understood in `{text}`");
    value
}

/// Whether GitHub takes a value for true.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(is) => *is,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_f64() != Some(0.0),
        _ => true,
    }
}

struct Parser<'a> {
    rest: &'a str,
    contexts: &'a Value,
}

impl Parser<'_> {
    fn takes(&mut self, word: &str) -> bool {
        match self.rest.strip_prefix(word) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn any(&mut self) -> Value {
        let mut value = self.all();
        while self.takes("||") {
            let other = self.all();
            if !is_true(&value) {
                value = other;
            }
        }
        value
    }

    fn all(&mut self) -> Value {
        let mut value = self.compared();
        while self.takes("&&") {
            let other = self.compared();
            if is_true(&value) {
                value = other;
            }
        }
        value
    }

    fn compared(&mut self) -> Value {
        let value = self.member();
        if self.takes("==") {
            return (value == self.member()).into();
        }
        if self.takes("!=") {
            return (value != self.member()).into();
        }
        value
    }

    fn member(&mut self) -> Value {
        let mut value = self.first();
        loop {
            if self.takes(".*") {
                // Of each: what comes behind it is asked of all.
                let name = if self.takes(".") { self.word() } else { String::new() };
                let each = value.as_array().into_iter().flatten();
                value = each.map(|one| one[&*name].clone()).collect();
            } else if self.takes(".") {
                value = value.get(self.word()).cloned().unwrap_or_default();
            } else if self.takes("[") {
                let index: usize = self.word().parse().expect("an index");
                assert!(self.takes("]"));
                value = value.get(index).cloned().unwrap_or_default();
            } else {
                return value;
            }
        }
    }

    fn first(&mut self) -> Value {
        if self.takes("'") {
            let (text, rest) = self.rest.split_once('\'').expect("the end of a text");
            self.rest = rest.trim_start();
            return text.into();
        }
        if self.takes("(") {
            let value = self.any();
            assert!(self.takes(")"));
            return value;
        }
        match self.word().as_str() {
            "null" => Value::Null,
            "always" => {
                assert!(self.takes("()"));
                true.into()
            }
            "contains" => {
                assert!(self.takes("("));
                let whole = self.any();
                assert!(self.takes(","));
                let part = self.any();
                assert!(self.takes(")"));
                whole.as_array().is_some_and(|all| all.contains(&part)).into()
            }
            "fromJSON" => {
                assert!(self.takes("("));
                let text = self.any();
                assert!(self.takes(")"));
                let text = text.as_str().expect("a text");
                serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
            }
            context => self
                .contexts
                .get(context)
                .unwrap_or_else(|| panic!("no context `{context}`"))
                .clone(),
        }
    }

    fn word(&mut self) -> String {
        let end = self
            .rest
            .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word.to_owned()
    }
}
