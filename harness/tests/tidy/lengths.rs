//! Which functions are too long to be read in one go.
//!
//! Read are tokens, as in `circles`, so that a function without a body and a brace in a string count for nothing.
//! What is behind `#[cfg(test)]` is left out.

use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::circles::{is_test, items};

/// The functions of a file that have more than so many lines, from `fn` to the closing brace: name and lines.
pub(crate) fn longer_than(most: usize, text: &str) -> Vec<(String, usize)> {
    let tokens = TokenStream::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut found = Vec::new();
    read(tokens, &mut found);
    found.retain(|(_, lines)| *lines > most);
    found
}

/// Takes down all functions with a body, those inside of others as well.
fn read(tokens: TokenStream, found: &mut Vec<(String, usize)>) {
    for item in items(tokens).into_iter().filter(|item| !is_test(item)) {
        let mut open: Option<(String, usize)> = None;
        for (at, token) in item.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if *word == "fn" => {
                    // `fn(u8)` is a type.
                    if let Some(TokenTree::Ident(name)) = item.get(at + 1) {
                        open = Some((name.to_string(), word.span().start().line));
                    }
                }
                TokenTree::Group(group) => {
                    if group.delimiter() == Delimiter::Brace
                        && let Some((name, begin)) = open.take()
                    {
                        found.push((name, group.span_close().end().line + 1 - begin));
                    }
                    read(group.stream(), found);
                }
                _ => {}
            }
        }
    }
}

/// The lines of all functions of an invented file.
fn lengths(text: &str) -> Vec<(String, usize)> {
    longer_than(0, text)
}

#[test]
fn a_function_is_as_long_as_its_body_wherever_it_stands() {
    let one = |name: &str, lines| vec![(name.to_owned(), lines)];
    assert_eq!(lengths("fn a() {}\n"), one("a", 1));
    assert_eq!(lengths("/// Text.\n#[inline]\npub async fn a(\n    b: u8,\n) {\n}\n"), one("a", 4));
    assert_eq!(
        lengths("mod m {\n    impl A {\n        fn a() {\n        }\n    }\n}\n"),
        one("a", 2)
    );
    assert_eq!(lengths("fn a() -> u8 {\n    // }\n    let _ = \"}\";\n    1\n}\n"), one("a", 5));
    let nested =
        lengths("fn a() {\n    fn b() {\n    }\n    const C: u8 = {\n        1\n    };\n}\n");
    assert_eq!(nested, [("a".to_owned(), 7), ("b".to_owned(), 2)]);
    let generic =
        "fn a<const N: usize>(b: [u8; { 1 + 1 }]) -> impl Fn(u8)\nwhere\n    A: B,\n{\n}\n";
    assert_eq!(lengths(generic), one("a", 5));
    assert_eq!(
        lengths("macro_rules! m {\n    () => {\n        fn a() {\n        }\n    };\n}\n"),
        one("a", 2)
    );
}

#[test]
fn what_has_no_body_or_is_a_test_has_no_length() {
    let text = "trait A {\n    fn a();\n    fn b() {}\n}\nstatic F: fn(u8) = {\n    g\n};\n\
                #[cfg(test)]\nmod tests {\n    fn c() {}\n}\n#[cfg(test)]\nfn d() {}\n\
                // fn e() {}\nconst G: &str = \"fn f() {}\";\n";
    assert_eq!(lengths(text), [("b".to_owned(), 1)]);
}

#[test]
fn only_what_is_longer_is_told() {
    let text = "fn a() {\n}\n\nfn b() {\n\n}\n";
    assert_eq!(longer_than(2, text), [("b".to_owned(), 3)]);
    assert!(longer_than(3, text).is_empty());
}
