//! Texts as short and as long as the schema of an argument allows, and one character shorter or longer.
//!
//! A length is a number of characters, whatever they take in bytes or in UTF-16 (JSON Schema 2020-12, validation, 6.3).
//! What else a text has to be no schema tells: of two lengths that both fit, one must not be refused where the other is
//! not.

use mcp_hil_core::bounds::Lengths;
use mcp_hil_core::capability::is_setting;
use mcp_hil_core::catalogue::RequirementId as Id;
use serde_json::json;

use crate::arguments::{Op, others, refusal};
use crate::context::{Argument, Context, Kind, Tool};
use crate::steps::StepExt as _;
use crate::steps::call;
use mcp_hil_scenario::Step;

/// Letters of one, two and four bytes.
const LETTERS: [&str; 3] = ["x", "\u{e9}", "\u{1f600}"];

/// Most bytes of a text: with all that is around it less than the 4,096 that some devices take at once.
const ROOM: usize = 3600;

/// How long a text is of which the length does not matter.
const USUAL: usize = 7;

/// All that is to be tried of the lengths of texts, the argument of one tool after the other.
pub(crate) fn ops(context: &Context) -> Vec<Op> {
    let fillable =
        |tool: &&Tool| tool.arguments.iter().all(|one| !one.required || one.kind != Kind::Other);
    let tools = context.tools().iter().filter(fillable);
    let of_tool = |tool| move |one: &Argument| Some(of_argument(tool, one, one.lengths?));
    tools.flat_map(|tool: &Tool| tool.arguments.iter().filter_map(of_tool(tool))).collect()
}

fn of_argument(tool: &Tool, argument: &Argument, lengths: Lengths) -> Op {
    let Lengths { least, most } = lengths;
    let usual = USUAL.max(least).min(most.unwrap_or(USUAL.max(least)));
    // What collects texts may be full.
    let short = tool.name.rsplit('.').next().unwrap_or_default();
    let takes_each = is_setting(&tool.name) || short.starts_with("show");
    let mut op = Op::new();
    for (nth, letter) in LETTERS.iter().enumerate() {
        let fits = |count: usize| count * letter.len() <= ROOM;
        let said = |count: usize| say(tool, argument, letter, count);
        if takes_each && fits(usual) {
            let name = format!("length{nth}-{}", argument.name);
            let mut plain = said(usual);
            plain.bind.insert(name.clone(), "/outcome".into());
            op.push(plain);
            let as_plain = json!({"$in": ["done", format!("${{{name}}}")]});
            let bounds = [Some(least), most].into_iter().flatten();
            let bounds = bounds.filter(|count| *count > 0 && *count != usual && fits(*count));
            op.extend(bounds.map(|count| {
                said(count).shows_as_bound(Id::ArgumentsLength, "/outcome", as_plain.clone())
            }));
        }
        // The first letter has been refused for its length when the others come: only what takes more bytes is news.
        let below = least.checked_sub(1).filter(|count| nth == 0 || *count > 0);
        let above = most.map(|count| count + 1).filter(|_| nth == 0);
        let refused = [below, above].into_iter().flatten().filter(|count| fits(*count));
        op.extend(refused.map(|count| refusal(said(count), Id::ArgumentsLength)));
    }
    op
}

/// A call with a text of so many letters.
fn say(tool: &Tool, argument: &Argument, letter: &str, count: usize) -> Step {
    let text = match count {
        0 => String::new(),
        _ => format!("${{repeat:{letter}:{count}}}"),
    };
    let mut arguments = others(tool, argument);
    arguments.insert(argument.name.clone(), text.into());
    call(&tool.name, arguments.into())
}
