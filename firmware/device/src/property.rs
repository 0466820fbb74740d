//! A property of a tool: its name, what it takes, and the schema that says so.

use alloc::string::{String, ToString};

use crate::json;

/// A checked argument, or the default of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// JSON true or false.
    Boolean(bool),
    /// A JSON number without fraction.
    Integer(i64),
    /// A JSON string.
    Text(String),
}

impl Value {
    /// The word of JSON Schema for this kind of value.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Boolean(_) => "boolean",
            Value::Integer(_) => "integer",
            Value::Text(_) => "string",
        }
    }
}

/// Bounds of an integer property, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Smallest value.
    pub minimum: i64,
    /// Largest value.
    pub maximum: i64,
}

impl Range {
    pub(crate) fn contains(self, value: i64) -> bool {
        (self.minimum..=self.maximum).contains(&value)
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Boolean { default: Option<bool> },
    Integer { default: Option<i64>, range: Range },
    Text { default: Option<&'static str> },
}

/// A declared argument of a tool. It is required exactly when it has no default.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// Member name in `arguments`.
    pub name: &'static str,
    /// What it means, for the language model that fills it in.
    pub description: &'static str,
    kind: Kind,
}

impl Property {
    /// A required boolean.
    pub const fn boolean(name: &'static str, description: &'static str) -> Self {
        Property { name, description, kind: Kind::Boolean { default: None } }
    }

    /// A required integer between the bounds, both included.
    pub const fn integer(
        name: &'static str,
        description: &'static str,
        minimum: i64,
        maximum: i64,
    ) -> Self {
        Property {
            name,
            description,
            kind: Kind::Integer { default: None, range: Range { minimum, maximum } },
        }
    }

    /// A required string.
    pub const fn text(name: &'static str, description: &'static str) -> Self {
        Property { name, description, kind: Kind::Text { default: None } }
    }

    /// Makes an integer optional. Leaves other kinds as they are.
    pub const fn with_default_integer(mut self, default: i64) -> Self {
        if let Kind::Integer { range, .. } = self.kind {
            self.kind = Kind::Integer { default: Some(default), range };
        }
        self
    }

    /// Makes a string optional. Leaves other kinds as they are.
    pub const fn with_default_text(mut self, default: &'static str) -> Self {
        if let Kind::Text { .. } = self.kind {
            self.kind = Kind::Text { default: Some(default) };
        }
        self
    }

    /// The JSON Schema type.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Boolean { .. } => "boolean",
            Kind::Integer { .. } => "integer",
            Kind::Text { .. } => "string",
        }
    }

    /// The value of an absent argument, if it may be absent.
    pub fn default(&self) -> Option<Value> {
        match self.kind {
            Kind::Boolean { default } => default.map(Value::Boolean),
            Kind::Integer { default, .. } => default.map(Value::Integer),
            Kind::Text { default } => default.map(|text| Value::Text(text.to_string())),
        }
    }

    /// The bounds of an integer; everything for other kinds.
    pub fn range(&self) -> Range {
        match self.kind {
            Kind::Integer { range, .. } => range,
            _ => Range { minimum: i64::MIN, maximum: i64::MAX },
        }
    }

    pub(crate) fn push_schema(&self, out: &mut String) {
        json::push_string(out, self.name);
        out.push_str(":{\"type\":\"");
        out.push_str(self.type_name());
        out.push('"');
        if !self.description.is_empty() {
            out.push_str(",\"description\":");
            json::push_string(out, self.description);
        }
        match self.default() {
            Some(Value::Boolean(value)) => {
                push_member(out, "default", if value { "true" } else { "false" })
            }
            Some(Value::Integer(value)) => push_member(out, "default", &value.to_string()),
            Some(Value::Text(value)) => push_member(out, "default", &json::string(&value)),
            None => {}
        }
        if let Kind::Integer { range, .. } = self.kind {
            push_member(out, "minimum", &range.minimum.to_string());
            push_member(out, "maximum", &range.maximum.to_string());
        }
        out.push('}');
    }
}

fn push_member(out: &mut String, name: &str, value: &str) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
    out.push_str(value);
}
