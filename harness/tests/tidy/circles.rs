//! Which modules at the top of a package import each other in a circle.
//!
//! A module is a file or folder directly below `src`, all that is in it included. Read are tokens, so that
//! comments and strings say nothing; what is behind `#[cfg(test)]` is left out.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The name of what `lib.rs` itself defines. What it only passes on is charged to the module that has it.
const ROOT: &str = "lib";

/// From each module to those that it imports.
pub(crate) type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Modules that can be reached from each other, with the arrows among them; none where there is no circle.
pub(crate) fn circles(arrows: &Arrows) -> Vec<Arrows> {
    let reachable: Arrows =
        arrows.keys().map(|from| (from.clone(), reachable_from(from, arrows))).collect();
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (from, to) in &reachable {
        if !to.contains(from) || seen.contains(from) {
            continue;
        }
        let members: BTreeSet<&String> = to
            .iter()
            .filter(|other| reachable.get(*other).is_some_and(|all| all.contains(from)))
            .collect();
        let inside = |to: &BTreeSet<String>| -> BTreeSet<String> {
            to.iter().filter(|to| members.contains(to)).cloned().collect()
        };
        let circle: Arrows =
            members.iter().map(|from| ((*from).clone(), inside(&arrows[*from]))).collect();
        seen.extend(circle.keys().cloned());
        found.push(circle);
    }
    found
}

fn reachable_from(start: &str, arrows: &Arrows) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut open = vec![start];
    while let Some(from) = open.pop() {
        for to in arrows.get(from).into_iter().flatten() {
            if all.insert(to.clone()) {
                open.push(to);
            }
        }
    }
    all
}

/// The arrows between the modules of a package, from its files: path below `src`, such as `run/lane.rs`, and
/// text. `main.rs` is a crate of its own, and no part of the library.
pub(crate) fn arrows(files: &BTreeMap<String, String>) -> Arrows {
    let places: BTreeMap<Vec<String>, TokenStream> = files
        .iter()
        .filter(|(path, _)| *path != "main.rs" && !path.starts_with("bin/"))
        .map(|(path, text)| {
            let tokens =
                TokenStream::from_str(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            (place(path), tokens)
        })
        .collect();
    let modules: BTreeSet<String> =
        places.keys().filter_map(|place| place.first().cloned()).collect();
    let root = places.get(&Vec::new()).cloned().unwrap_or_default();
    let mut all = Reader {
        modules,
        passed_on: BTreeMap::new(),
        only_tests: BTreeSet::new(),
        arrows: Arrows::new(),
    };
    all.pass_on(root);
    for (place, tokens) in &places {
        all.note_tests(place, tokens.clone());
    }
    for (place, tokens) in places {
        let is_test = all.only_tests.iter().any(|tests| place.starts_with(tests));
        if !is_test {
            all.read(&place, tokens);
        }
    }
    all.arrows
}

/// The module path of a file: `run/lane.rs` is `run`, `lane`; `lib.rs` is empty.
fn place(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut place: Vec<String> = path.split('/').map(str::to_owned).collect();
    if place.last().is_some_and(|last| last == "mod") || place == [ROOT] {
        place.pop();
    }
    place
}

struct Reader {
    modules: BTreeSet<String>,
    /// What the root passes on, and the module that has it.
    passed_on: BTreeMap<String, String>,
    /// Modules that are there for tests alone.
    only_tests: BTreeSet<Vec<String>>,
    arrows: Arrows,
}

impl Reader {
    /// Takes down what the root re-exports.
    fn pass_on(&mut self, root: TokenStream) {
        for item in items(root) {
            let words = words(&item);
            if !is_passed_on(&words) {
                continue;
            }
            let at = words.iter().position(|word| word == "use").expect("it is one");
            for (path, name) in leaves(&item[at + 1..]) {
                let path: Vec<&String> =
                    path.iter().filter(|part| *part != "crate" && *part != "self").collect();
                if let Some(module) = path.first().filter(|first| self.modules.contains(**first)) {
                    self.passed_on.insert(name, (*module).clone());
                }
            }
        }
    }

    /// Takes down which files are `#[cfg(test)] mod name;`.
    fn note_tests(&mut self, place: &[String], tokens: TokenStream) {
        for item in items(tokens) {
            if let Some(name) = is_test(&item).then(|| name_of_module(&item)).flatten() {
                self.only_tests.insert([place, &[name]].concat());
            }
        }
    }

    /// Reads what a place imports.
    fn read(&mut self, place: &[String], tokens: TokenStream) {
        for item in items(tokens) {
            if is_test(&item) || place.is_empty() && is_passed_on(&words(&item)) {
                continue;
            }
            let name = name_of_module(&item);
            match (&name, item.last()) {
                (Some(name), Some(TokenTree::Group(body))) => {
                    self.read(&[place, std::slice::from_ref(name)].concat(), body.stream());
                }
                (Some(_), _) => {}
                (None, _) => self.paths(place, &item),
            }
        }
    }

    /// Finds paths that begin with `crate` or `super`, and in the root also those of its modules.
    fn paths(&mut self, place: &[String], tokens: &[TokenTree]) {
        let mut at = 0;
        while at < tokens.len() {
            if let TokenTree::Group(group) = &tokens[at] {
                // Functions may have modules and tests of their own, which is rare enough.
                self.paths(place, &group.stream().into_iter().collect::<Vec<_>>());
            }
            let begins = at == 0 || !is_colon(&tokens[at - 1]);
            let first = ident(&tokens[at]).filter(|_| begins);
            let mut next = at + 1;
            let target = match first.as_deref() {
                Some("crate") => Some(0),
                Some("super") => {
                    let mut up = 1;
                    while follows(tokens, next)
                        .is_some_and(|token| ident(token).as_deref() == Some("super"))
                    {
                        up += 1;
                        next += 3;
                    }
                    place.len().checked_sub(up)
                }
                Some(name)
                    if place.is_empty()
                        && self.modules.contains(name)
                        && follows(tokens, next).is_some() =>
                {
                    self.arrow(place, name);
                    None
                }
                _ => None,
            };
            if let (Some(0), Some(token)) = (target, follows(tokens, next)) {
                for name in first_names(token) {
                    self.arrow(place, &name);
                }
            }
            at += 1;
        }
    }

    fn arrow(&mut self, place: &[String], name: &str) {
        let from = place.first().map_or(ROOT, String::as_str);
        let to = match self.modules.contains(name) {
            true => name,
            false => self.passed_on.get(name).map_or(ROOT, String::as_str),
        };
        if from != to {
            let to = to.to_owned();
            self.arrows.entry(from.to_owned()).or_default().insert(to);
        }
    }
}

/// Cuts a file, or a module, into its items, each with its attributes.
pub(crate) fn items(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let (mut items, mut item) = (Vec::new(), Vec::new());
    for token in tokens {
        let ends = match &token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => {
                group.delimiter() == Delimiter::Brace && !is_until_semicolon(&words(&item))
            }
            _ => false,
        };
        item.push(token);
        if ends {
            items.push(std::mem::take(&mut item));
        }
    }
    items.push(item);
    items
}

/// The words of an item that stand outside of all brackets.
fn words(item: &[TokenTree]) -> Vec<String> {
    item.iter().filter_map(ident).collect()
}

/// Whether braces do not end an item, because a semicolon does.
fn is_until_semicolon(words: &[String]) -> bool {
    let word = words.iter().find(|word| !["pub", "in"].contains(&&***word));
    let second = || words.iter().any(|word| word == "fn");
    match word.map(String::as_str) {
        Some("use" | "static" | "type") => true,
        Some("const") => !second(),
        _ => false,
    }
}

/// Whether an item is `pub use`.
fn is_passed_on(words: &[String]) -> bool {
    words.first().is_some_and(|word| word == "pub")
        && words.get(1).is_some_and(|word| word == "use")
}

/// Whether an item is there for tests alone.
pub(crate) fn is_test(item: &[TokenTree]) -> bool {
    item.iter().any(|token| {
        let TokenTree::Group(group) = token else {
            return false;
        };
        let text = group.stream().to_string().replace(' ', "");
        group.delimiter() == Delimiter::Bracket
            && (text.starts_with("cfg(test") || text.starts_with("cfg(all(test"))
    })
}

/// The name of a module, if the item is one.
fn name_of_module(item: &[TokenTree]) -> Option<String> {
    let words = words(item);
    let at = words.iter().position(|word| word == "mod")?;
    let is_module = words[..at].iter().all(|word| word == "pub");
    is_module.then(|| words.get(at + 1).cloned()).flatten()
}

/// The leaves of the tree behind `use`: path and name, `as` respected.
fn leaves(tree: &[TokenTree]) -> Vec<(Vec<String>, String)> {
    let (mut path, mut name, mut renamed) = (Vec::new(), String::new(), false);
    for token in tree {
        match token {
            TokenTree::Ident(word) if *word == "as" => renamed = true,
            TokenTree::Ident(word) if renamed => name = word.to_string(),
            TokenTree::Ident(word) => {
                name = word.to_string();
                path.push(name.clone());
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                let parts =
                    inner.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','));
                let all = parts.filter(|part| !part.is_empty()).flat_map(leaves);
                return all.map(|(rest, name)| ([path.clone(), rest].concat(), name)).collect();
            }
            _ => {}
        }
    }
    vec![(path, name)]
}

/// What stands behind `::`, if that is here.
fn follows(tokens: &[TokenTree], at: usize) -> Option<&TokenTree> {
    let colons = tokens.get(at).is_some_and(is_colon) && tokens.get(at + 1).is_some_and(is_colon);
    colons.then(|| tokens.get(at + 2)).flatten()
}

/// The first names of a path, or of all paths in braces.
fn first_names(token: &TokenTree) -> Vec<String> {
    match token {
        TokenTree::Group(group) => {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            let parts =
                inner.split(|token| matches!(token, TokenTree::Punct(p) if p.as_char() == ','));
            parts.filter_map(|part| ident(part.first()?)).filter(|name| name != "self").collect()
        }
        token => ident(token).into_iter().collect(),
    }
}

fn ident(token: &TokenTree) -> Option<String> {
    match token {
        TokenTree::Ident(ident) => Some(ident.to_string()),
        _ => None,
    }
}

fn is_colon(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':')
}

/// The circles of invented files, each as the modules in it.
fn of(files: &[(&str, &str)]) -> Vec<Vec<String>> {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    let circles = circles(&arrows(&files));
    circles.into_iter().map(|circle| circle.into_keys().collect()).collect()
}

#[test]
fn arrows_in_one_direction_are_no_circle() {
    let files = [
        ("lib.rs", "mod a; pub mod b; mod c; pub use c::Thing;"),
        ("a.rs", "use crate::b::B; use crate::Thing;"),
        ("b/mod.rs", "mod deep; use crate::c; pub use self::deep::B;"),
        ("b/deep.rs", "use super::x; use super::super::c::Thing;"),
        ("c.rs", "use std::fmt; use other::a::b;"),
    ];
    assert!(of(&files).is_empty());
}

#[test]
fn a_circle_is_found_however_it_is_written() {
    let root = ("lib.rs", "mod a; mod b; mod c;");
    let there = ("a.rs", "use crate::{c, b::{self, B}};");
    for back in [
        "use crate::a::A;",
        "use crate::{a::A};",
        "use super::a::A;",
        "fn f() -> u8 { let x = crate::a::f(); x }",
        "fn f() { tokio::select! { x = crate::a::f() => {} } }",
        "mod inner { use super::super::a::A; }",
        "mod inner { pub(super) fn f() { crate::a::f() } }",
        "impl crate::a::Trait for B {}",
        "#[cfg(feature = \"x\")] use crate::a::A;",
    ] {
        assert_eq!(of(&[root, there, ("b.rs", back)]), [["a", "b"]], "{back}");
    }
    // Over three, from a file further down.
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a/mod.rs", "mod deep;"),
        ("a/deep.rs", "use super::super::b::B;"),
        ("b.rs", "use crate::c::C;"),
        ("c.rs", "use crate::a::A;"),
    ];
    assert_eq!(of(&files), [["a", "b", "c"]]);
}

#[test]
fn what_the_root_passes_on_belongs_to_its_module_and_what_it_defines_to_the_root() {
    let passed = [
        ("lib.rs", "mod a; mod b; pub use a::{A as First, Other};"),
        ("a.rs", "use crate::b::B;"),
        ("b.rs", "use crate::First;"),
    ];
    assert_eq!(of(&passed), [["a", "b"]]);
    let defined = [("lib.rs", "mod a; use a::A; pub struct Own(A);"), ("a.rs", "use crate::Own;")];
    assert_eq!(of(&defined), [["a", "lib"]]);
}

#[test]
fn comments_strings_tests_and_other_crates_are_no_imports() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B;"),
        (
            "b.rs",
            "//! See [`crate::a`].\n// crate::a::A\n/* crate::a */ const X: &str = \"crate::a::A\";\n\
             #[cfg(test)] mod tests { use crate::a::A; }\n#[cfg(test)] mod more;\n\
             #[cfg(test)] use crate::a::{A, B}; #[cfg(all(test, unix))] fn f() { crate::a::f() }\n\
             use other::crate_::a; fn g() { b::a::f() }",
        ),
        ("b/more.rs", "use crate::a::A;"),
        ("main.rs", "use crate::a::A; use library::b;"),
    ];
    assert!(of(&files).is_empty());
}
