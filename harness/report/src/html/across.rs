//! The devices of a run side by side: what they are, what only some of them can do, and each case on each of them.

use std::collections::BTreeSet;

use super::class;
use super::text::{anchor, escape, escape_cut};
use crate::across::{Across, Cell, compared};
use crate::lines;
use mcp_hil_record::Record;
use mcp_hil_record::event::DutReady;
use mcp_hil_record::text::layout::count;

/// Most cases that are listed in each of the tables, and most names in a row of what only some can do.
const CASES: usize = 1_000;
const NAMES: usize = 60;

/// Most characters of what a device says of itself.
const SAID: usize = 160;

/// A device over a transport.
type Link<'a> = (&'a str, &'a str);

/// The comparison as content of the page; nothing where there is one device only.
pub(super) fn html(record: &Record, links: &[Link<'_>]) -> String {
    let links = compared(links.iter().copied());
    if links.is_empty() {
        return String::new();
    }
    let mut across = Across::default();
    record.cases.iter().for_each(|case| across.take(case));
    let different = across.different(&links);
    let alike: Vec<&str> = across.cases().filter(|case| !different.contains(case)).collect();
    let cases = match &different[..] {
        [] => "<p>All cases came to the same on all devices.</p>".to_owned(),
        cases => format!(
            "<h3>{} in which they differ</h3>{}",
            count(cases.len(), "case"),
            table(cases, &links, &across)
        ),
    };
    let rest = match &alike[..] {
        [] => String::new(),
        cases => format!(
            "<details><summary>{} in which they do not</summary>{}</details>",
            count(cases.len(), "case"),
            table(cases, &links, &across)
        ),
    };
    format!(
        "<section id=\"devices\"><h2>Devices side by side</h2>{}{}{cases}{rest}</section>",
        identities(record, &links),
        surfaces(record, &links),
    )
}

fn heads(links: &[Link<'_>]) -> String {
    let heads = links.iter().map(|(dut, transport)| {
        format!("<th scope=\"col\">{}</th>", escape(&lines::link(dut, transport)))
    });
    heads.collect()
}

/// Cases as rows, devices as columns.
fn table(cases: &[&str], links: &[Link<'_>], across: &Across) -> String {
    let rows = cases.iter().take(CASES).map(|case| {
        let cells = links.iter().map(|link| cell(case, *link, across.cell(case, link.0, link.1)));
        let cells: String = cells.collect();
        format!("<tr><th scope=\"row\"><code>{}</code></th>{cells}</tr>", escape_cut(case, SAID))
    });
    let rows: String = rows.collect();
    let left = match cases.len().saturating_sub(CASES) {
        0 => String::new(),
        left => format!("<p class=\"cut\">{left} more; <code>report.json</code> has them all.</p>"),
    };
    format!(
        "<div class=\"wide\"><table class=\"plain across\"><thead><tr><th scope=\"col\">Case</th>{}</tr></thead>\
         <tbody>{rows}</tbody></table></div>{left}",
        heads(links)
    )
}

fn cell(case: &str, link: Link<'_>, cell: Option<&Cell>) -> String {
    let Some(Cell { status, broken }) = cell else {
        return "<td><span class=\"dim\">not run</span></td>".to_owned();
    };
    let name = format!("{}/{case}", lines::link(link.0, link.1));
    let broken: Vec<&str> = broken.iter().map(String::as_str).collect();
    format!(
        "<td><a class=\"badge {}\" href=\"#{}\" title=\"{}\">{}</a></td>",
        class(*status),
        anchor(&name),
        escape_cut(&broken.join(", "), 400),
        status.word(),
    )
}

/// What the devices say of themselves, where it is not the same.
fn identities(record: &Record, links: &[Link<'_>]) -> String {
    type Says = fn(&DutReady) -> Option<String>;
    let rows: [(&str, Says); 8] = [
        ("server", |ready| {
            let (name, version) = ready.server.as_ref()?;
            Some(format!("{name} {version}"))
        }),
        ("board", |ready| {
            let identity = ready.identity.as_ref()?;
            identity.board_name.clone().or_else(|| identity.board_type.clone())
        }),
        ("chip", |ready| ready.identity.as_ref()?.chip.clone()),
        ("firmware", |ready| {
            let identity = ready.identity.as_ref()?;
            let parts = [&identity.application, &identity.version].into_iter().flatten();
            let parts: Vec<&str> = parts.map(String::as_str).collect();
            (!parts.is_empty()).then(|| parts.join(" "))
        }),
        ("firmware hash", |ready| ready.identity.as_ref()?.elf_sha256.clone()),
        ("ESP-IDF", |ready| ready.identity.as_ref()?.idf_version.clone()),
        ("flash", |ready| {
            let bytes = ready.identity.as_ref()?.flash_bytes?;
            Some(format!("{} MiB", bytes >> 20))
        }),
        ("tools", |ready| Some(ready.facts.tools.len().to_string())),
    ];
    let mut body = String::new();
    let mut same: Vec<String> = Vec::new();
    for (name, says) in rows {
        let said: Vec<Option<String>> =
            links.iter().map(|link| ready(record, *link).and_then(says)).collect();
        match said.iter().all(|one| *one == said[0]) {
            true => {
                let value = said[0].as_ref();
                same.extend(value.map(|value| format!("{name} {}", escape_cut(value, SAID))));
            }
            false => {
                let cells = said.iter().map(|one| {
                    let text = one.as_ref().map(|text| escape_cut(text, SAID));
                    format!("<td>{}</td>", text.unwrap_or_else(|| "not told".to_owned()))
                });
                body +=
                    &format!("<tr><th scope=\"row\">{name}</th>{}</tr>", cells.collect::<String>());
            }
        }
    }
    let alike = match &same[..] {
        [] => String::new(),
        same => format!("<p class=\"dim\">The same on all: {}</p>", same.join(", ")),
    };
    if body.is_empty() {
        return alike;
    }
    format!(
        "{alike}<div class=\"wide\"><table class=\"plain across\"><thead><tr><th scope=\"col\">What they \
         say</th>{}</tr></thead><tbody>{body}</tbody></table></div>",
        heads(links)
    )
}

/// What only some of the devices have: tools, and capabilities.
fn surfaces(record: &Record, links: &[Link<'_>]) -> String {
    type Has = fn(&DutReady) -> BTreeSet<String>;
    let kinds: [(&str, Has); 3] = [
        ("Tools", |ready| ready.facts.tools.iter().cloned().collect()),
        ("User-only tools", |ready| ready.facts.user_tools.iter().cloned().collect()),
        ("Capabilities", |ready| ready.facts.capabilities.clone()),
    ];
    let mut html = String::new();
    for (title, has) in kinds {
        let each: Vec<BTreeSet<String>> =
            links.iter().map(|link| ready(record, *link).map(has).unwrap_or_default()).collect();
        let all: BTreeSet<&String> = each.iter().flatten().collect();
        let some: Vec<&String> =
            all.into_iter().filter(|name| !each.iter().all(|has| has.contains(*name))).collect();
        if some.is_empty() {
            continue;
        }
        let rows = some.iter().take(NAMES).map(|name| {
            let cells = each.iter().map(|has| match has.contains(*name) {
                true => "<td>yes</td>",
                false => "<td class=\"dim\">no</td>",
            });
            format!(
                "<tr><th scope=\"row\"><code>{}</code></th>{}</tr>",
                escape_cut(name, SAID),
                cells.collect::<String>()
            )
        });
        let rows: String = rows.collect();
        let left = match some.len().saturating_sub(NAMES) {
            0 => String::new(),
            left => format!("<p class=\"cut\">{left} more</p>"),
        };
        html += &format!(
            "<details><summary>{title} that only some have: {}</summary><div class=\"wide\"><table class=\"plain \
             across\"><thead><tr><th scope=\"col\">Name</th>{}</tr></thead><tbody>{rows}</tbody></table></div>{left}\
             </details>",
            some.len(),
            heads(links)
        );
    }
    html
}

/// How a device showed itself over a transport.
fn ready<'a>(record: &'a Record, (dut, transport): Link<'_>) -> Option<&'a DutReady> {
    record.duts.iter().rfind(|ready| ready.dut == dut && ready.transport == transport)
}
