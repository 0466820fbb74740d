//! Pages of the list: every tool once, cursors that can be asked for again, and cursors that the
//! device never gave.
//!
//! What a listing must hold is judged on every transcript; here it is provoked, in any order.

use mcp_hil_core::catalogue::RequirementId as Id;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::context::Context;
use crate::parts::{Kind, each_of, swept};
use crate::steps::StepExt as _;
use crate::steps::{LONGEST, NO_METHOD, exactness, list, one_of, request};
use mcp_hil_scenario::{Action, Answer, Step, exchanges};

/// Exchanges that belong together.
type Op = Vec<Step>;

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    let is_paged = context.can("pages");
    let unknown = move |cursor: &str| unknown_cursor(is_paged, cursor);
    let names: Vec<String> = context.names().map(str::to_owned).collect();
    let foreign = each_of(
        [
            "mcp-hil.no-such-cursor",
            " ",
            "99999",
            "-1",
            "null",
            "\u{0}",
            "\\",
            "\"",
            "\u{1F600}",
            "${repeat:mcp-hil:64}",
        ]
        .map(|cursor| vec![unknown(cursor)])
        .to_vec(),
    );
    // A cursor of stock firmware is the name of a tool.
    let drawn = "mcp-hil[a-z.=/+-]{1,24}".prop_map(move |cursor| match names.contains(&cursor) {
        true => vec![unknown("mcp-hil")],
        false => vec![unknown(&cursor)],
    });
    let flags = vec![None, Some(json!(true)), Some(json!(false))];
    let first_pages = [
        json!({"cursor": ""}),
        json!({"withUserTools": false}),
        json!({"mcpHil": 1}),
        json!({"cursor": "", "withUserTools": false, "_meta": {"progressToken": 1}}),
    ];
    let mut kinds: Vec<Kind<Op>> = vec![
        one_of(flags).prop_map(|flag| vec![walk(flag)]).boxed().into(),
        foreign,
        each_of(first_pages.map(same_first_page).to_vec()),
        drawn.boxed().into(),
        Just(vec![walk(Some(json!(true))), walk(None)]).boxed().into(),
        Just(vec![request(NO_METHOD, json!({})), walk(None)]).boxed().into(),
    ];
    if context.can("pages") {
        kinds.push((2..=4_usize).prop_map(repeated).boxed().into());
        // No digit: the cursor may be one.
        let mutants = [
            "${cursor.second}~",
            "~${cursor.second}",
            "${cursor.second} ",
            "${cursor.second}${cursor.second}~",
            "${cursor.second}\n",
            "${cursor.second}\u{0}",
        ];
        let mut mutants = mutants.map(str::to_owned).to_vec();
        mutants.extend(near(context));
        let ops = mutants.iter().map(|cursor| vec![unknown(cursor)]);
        kinds.push(each_of(ops.collect()));
    }
    swept(number, kinds, 2, 10).prop_map(joined).boxed()
}

/// As many of the first as make an input: three that ask for a page four times more would be too many.
fn joined(ops: Vec<Op>) -> Vec<Step> {
    let mut all = Vec::new();
    for op in ops {
        if exchanges(&all) + exchanges(&op) <= LONGEST {
            all.extend(op);
        }
    }
    all
}

/// The cursor of the second page with one character changed, where that names no page: the cursor is
/// the name of a tool, as that of stock firmware.
fn near(context: &Context) -> Vec<String> {
    let named = |cursor: &&str| context.names().any(|name| name == *cursor);
    let Some(cursor) = context.second_cursor().filter(named) else {
        return Vec::new();
    };
    let mut shorter = cursor.to_owned();
    let last = shorter.pop();
    let mut other = shorter.clone();
    other.push(if last == Some('x') { 'y' } else { 'x' });
    // Of tools that are numbered, one without its last digit is another one: half of the name is none.
    let half = cursor.chars().take(cursor.chars().count() / 2).collect();
    let mut all = vec![shorter, other, half, cursor.to_uppercase(), cursor.replace('.', "_")];
    all.retain(|one| !one.is_empty() && context.names().all(|name| name != one));
    all.dedup();
    all
}

/// All pages.
fn walk(with_user_tools: Option<Value>) -> Step {
    Step::of(Action::List { with_user_tools, cursor: None })
}

/// A cursor that was never given. One that is special for its NUL shows nothing about a device that looks at none.
fn unknown_cursor(is_paged: bool, cursor: &str) -> Step {
    // Who has one page may look at no cursor, which no script has shown then.
    let requirement = match is_paged {
        true => exactness(cursor, Id::ListCursorUnknownRefused),
        false => Id::ListCursorUnknownRefused,
    };
    let mut step = request("tools/list", json!({"cursor": cursor}));
    if requirement == Id::JsonrpcNulInName {
        step = step.like("unknown-cursor");
    }
    step.answer(requirement, Answer::Any)
        .shows(requirement, "/result/tools/0", json!({"$absent": true}))
        .if_error(Id::ListCursorUnknownCode, json!({"code": -32602}))
}

/// Ways to ask for the first page, which is the same each time.
fn same_first_page(params: Value) -> Op {
    let requirement = match params.get("cursor") {
        Some(_) => Id::ListCursorEmpty,
        None => Id::ListStable,
    };
    let mut first = list();
    first.bind.insert("first".into(), "/result".into());
    let again = request("tools/list", params).answer(requirement, Answer::Result).shows(
        requirement,
        "/result",
        json!({"$page": "${first}"}),
    );
    vec![first, again]
}

/// The second page so many times more, and the first once more.
fn repeated(times: usize) -> Op {
    let mut first = list();
    first.bind.insert("first".into(), "/result".into());
    first.bind.insert("cursor".into(), "/result/nextCursor".into());
    let page = || {
        request("tools/list", json!({"cursor": "${cursor}"}))
            .answer(Id::ListCursorRepeatable, Answer::Result)
    };
    let mut second = page();
    second.bind.insert("second".into(), "/result".into());
    let mut op = vec![first, second];
    let same = |step: Step, name: &str| {
        step.shows(Id::ListCursorRepeatable, "/result", json!({"$page": name}))
    };
    op.extend((0..times).map(|_| same(page(), "${second}")));
    op.push(same(list().answer(Id::ListCursorRepeatable, Answer::Result), "${first}"));
    op
}
