//! Which device it was, and what the verdicts stand on: identity and provenance.

use super::text::{escape, escape_cut};
use crate::lines;
use mcp_hil_record::Record;
use mcp_hil_record::about::stood_in;
use mcp_hil_record::event::{DutInfo, DutReady};
use mcp_hil_record::text::layout::time;

/// Most names of tools that are listed, and the characters of a name or value.
const TOOLS: usize = 200;
const NAME: usize = 160;

/// One card for each device over each transport.
pub(super) fn html(record: &Record, links: &[(&str, &str)]) -> String {
    links.iter().map(|link| card(record, *link)).collect()
}

fn card(record: &Record, (dut, transport): (&str, &str)) -> String {
    let mut planned = record.run.duts.iter();
    let planned = planned.rfind(|info| info.name == dut && info.transport == transport);
    let mut ready = record.duts.iter();
    let ready = ready.rfind(|ready| ready.dut == dut && ready.transport == transport);
    let mut rows = Vec::new();
    if let Some(info) = planned {
        provenance(info, &mut rows);
    }
    match ready {
        Some(ready) => identity(ready, &mut rows),
        None => rows.push(("seen", "it never became ready".to_owned())),
    }
    let list: String =
        rows.iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>")).collect();
    let more = ready.map_or_else(String::new, surface);
    format!(
        "<section class=\"device\"><h3>{}</h3><dl>{list}</dl>{more}</section>",
        escape_cut(&lines::link(dut, transport), NAME)
    )
}

/// How it was run, and what that cannot show.
fn provenance(info: &DutInfo, rows: &mut Vec<(&'static str, String)>) {
    rows.push(("target", format!("<code>{}</code>", escape_cut(&info.target, NAME))));
    if let Some(instead) = stood_in(std::slice::from_ref(info)) {
        rows.push(("stand-in", escape_cut(&instead, 600)));
    }
    let level = match &*info.level {
        "" => String::new(),
        level => format!("<b>{}</b>: ", escape_cut(level, NAME)),
    };
    rows.push(("verdicts are based on", level + &escape_cut(&info.fidelity, 400)));
    let hidden = match info.cannot_show.is_empty() {
        true => "everything can be observed".to_owned(),
        false => escape_cut(&info.cannot_show.join(", "), 600),
    };
    rows.push(("not observed", hidden));
}

/// What it says that it is.
fn identity(ready: &DutReady, rows: &mut Vec<(&'static str, String)>) {
    let mut told = |name: &'static str, value: Option<String>| {
        if let Some(value) = value {
            rows.push((name, escape_cut(&value, NAME)));
        }
    };
    let server = ready.server.as_ref();
    told("server", server.map(|(name, version)| format!("{name} {version}")));
    if let Some(identity) = &ready.identity {
        let board = [&identity.board_type, &identity.board_name];
        let board: Vec<&str> = board.into_iter().flatten().map(String::as_str).collect();
        told("board", (!board.is_empty()).then(|| board.join(", ")));
        told("chip", identity.chip.clone());
        let firmware = [&identity.application, &identity.version];
        let firmware: Vec<&str> = firmware.into_iter().flatten().map(String::as_str).collect();
        told("firmware", (!firmware.is_empty()).then(|| firmware.join(" ")));
        told("firmware hash", identity.elf_sha256.clone());
        told("ESP-IDF", identity.idf_version.clone());
        told("MAC", identity.mac.clone());
        let flash = identity.flash_bytes;
        told("flash", flash.map(|bytes| format!("{} MiB", bytes >> 20)));
        let partitions = &identity.partitions;
        told("partitions", (!partitions.is_empty()).then(|| partitions.join(", ")));
    }
    rows.push(("ready after", time(ready.took_us)));
}

/// Its tools and capabilities, folded.
fn surface(ready: &DutReady) -> String {
    let facts = &ready.facts;
    let names = |names: &[String]| -> String {
        let left = names.len().saturating_sub(TOOLS);
        let shown: Vec<String> = names
            .iter()
            .take(TOOLS)
            .map(|name| format!("<code>{}</code>", escape_cut(name, NAME)))
            .collect();
        match left {
            0 => shown.join(" "),
            left => format!("{} and {left} more", shown.join(" ")),
        }
    };
    let mut html = String::new();
    let capabilities: Vec<String> = facts.capabilities.iter().cloned().collect();
    for (title, list) in [
        ("tools", &facts.tools),
        ("user tools", &facts.user_tools),
        ("capabilities", &capabilities),
    ] {
        if !list.is_empty() {
            html += &format!(
                "<details><summary>{} {}</summary><p class=\"names\">{}</p></details>",
                list.len(),
                escape(title),
                names(list)
            );
        }
    }
    html
}
