//! Where everything stands in a scenario file: the same YAML, read once more for its positions.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// Line and column, counted from 1.
pub(super) type Place = (u64, u64);

/// A value with its position.
#[derive(Debug, Clone)]
pub(super) struct Node {
    /// Where it begins.
    pub place: Place,
    /// What it is.
    pub inner: Inner,
}

/// What a value is.
#[derive(Debug, Clone)]
pub(super) enum Inner {
    /// A text, a number, `true`, `false` or `null`; only texts are kept.
    Scalar(Option<String>),
    /// A list.
    List(Vec<Node>),
    /// A mapping: names, where they stand, and values.
    Mapping(Vec<(String, Place, Node)>),
}

impl Node {
    /// Reads a file. `None` for one that is no YAML, or has names that are no texts.
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_saphyr::from_str::<Spanned<Inner>>(text).ok().map(Self::of)
    }

    fn of(spanned: Spanned<Inner>) -> Self {
        Self { place: place(&spanned), inner: spanned.value }
    }

    /// A member of a mapping: where its name stands, and its value.
    pub(super) fn member(&self, name: &str) -> Option<(Place, &Self)> {
        let Inner::Mapping(members) = &self.inner else {
            return None;
        };
        members.iter().find(|(known, ..)| known == name).map(|(_, at, value)| (*at, value))
    }

    /// The elements of a list; one value is a list of one.
    pub(super) fn elements(&self) -> &[Self] {
        match &self.inner {
            Inner::List(elements) => elements,
            _ => std::slice::from_ref(self),
        }
    }

    /// The place of what a path leads to: names of members, whose names are meant, and numbers of elements. Where
    /// the path leads to nothing, that of the last thing on it.
    pub(super) fn place_of(&self, path: &[String]) -> Place {
        let Some((first, rest)) = path.split_first() else {
            return self.place;
        };
        let element = |index: usize| self.elements().get(index);
        match (&self.inner, first.parse::<usize>()) {
            (Inner::List(_), Ok(index)) => {
                element(index).map_or(self.place, |inner| inner.place_of(rest))
            }
            _ => match self.member(first) {
                Some((at, _)) if rest.is_empty() => at,
                Some((_, value)) => value.place_of(rest),
                None => self.place,
            },
        }
    }

    /// All texts in it with their places, names of members too.
    pub(super) fn texts<'a>(&'a self, all: &mut Vec<(&'a str, Place)>) {
        match &self.inner {
            Inner::Scalar(text) => all.extend(text.as_deref().map(|text| (text, self.place))),
            Inner::List(elements) => elements.iter().for_each(|element| element.texts(all)),
            Inner::Mapping(members) => {
                for (name, at, value) in members {
                    all.push((name, *at));
                    value.texts(all);
                }
            }
        }
    }
}

fn place<T>(spanned: &Spanned<T>) -> Place {
    (spanned.referenced.line(), spanned.referenced.column())
}

impl<'de> Deserialize<'de> for Inner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Inner;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Inner, E> {
        Ok(Inner::Scalar(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Inner, E> {
        Ok(Inner::Scalar(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Inner, E> {
        Ok(Inner::Scalar(None))
    }

    fn visit_i128<E>(self, _: i128) -> Result<Inner, E> {
        Ok(Inner::Scalar(None))
    }

    fn visit_u128<E>(self, _: u128) -> Result<Inner, E> {
        Ok(Inner::Scalar(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Inner, E> {
        Ok(Inner::Scalar(None))
    }

    fn visit_unit<E>(self) -> Result<Inner, E> {
        Ok(Inner::Scalar(None))
    }

    fn visit_none<E>(self) -> Result<Inner, E> {
        Ok(Inner::Scalar(None))
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Inner, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_str<E>(self, text: &str) -> Result<Inner, E> {
        Ok(Inner::Scalar(Some(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Inner, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element::<Spanned<Inner>>()? {
            elements.push(Node::of(element));
        }
        Ok(Inner::List(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut mapping: A) -> Result<Inner, A::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = mapping.next_entry::<Spanned<String>, Spanned<Inner>>()? {
            members.push((name.value.clone(), place(&name), Node::of(value)));
        }
        Ok(Inner::Mapping(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_place() {
        let text = "title: t\nsteps:\n  - request: {method: ping, params: {a: [1, x]}}\n    expect:\n      - {requirement: r}\n";
        let node = Node::read(text).unwrap();
        let at = |path: &str| {
            let path: Vec<String> = path.split('/').map(str::to_owned).collect();
            node.place_of(&path)
        };
        assert_eq!(at("steps"), (2, 1));
        assert_eq!(at("steps/0"), (3, 5));
        assert_eq!(at("steps/0/request/params"), (3, 29));
        assert_eq!(at("steps/0/request/params/a/1"), (3, 45));
        assert_eq!(at("steps/0/expect/0/requirement"), (5, 10));
        // What is not there has the place of what it is missing in.
        assert_eq!(at("steps/0/expect/0/answer"), (5, 9));
        let mut texts = Vec::new();
        node.member("steps").unwrap().1.texts(&mut texts);
        assert!(
            texts.contains(&("x", (3, 45))) && texts.contains(&("method", (3, 15))),
            "{texts:?}"
        );
        assert!(Node::read("a: [").is_none());
    }
}
