//! Texts between two marks, for each argument that takes any text: where a tool gives the text back, or another one tells
//! it later, what stands between the marks must come back, too.

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::conversation::{TEXT_BEGINS, TEXT_ENDS};
use proptest::prelude::*;
use serde_json::json;

use crate::context::Context;
use crate::steps::StepExt as _;
use crate::steps::{call, object, put_back};
use crate::strings;
use mcp_hil_scenario::{Action, Answer, Outgoing, Step};

/// Lengths of the whole text in bytes around which buffers end. What is longer a parser may refuse (RFC 8259,
/// section 9).
const LENGTHS: [usize; 14] = [31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512];

/// Lengths of the whole text at which larger buffers end.
const LONGER: [usize; 8] = [1000, 1023, 1024, 1025, 1536, 2047, 2048, 2049];

/// Lengths that a parser may refuse, and that every device survives.
const LONGEST: [usize; 4] = [4097, 8193, 16_385, 60_000];

/// Long texts of letters of several bytes: wherever a buffer ends, it cuts one of some of them.
const WIDE: [&str; 6] = [
    "${repeat:\u{e9}:1030}",
    "x${repeat:\u{e9}:1030}",
    "${repeat:\u{4e2d}:690}",
    "x${repeat:\u{4e2d}:690}",
    "xx${repeat:\u{4e2d}:690}",
    "${repeat:\u{1f600}:520}",
];

/// What careless code changes: by writing or reading JSON by hand, by formats, by another encoding, by tidying up.
const CONTENTS: [&str; 18] = [
    "a   b \t\t c",
    "one\ntwo\r\nthree",
    "%s %n %d %% %25 %20",
    r"\n \t \\ \u0041 \",
    r#"'one' "two" `three`"#,
    r#"{"a":[1,"b",null]}"#,
    "<b>&amp;</b> &quot;",
    "\u{e9}\u{f1} e\u{301}n\u{303}",
    "\u{4e2d}\u{6587}, \u{ac00} \u{1112}\u{1161}\u{11ab}",
    "\u{1f600}\u{1f468}\u{200d}\u{1f469} \u{10ffff}",
    "\u{202e}\u{5d0}\u{627}\u{202c}",
    "\u{1}\u{1b}[31m\u{7f}",
    "\u{feff}\u{2028}\u{a0}\u{ad}",
    "+1, 007, 1e3, 0x41, true, null",
    "AbC aBc \u{130}\u{131} \u{df}",
    "${repeat:\u{e9}:200}",
    "${repeat:\u{4e2d}:140}",
    "x${repeat:\u{1f600}:110}",
];

/// Texts without marks, which a tool whose words are known tells as they are: careless code takes them for something
/// else than a text, or tidies up what is at their ends.
const BARE: [&str; 17] = [
    "",
    " mcp-hil",
    "mcp-hil ",
    "mcp-hil\n",
    "\tmcp-hil",
    "null",
    "true",
    "0",
    "007",
    "-1.50",
    "{\"a\": 1}",
    "[1, 2]",
    "mcp-hil;a,b=c&d",
    "// mcp-hil # $HOME ~",
    "\u{fffd}\u{e000}\u{f8ff}",
    "\u{fffe}\u{ffff}",
    "\"mcp-hil\"",
];

/// Texts that are sent as they are, and then with each character beyond ASCII, and of control, as an escape, as many
/// libraries do.
const ESCAPED: [&str; 2] = ["\u{fc}\u{e9}\u{4f60}\u{597d} \u{1f600}", "\u{8}\u{c}\u{7f}"];

/// How many inputs an argument takes.
const KINDS: usize = 4;

/// How many inputs there are.
pub(super) fn inputs(context: &Context) -> u32 {
    u32::try_from(KINDS * strings::arguments(context).count()).unwrap_or(u32::MAX)
}

pub(super) fn steps(context: &Context, number: u32) -> BoxedStrategy<Vec<Step>> {
    let mut arguments = strings::arguments(context);
    let Some((tool, argument)) = arguments.nth(number as usize / KINDS) else {
        return Just(Vec::new()).boxed();
    };
    let marks = TEXT_BEGINS.len() + TEXT_ENDS.len();
    let marked = |text: &str| format!("{TEXT_BEGINS}{text}{TEXT_ENDS}");
    let of_length = |bytes: &usize| marked(&format!("${{repeat:x:{}}}", bytes - marks));
    let texts: Vec<String> = match number as usize % KINDS {
        // Plain ones first: they show what the answers of a tool are like.
        0 => LENGTHS.iter().map(of_length).collect(),
        1 => CONTENTS.iter().chain(&ESCAPED).map(|text| marked(text)).collect(),
        2 => BARE.map(str::to_owned).to_vec(),
        _ => LONGER.iter().map(of_length).chain(WIDE.map(marked)).collect(),
    };
    let reader = context.reader(&tool);
    let plain = texts.into_iter().map(|text| call(&tool, object(&argument, text.into()).into()));
    let escaped = match number as usize % KINDS {
        1 => ESCAPED.map(|text| escaped(&tool, &argument, &marked(text))).to_vec(),
        _ => Vec::new(),
    };
    let said = plain.chain(escaped).flat_map(|said| {
        let said = said.answer(Id::ArgumentsStringHostile, Answer::Any);
        [Some(said), reader.map(|reader| call(reader, json!({})))].into_iter().flatten()
    });
    let survived = match number as usize % KINDS {
        3 => &LONGEST[..],
        _ => &[],
    };
    let survived = survived.iter().map(|bytes| {
        strings::call_of_no_session(&tool, &argument, &format!("${{repeat:x:{bytes}}}"))
    });
    Just(said.chain(survived).chain(context.has_volume().then(|| put_back(context))).collect())
        .boxed()
}

/// A call with a text whose characters beyond ASCII are escaped.
fn escaped(tool: &str, argument: &str, text: &str) -> Step {
    let params = json!({"name": tool, "arguments": {argument: text}}).to_string();
    let params: String = params.chars().map(in_ascii).collect();
    let message =
        format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{params},"id":${{id}}}}"#);
    Step::of(Action::Send(Outgoing::PayloadText(message)))
}

fn in_ascii(character: char) -> String {
    let mut units = [0; 2];
    match character {
        '\u{7f}' | '\u{80}'.. => {
            let units = character.encode_utf16(&mut units).iter();
            units.map(|unit| format!("\\u{unit:04x}")).collect()
        }
        _ => character.to_string(),
    }
}
