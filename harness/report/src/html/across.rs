//! The devices of a run side by side: what they are, what only some of them can do, and each case on each of them.

use std::collections::BTreeSet;

use super::class;
use super::text::{anchor, escape, escape_cut};
use crate::across::{Across, Cell, compared};
use crate::lines;
use mcp_hil_judge::compare::capabilities::Look;
use mcp_hil_record::Record;
use mcp_hil_record::event::DutReady;
use mcp_hil_record::text::layout::count;

/// Most cases that are listed in each of the tables, and most names in a row of what only some can do.
const CASES: usize = 1_000;
const NAMES: usize = 60;

/// Most characters of what a device says of itself.
const SAID: usize = 160;

/// Most devices that have a column each, whatever is in it. Where there are more, those that are alike share one.
const COLUMNS: usize = 6;

/// A device over a transport.
type Link<'a> = (&'a str, &'a str);

/// The devices of a column.
type Column<'a> = Vec<Link<'a>>;

/// The columns of a table: `of` is what a device would have in its own.
fn columns<'a, T: PartialEq>(links: &[Link<'a>], of: impl Fn(Link<'a>) -> T) -> Vec<Column<'a>> {
    if links.len() <= COLUMNS {
        return links.iter().map(|link| vec![*link]).collect();
    }
    let mut columns: Vec<(T, Column<'a>)> = Vec::new();
    for link in links {
        let own = of(*link);
        match columns.iter_mut().find(|(shared, _)| *shared == own) {
            Some((_, column)) => column.push(*link),
            None => columns.push((own, vec![*link])),
        }
    }
    columns.into_iter().map(|(_, column)| column).collect()
}

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
            "<details><summary>{} in which they do not differ</summary>{}</details>",
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

fn heads(columns: &[Column<'_>]) -> String {
    let heads = columns.iter().map(|column| {
        let names = column.iter().map(|(dut, transport)| escape(&lines::link(dut, transport)));
        let names: Vec<String> = names.collect();
        let head = match &names[..] {
            [first, others @ ..] if !others.is_empty() => format!(
                "<details><summary>{first} and {} more</summary>{}</details>",
                others.len(),
                others.join("<br>")
            ),
            alone => alone.concat(),
        };
        format!("<th scope=\"col\">{head}</th>")
    });
    heads.collect()
}

/// Cases as rows, devices as columns.
fn table(cases: &[&str], links: &[Link<'_>], across: &Across) -> String {
    let cases_shown = &cases[..cases.len().min(CASES)];
    let columns = columns(links, |(dut, transport)| {
        cases_shown.iter().map(|case| across.cell(case, dut, transport)).collect::<Vec<_>>()
    });
    let rows = cases_shown.iter().map(|case| {
        let first = columns.iter().map(|column| column[0]);
        let cells = first.map(|link| cell(case, link, across.cell(case, link.0, link.1)));
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
        heads(&columns)
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
    let said = |link: Link<'_>| rows.map(|(_, says)| ready(record, link).and_then(says));
    let columns = columns(links, said);
    let each: Vec<_> = columns.iter().map(|column| said(column[0])).collect();
    let mut body = String::new();
    let mut same: Vec<String> = Vec::new();
    for (at, (name, _)) in rows.iter().enumerate() {
        let said = each.iter().map(|all| &all[at]);
        let first = &each[0][at];
        if said.clone().all(|one| one == first) {
            let value = first.as_ref();
            same.extend(value.map(|value| format!("{name} {}", escape_cut(value, SAID))));
            continue;
        }
        let cells: String = said.fold(String::new(), |cells, one| {
            let text = one.as_ref().map(|text| escape_cut(text, SAID));
            cells + &format!("<td>{}</td>", text.unwrap_or_else(|| "not told".to_owned()))
        });
        body += &format!("<tr><th scope=\"row\">{name}</th>{cells}</tr>");
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
        heads(&columns)
    )
}

/// What only some of the devices have: tools, and capabilities.
fn surfaces(record: &Record, links: &[Link<'_>]) -> String {
    type Has = fn(&DutReady) -> BTreeSet<String>;
    let kinds: [(&str, Has); 3] = [
        ("Tools", |ready| ready.facts.tools.iter().cloned().collect()),
        ("User-only tools", |ready| ready.facts.user_tools.iter().cloned().collect()),
        ("Capabilities", |ready| {
            let all = ready.facts.capabilities.iter();
            all.filter(|name| Look::is_of_the_device(name)).cloned().collect()
        }),
    ];
    let mut html = String::new();
    for (title, has) in kinds {
        let own = |link: Link<'_>| ready(record, link).map(has).unwrap_or_default();
        let columns = columns(links, own);
        let each: Vec<BTreeSet<String>> = columns.iter().map(|column| own(column[0])).collect();
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
            heads(&columns)
        );
    }
    html
}

/// How a device showed itself over a transport.
fn ready<'a>(record: &'a Record, (dut, transport): Link<'_>) -> Option<&'a DutReady> {
    record.duts.iter().rfind(|ready| ready.dut == dut && ready.transport == transport)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_that_are_alike_share_a_column_where_there_are_many() {
        let names: Vec<String> = (0..COLUMNS + 2).map(|number| format!("d{number}")).collect();
        let links: Vec<Link<'_>> = names.iter().map(|name| (&**name, "websocket")).collect();
        let is_other = |(dut, _): Link<'_>| dut == "d3";
        let few = columns(&links[..COLUMNS], is_other);
        assert!(few.len() == COLUMNS && few.iter().all(|column| column.len() == 1));
        let many = columns(&links, is_other);
        assert_eq!(many.iter().map(Vec::len).collect::<Vec<_>>(), [COLUMNS + 1, 1]);
        assert_eq!(many[1], [("d3", "websocket")]);
        let heads = heads(&many);
        assert!(heads.contains("d0/ws and 6 more") && heads.contains(">d3/ws</th>"), "{heads}");
        assert!(heads.contains("d4/ws<br>d5/ws"), "{heads}");
    }
}
