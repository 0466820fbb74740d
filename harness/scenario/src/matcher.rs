//! What an answer is compared with: JSON with operators.

use regex::Regex;
use serde_json::{Map, Value};

use super::template::{Missing, Scope};
use super::wrong::Wrong;
use mcp_hil_core::wire::same_value;

/// A pattern for a JSON value. Objects match partially; an object with one member whose name
/// begins with `$` is an operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Matcher(Value);

/// The operators.
pub(super) const OPERATORS: [&str; 12] = [
    "$any",
    "$type",
    "$in",
    "$match",
    "$alike",
    "$range",
    "$exact",
    "$unordered",
    "$page",
    "$absent",
    "$not",
    "$contains",
];
/// What `$type` takes.
pub(super) const TYPES: [&str; 7] =
    ["integer", "number", "string", "boolean", "object", "array", "null"];

impl Matcher {
    /// Checks a pattern and makes a matcher of it.
    ///
    /// # Errors
    ///
    /// What is wrong with the first operator that is.
    pub fn new(pattern: Value) -> Result<Self, String> {
        Self::read(pattern).map_err(Wrong::what)
    }

    /// The same; a mistake has its path in the pattern.
    pub(super) fn read(pattern: Value) -> Result<Self, Wrong> {
        check(&pattern)?;
        Ok(Self(pattern))
    }

    /// Compares; `value` is `None` where the member is absent.
    ///
    /// # Errors
    ///
    /// A variable without a value. The inner result says where it differs: expected and received.
    pub fn test(
        &self,
        scope: &Scope,
        value: Option<&Value>,
    ) -> Result<Result<(), Mismatch>, Missing> {
        let pattern = scope.fill(&self.0)?;
        Ok(compare(&pattern, value, ""))
    }

    /// The pattern as it was written.
    pub fn pattern(&self) -> &Value {
        &self.0
    }

    /// The pattern as text for people.
    pub fn describe(&self) -> String {
        describe(&self.0)
    }
}

/// Where and how a value differs from its pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Pointer to the place.
    pub at: String,
    /// What is expected there.
    pub expected: String,
    /// What is there.
    pub received: String,
}

fn operator(pattern: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (name, operand) = pattern.iter().next()?;
    (pattern.len() == 1 && name.starts_with('$') && !name.starts_with("${"))
        .then_some((name.as_str(), operand))
}

fn check(pattern: &Value) -> Result<(), Wrong> {
    match pattern {
        Value::Array(items) => {
            let mut items = items.iter().enumerate();
            items.try_for_each(|(at, item)| check(item).map_err(|wrong| wrong.inside(at)))
        }
        Value::Object(members) => match operator(members) {
            None => {
                let mut members = members.iter();
                members
                    .try_for_each(|(name, inner)| check(inner).map_err(|wrong| wrong.inside(name)))
            }
            Some((name, operand)) => {
                check_operator(name, operand).map_err(|wrong| wrong.inside(name))
            }
        },
        _ => Ok(()),
    }
}

fn check_operator(name: &str, operand: &Value) -> Result<(), Wrong> {
    match (name, operand) {
        ("$any" | "$exact" | "$unordered" | "$page", _)
        | ("$absent", Value::Bool(_))
        | ("$in", Value::Array(_)) => Ok(()),
        ("$not" | "$contains", inner) => check(inner),
        ("$range", Value::Array(bounds)) if bounds.len() == 2 => Ok(()),
        ("$alike", Value::String(_)) => Ok(()),
        ("$type", Value::String(name)) if TYPES.contains(&name.as_str()) => Ok(()),
        ("$type", operand) => {
            let wrong = Wrong::new(format!("`$type` takes one of {}", TYPES.join(", ")));
            Err(match operand.as_str() {
                Some(name) => wrong.nearest(name, &TYPES),
                None => wrong.hint("write `{$type: integer}`"),
            })
        }
        ("$match", Value::String(pattern)) => {
            // A pattern with variables is only complete when they are filled in.
            if pattern.contains("${") {
                return Ok(());
            }
            Regex::new(pattern).map(|_| ()).map_err(|error| {
                Wrong::new(format!("`$match`: {error}"))
                    .hint("a parenthesis, bracket or dot that is meant as itself needs a backslash before it")
            })
        }
        (name, _) if OPERATORS.contains(&name) => {
            let example = match name {
                "$range" => "{$range: [0, 100]}",
                "$in" => "{$in: [-32601, -32602]}",
                "$match" => "{$match: '^Unknown'}",
                "$alike" => "{$alike: 'Unknown tool'}",
                _ => "{$absent: true}",
            };
            let wrong = Wrong::new(format!("`{name}`: operand of the wrong type"));
            Err(wrong.hint(format!("write `{example}`")))
        }
        (name, _) => {
            let what = format!(
                "unknown operator `{name}`, expected one of {}",
                OPERATORS.map(|known| format!("`{known}`")).join(", ")
            );
            Err(Wrong::new(what).nearest(name, &OPERATORS))
        }
    }
}

fn compare(pattern: &Value, value: Option<&Value>, at: &str) -> Result<(), Mismatch> {
    let mismatch = || Mismatch {
        at: at.to_owned(),
        expected: describe(pattern),
        received: value.map_or_else(|| "absent".to_owned(), Value::to_string),
    };
    let holds = |truth: bool| if truth { Ok(()) } else { Err(mismatch()) };
    if let Value::Object(members) = pattern
        && let Some((name, operand)) = operator(members)
    {
        return match (name, value) {
            ("$absent", _) => holds(value.is_none() == (operand == &Value::Bool(true))),
            (_, None) => holds(name == "$not"),
            ("$type", Some(value)) => holds(operand.as_str().is_some_and(|name| is(value, name))),
            ("$in", Some(value)) => {
                holds(operand.as_array().into_iter().flatten().any(|one| same_value(one, value)))
            }
            ("$match", Some(Value::String(text))) => holds(
                operand.as_str().and_then(|p| Regex::new(p).ok()).is_some_and(|p| p.is_match(text)),
            ),
            ("$alike", Some(Value::String(text))) => holds(
                operand.as_str().is_some_and(|one| without_numbers(one) == without_numbers(text)),
            ),
            ("$range", Some(value)) => holds(match (value.as_f64(), bounds(operand)) {
                (Some(number), Some((low, high))) => (low..=high).contains(&number),
                _ => false,
            }),
            ("$exact", Some(value)) => holds(same_value(operand, value)),
            ("$unordered", Some(value)) => holds(same_unordered(operand, value)),
            ("$page", Some(value)) => holds(same_page(operand, value)),
            ("$not", value) => holds(compare(operand, value, at).is_err()),
            ("$contains", Some(Value::Array(items))) => {
                holds(items.iter().any(|item| compare(operand, Some(item), at).is_ok()))
            }
            ("$any", Some(_)) => Ok(()),
            _ => Err(mismatch()),
        };
    }
    match (pattern, value) {
        (Value::Object(members), Some(Value::Object(object))) => {
            members.iter().try_for_each(|(name, inner)| {
                compare(inner, object.get(name), &format!("{at}/{name}"))
            })
        }
        (Value::Array(patterns), Some(Value::Array(items))) if patterns.len() == items.len() => {
            patterns.iter().zip(items).enumerate().try_for_each(|(index, (inner, item))| {
                compare(inner, Some(item), &format!("{at}/{index}"))
            })
        }
        (_, Some(value)) => {
            holds(!pattern.is_object() && !pattern.is_array() && same_value(pattern, value))
        }
        (_, None) => Err(mismatch()),
    }
}

/// A text without its numbers, which may be those of a line, a time or an attempt.
fn without_numbers(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// Whether two results of a listing begin it alike. The server decides how many there are on a page, each time (MCP,
/// server/utilities/pagination): of two sizes, the smaller page is the beginning of the other, and has a cursor of its
/// own.
fn same_page(a: &Value, b: &Value) -> bool {
    let tools = |page: &Value| page.get("tools").and_then(Value::as_array).cloned();
    let (Some(a_tools), Some(b_tools)) = (tools(a), tools(b)) else {
        return same_unordered(a, b);
    };
    let (less, more, page, other) = match a_tools.len() <= b_tools.len() {
        true => (&a_tools, &b_tools, a, b),
        false => (&b_tools, &a_tools, b, a),
    };
    let cursor = |page: &Value| page.get("nextCursor").cloned().filter(|one| *one != "");
    let begins = || less.iter().zip(more).all(|(one, other)| same_unordered(one, other));
    let is_smaller = !less.is_empty() && less.len() < more.len();
    let goes_on = cursor(page).is_some_and(|next| Some(next) != cursor(other));
    let (a_tools, b_tools) = (Value::Array(a_tools.clone()), Value::Array(b_tools.clone()));
    same_unordered(&a_tools, &b_tools) || is_smaller && goes_on && begins()
}

/// Whether two values are equal when the order of elements in arrays does not count.
fn same_unordered(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            let mut left: Vec<&Value> = b.iter().collect();
            let mut takes = |one: &Value| {
                let found = left.iter().position(|other| same_unordered(one, other));
                found.map(|at| left.swap_remove(at)).is_some()
            };
            a.len() == b.len() && a.iter().all(&mut takes)
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(name, a)| b.get(name).is_some_and(|b| same_unordered(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => same_value(a, b),
    }
}

fn is(value: &Value, name: &str) -> bool {
    match (value, name) {
        (Value::Number(number), "integer") => {
            !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
        }
        (Value::Number(_), "number")
        | (Value::String(_), "string")
        | (Value::Bool(_), "boolean")
        | (Value::Object(_), "object")
        | (Value::Array(_), "array")
        | (Value::Null, "null") => true,
        _ => false,
    }
}

fn bounds(operand: &Value) -> Option<(f64, f64)> {
    Some((operand.get(0)?.as_f64()?, operand.get(1)?.as_f64()?))
}

fn describe(pattern: &Value) -> String {
    let Value::Object(members) = pattern else {
        return pattern.to_string();
    };
    match operator(members) {
        None => pattern.to_string(),
        Some(("$any", _)) => "any value".to_owned(),
        Some(("$absent", Value::Bool(true))) => "absent".to_owned(),
        Some(("$absent", _)) => "present".to_owned(),
        Some(("$type", Value::String(name))) => format!("of type {name}"),
        Some(("$in", Value::Array(items))) => {
            format!("one of {}", items.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
        }
        Some(("$match", Value::String(text))) => format!("matching /{text}/"),
        Some(("$alike", operand)) => format!("{operand}, whatever its numbers"),
        Some(("$range", Value::Array(bounds))) => format!("from {} to {}", bounds[0], bounds[1]),
        Some(("$not", inner)) => format!("not {}", describe(inner)),
        Some(("$contains", inner)) => format!("an array with an element {}", describe(inner)),
        Some(("$page", operand)) => format!("the page {operand}, or a beginning of it"),
        Some(("$unordered", operand)) => format!("{operand}, in any order"),
        Some((_, operand)) => format!("exactly {operand}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!({"a": 1}), json!({"a": 1.0, "b": 2}), true)]
    #[case(json!({"a": {"$type": "integer"}}), json!({"a": 1.5}), false)]
    #[case(json!({"$alike": "line 5: no"}), json!("line 17: no"), true)]
    #[case(json!({"$alike": "line 5: no"}), json!("line 5: yes"), false)]
    #[case(json!([1, 2]), json!([1]), false)]
    #[case(json!({"$in": [-32601, -32602]}), json!(-32602), true)]
    #[case(json!({"$match": "^Unknown"}), json!("Unknown tool"), true)]
    #[case(json!({"$range": [0, 100]}), json!(101), false)]
    #[case(json!({"a": {"$absent": true}}), json!({}), true)]
    #[case(json!({"$exact": {"a": 1}}), json!({"a": 1, "b": 2}), false)]
    #[case(json!({"$unordered": [{"a": [1, 2]}, 3]}), json!([3.0, {"a": [2, 1]}]), true)]
    #[case(json!({"$unordered": {"a": 1}}), json!({"a": 1, "b": 2}), false)]
    #[case(json!({"$unordered": [1, 1, 2]}), json!([1, 2, 2]), false)]
    #[case(json!({"$unordered": [1, 2]}), json!([1, 2, 2]), false)]
    #[case(page(json!([1, 2]), "b"), json!({"tools": [2, 1], "nextCursor": "c"}), true)]
    #[case(page(json!([1, 2]), "b"), json!({"tools": [1], "nextCursor": "a"}), true)]
    #[case(page(json!([1]), "a"), json!({"tools": [1, 2]}), true)]
    #[case(page(json!([1, 2]), "b"), json!({"tools": [1], "nextCursor": "b"}), false)]
    #[case(page(json!([1, 2]), "b"), json!({"tools": [1]}), false)]
    #[case(page(json!([1, 2]), "b"), json!({"tools": [2], "nextCursor": "a"}), false)]
    #[case(page(json!([1, 2]), "b"), json!({"tools": [], "nextCursor": "a"}), false)]
    #[case(page(json!([1, 2]), "b"), json!({"tools": [1, 3], "nextCursor": "c"}), false)]
    #[case(json!({"$not": {"$type": "string"}}), json!(1), true)]
    #[case(json!({"$contains": {"name": "x"}}), json!([{"name": "y"}, {"name": "x", "z": 1}]), true)]
    #[case(json!({}), json!("text"), false)]
    fn patterns_match(#[case] pattern: Value, #[case] value: Value, #[case] matches: bool) {
        let matcher = Matcher::new(pattern).unwrap();
        assert_eq!(matcher.test(&Scope::default(), Some(&value)).unwrap().is_ok(), matches);
    }

    fn page(tools: Value, cursor: &str) -> Value {
        json!({"$page": {"tools": tools, "nextCursor": cursor}})
    }

    #[test]
    fn a_mismatch_says_where() {
        let matcher = Matcher::new(json!({"error": {"code": {"$type": "integer"}}})).unwrap();
        let value = json!({"error": {"code": "x"}});
        let mismatch = matcher.test(&Scope::default(), Some(&value)).unwrap().unwrap_err();
        assert_eq!(mismatch.at, "/error/code");
        assert_eq!(mismatch.expected, "of type integer");
        assert_eq!(mismatch.received, "\"x\"");
    }

    #[test]
    fn wrong_operators_are_refused() {
        assert!(Matcher::new(json!({"$mach": "x"})).unwrap_err().contains("`$match`"));
        assert!(Matcher::new(json!({"$type": "int"})).unwrap_err().contains("integer"));
        assert!(Matcher::new(json!({"$match": "("})).is_err());
    }

    proptest! {
        #[test]
        fn every_value_matches_itself_exactly(number in any::<i64>(), text in "[a-z]{0,8}") {
            let value = json!({"n": number, "t": text, "l": [number, null, true]});
            let exact = Matcher::new(json!({"$exact": value})).unwrap();
            prop_assert!(exact.test(&Scope::default(), Some(&value)).unwrap().is_ok());
            let partial = Matcher::new(value.clone()).unwrap();
            prop_assert!(partial.test(&Scope::default(), Some(&value)).unwrap().is_ok());
        }
    }
}
