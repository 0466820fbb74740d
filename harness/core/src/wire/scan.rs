//! Reading what is not quite JSON: duplicate members, lost ids, numbers by value.

use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// Finds the id in a text that is no valid JSON, so that a broken answer still names its request.
///
/// Only a number or a plain string after a member name `"id"` counts; the last one wins, because
/// a message that was pasted together carries hostile text before it more often than after.
pub fn recover_id(text: &str) -> Option<Value> {
    found_ids(text).last().and_then(|(id, _)| id)
}

/// All ids in a text that is no valid JSON, from the first to the last. One that stands at the very end of
/// the text may have lost digits, and does not count.
pub(crate) fn recover_ids(text: &str) -> Vec<Value> {
    let whole = found_ids(text).filter(|(_, is_whole)| *is_whole);
    whole.filter_map(|(id, _)| id).collect()
}

/// What stands after member names `"id"`, and whether the end of the member follows.
fn found_ids(text: &str) -> impl Iterator<Item = (Option<Value>, bool)> {
    static ID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#""id"\s*:\s*(-?\d+(?:\.\d+)?|"[^"\\]*")(\s*[,}])?"#)
            .expect("a constant pattern")
    });
    let found = ID.captures_iter(text);
    found.map(|found| (serde_json::from_str(&found[1]).ok(), found.get(2).is_some()))
}

/// What a parser understands that forgives raw control characters, lone surrogates, and text behind the end
/// (RFC 8259, section 9: a parser may accept more than JSON). Control characters come as blanks: what is
/// wanted of such a text is whose it is, and not what it says. `None` where more had to be forgiven.
pub(crate) fn forgiven(text: &str) -> Option<Value> {
    let whole = without_lone_surrogates(text);
    let text = whole.as_deref().unwrap_or(text);
    let text = text.replace(|one: char| one < ' ', " ");
    let mut values = serde_json::Deserializer::from_str(&text).into_iter();
    values.next()?.ok()
}

/// The text with its lone surrogates, such as `\ud800` without a second half, as U+FFFD. `None`
/// when it has none.
///
/// The grammar of JSON allows them, and says that what comes of them cannot be foreseen (RFC 8259,
/// sections 7 and 8.2); the parser here refuses them. Whoever sends one back is not to blame.
pub fn without_lone_surrogates(text: &str) -> Option<String> {
    const ESCAPE: usize = "\\uXXXX".len();
    let unit = |at: usize| -> Option<u16> {
        let digits = text.get(at..at + ESCAPE)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut whole, mut kept, mut at) = (String::new(), 0, 0);
    while let Some(found) = text[at..].find('\\') {
        at += found;
        match unit(at) {
            Some(0xd800..=0xdbff) if matches!(unit(at + ESCAPE), Some(0xdc00..=0xdfff)) => {
                at += 2 * ESCAPE;
            }
            Some(0xd800..=0xdfff) => {
                whole.push_str(&text[kept..at]);
                whole.push_str("\\ufffd");
                at += ESCAPE;
                kept = at;
            }
            Some(_) => at += ESCAPE,
            // Another escape, of two characters, of which the second may be a backslash.
            None => {
                at =
                    text.len().min(at + 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8))
            }
        }
    }
    (kept > 0).then(|| whole + &text[kept..])
}

/// A key under which two ids that are equal in value and type are equal: `7` and `7.0` share one,
/// `7` and `"7"` do not.
pub fn id_key(id: &Value) -> String {
    match id {
        Value::Number(number) => match integer(number) {
            Some(whole) => whole.to_string(),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// Whether an id becomes another one when it is kept in 32 bits or in a float: cut off, or held at the end of the
/// range.
pub fn narrows_to(asked: &Value, got: &Value) -> bool {
    let whole = |value: &Value| {
        let number = value.as_number()?;
        number.as_i128().or_else(|| number.as_f64().map(|float| float as i128))
    };
    let (Some(asked), Some(got)) = (whole(asked), whole(got)) else {
        return false;
    };
    let within = |least: i128, most: i128| asked.clamp(least, most);
    let kept = [
        within(i32::MIN.into(), i32::MAX.into()),
        within(0, u32::MAX.into()),
        within(i64::MIN.into(), i64::MAX.into()),
        (asked as i32).into(),
        (asked as u32).into(),
        (asked as i64).into(),
        asked as f32 as i128,
        asked as f64 as i128,
    ];
    got != asked && kept.contains(&got)
}

/// Whether two JSON values are equal; numbers by value, however they are spelled.
pub fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => numbers_equal(a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(name, a)| b.get(name).is_some_and(|b| same_value(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a == b,
    }
}

fn numbers_equal(a: &Number, b: &Number) -> bool {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.as_f64() == b.as_f64(),
        _ => false,
    }
}

/// The value as an integer, when it is a number without a fraction: `50` and `50.0` alike.
pub fn as_integer(value: &Value) -> Option<i64> {
    i64::try_from(integer(value.as_number()?)?).ok()
}

/// The number as an integer when it is one; floats only as far as they hold integers exactly.
fn integer(number: &Number) -> Option<i128> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Some(whole) = number.as_i64() {
        return Some(whole.into());
    }
    if let Some(whole) = number.as_u64() {
        return Some(whole.into());
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i128)
}

/// Reads one JSON text, and with it the first member name that stands twice in one object, at any
/// depth: of two such members the value keeps the latter.
pub(crate) fn read_json(text: &str) -> Result<(Value, Option<String>), serde_json::Error> {
    let mut repeated = None;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = Watch(&mut repeated).deserialize(&mut reader)?;
    reader.end()?;
    Ok((value, repeated))
}

/// Builds a JSON value as `serde_json` does, and notes a name that stands twice.
struct Watch<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for Watch<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Watch<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Watch(self.0))? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(Watch(self.0))?;
            match members.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(mut place) => {
                    self.0.get_or_insert_with(|| place.key().clone());
                    place.insert(value);
                }
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn lone_surrogates_are_replaced_and_pairs_are_not() {
        let given = r#"{"a":"\ud800","b":"\ud83d\ude00","c":"\\ud800","d":"\udc00\ud83d"}"#;
        let whole = r#"{"a":"\ufffd","b":"\ud83d\ude00","c":"\\ud800","d":"\ufffd\ufffd"}"#;
        assert_eq!(super::without_lone_surrogates(given).as_deref(), Some(whole));
        assert_eq!(super::without_lone_surrogates(whole), None);
        assert_eq!(super::without_lone_surrogates("\\"), None);
    }

    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(r#"{"id":7,"error":{"message":"Unknown tool: no"pe"}}"#, Some(json!(7)))]
    #[case(r#"{"payload":{"jsonrpc":"2.0","id": -12 ,"error":"#, Some(json!(-12)))]
    #[case(r#"{"id":"abc","x":"#, Some(json!("abc")))]
    #[case(r#"{"error": nothing"#, None)]
    fn an_id_is_found_in_broken_json(#[case] text: &str, #[case] id: Option<Value>) {
        assert_eq!(recover_id(text), id);
    }

    #[rstest]
    #[case("7", "7.0", true)]
    #[case("7", "\"7\"", false)]
    #[case("1.5", "1.50", true)]
    #[case("2147483647", "2147483648", false)]
    #[case("9007199254740993", "9007199254740992", false)]
    #[case("null", "null", true)]
    fn ids_are_equal_by_value_and_type(#[case] a: &str, #[case] b: &str, #[case] equal: bool) {
        let key = |text| id_key(&serde_json::from_str(text).unwrap());
        assert_eq!(key(a) == key(b), equal);
    }

    #[rstest]
    #[case::held(json!(2_147_483_648_u64), json!(2_147_483_647), true)]
    #[case::cut(json!(4_294_967_303_u64), json!(7), true)]
    #[case::cut_with_sign(json!(2_147_483_649_u64), json!(-2_147_483_647), true)]
    #[case::beyond_i64(json!(18_446_744_073_709_551_615_u64), json!(-1), true)]
    #[case::in_a_float(json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64), true)]
    #[case::a_fraction_is_dropped(json!(7.5), json!(7), false)]
    #[case::the_same(json!(7), json!(7), false)]
    #[case::another(json!(2_147_483_648_u64), json!(8), false)]
    fn an_id_that_was_cut_is_known_again(
        #[case] asked: Value,
        #[case] got: Value,
        #[case] narrows: bool,
    ) {
        assert_eq!(narrows_to(&asked, &got), narrows);
    }

    #[rstest]
    #[case(r#"{"a":1,"b":{"c":[{"d":1,"d":2}]}}"#, Some("d"))]
    #[case(r#"{"a":1,"\u0061":2}"#, Some("a"))]
    #[case(r#"{"a":{"x":1},"b":{"x":1}}"#, None)]
    fn members_that_stand_twice_are_seen(#[case] text: &str, #[case] name: Option<&str>) {
        let (value, repeated) = read_json(text).unwrap();
        assert_eq!(repeated.as_deref(), name);
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
    }

    proptest! {
        #[test]
        fn no_text_makes_the_readers_panic(text in any::<String>()) {
            let _ = recover_id(&text);
            let _ = recover_ids(&text);
            let _ = forgiven(&text);
            let _ = read_json(&text);
        }

        #[test]
        fn every_integer_id_has_a_key_of_its_own(a in any::<i64>(), b in any::<i64>()) {
            prop_assert_eq!(id_key(&json!(a)) == id_key(&json!(b)), a == b);
        }
    }
}
