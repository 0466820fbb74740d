//! Variables in scenario texts: `${name}`.

use std::sync::Arc;

use serde_json::{Map, Value};

/// The values that variables have at a step: the inner scope hides the outer one.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// What holds for the whole case; shared, because every step has a scope of its own.
    base: Arc<Map<String, Value>>,
    values: Map<String, Value>,
}

/// A variable without a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("variable `${{{0}}}` has no value here")]
pub struct Missing(pub String);

impl Scope {
    /// A scope with these values.
    pub fn new(values: Map<String, Value>) -> Self {
        Self { base: Arc::new(values), values: Map::new() }
    }

    /// Gives a variable a value.
    pub fn set(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name).or_else(|| self.base.get(name))
    }

    /// This scope with a row's values on top. The row's values may use variables themselves.
    ///
    /// # Errors
    ///
    /// A variable of the row without a value.
    pub fn with(&self, row: &Map<String, Value>) -> Result<Self, Missing> {
        let mut inner = self.clone();
        for (name, value) in row {
            inner.set(name, self.fill(value)?);
        }
        Ok(inner)
    }

    /// A JSON value with all variables filled in, in member names too.
    ///
    /// # Errors
    ///
    /// A variable without a value.
    pub fn fill(&self, template: &Value) -> Result<Value, Missing> {
        Ok(match template {
            Value::String(text) => self.fill_string(text)?,
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, value)| Ok((self.fill_text(name)?, self.fill(value)?)))
                    .collect::<Result<_, _>>()?,
            ),
            other => other.clone(),
        })
    }

    /// A text with all variables filled in.
    ///
    /// # Errors
    ///
    /// A variable without a value.
    pub fn fill_text(&self, template: &str) -> Result<String, Missing> {
        let mut filled = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(start) = rest.find("${") {
            let Some(end) = rest[start..].find('}') else {
                break;
            };
            filled.push_str(&rest[..start]);
            match self.lookup(&rest[start + 2..start + end])? {
                Value::String(text) => filled.push_str(&text),
                other => filled.push_str(&other.to_string()),
            }
            rest = &rest[start + end + 1..];
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn fill_string(&self, text: &str) -> Result<Value, Missing> {
        let alone = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        match alone.filter(|name| !name.contains('}')) {
            Some(name) => self.lookup(name),
            None => self.fill_text(text).map(Value::String),
        }
    }

    fn lookup(&self, name: &str) -> Result<Value, Missing> {
        if let Some(spec) = name.strip_prefix("repeat:")
            && let Some((text, count)) = spec.rsplit_once(':')
            && let Ok(count) = count.parse::<usize>()
        {
            return Ok(text.repeat(count).into());
        }
        self.get(name).cloned().ok_or_else(|| Missing(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!("${n}"), json!(7))]
    #[case(json!("n=${n}, s=${s}"), json!("n=7, s=x"))]
    #[case(json!({"${s}": ["${n}"]}), json!({"x": [7]}))]
    #[case(json!("${repeat:[:3}"), json!("[[["))]
    #[case(json!("$ {n} ${"), json!("$ {n} ${"))]
    #[case(json!("${n}${s}"), json!("7x"))]
    fn variables_are_filled_in(#[case] template: Value, #[case] filled: Value) {
        let mut scope = Scope::default();
        scope.set("n", json!(7));
        scope.set("s", json!("x"));
        assert_eq!(scope.fill(&template).unwrap(), filled);
    }

    #[test]
    fn a_missing_variable_is_named() {
        assert_eq!(Scope::default().fill(&json!(["${gone}"])), Err(Missing("gone".into())));
    }
}
