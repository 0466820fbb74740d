//! JSON Schemas of files that people write, derived from the types that read them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The schema of a type, in the draft that editors read (07), with a title. Descriptions are the comments of its
/// members.
pub fn of<T: JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}

/// A rule: where a value is as `when` says, it must be as `then` says.
pub fn rule(when: &Value, then: &Value) -> Value {
    json!({"if": when, "then": then})
}

/// That an object has a member with this value.
pub fn member_is(name: &str, value: &Value) -> Value {
    json!({"properties": {name: {"const": value}}, "required": [name]})
}

/// Adds rules to a schema, all of which must hold.
pub fn add_rules(schema: &mut Value, rules: impl IntoIterator<Item = Value>) {
    if let Some(all) = schema["allOf"].as_array_mut() {
        all.extend(rules);
    } else {
        schema["allOf"] = rules.into_iter().collect();
    }
}
