//! How long answers took: as a histogram, as a chart by what was asked for, and in numbers.

use std::collections::{BTreeMap, HashMap};

use mcp_hil_core::timing::Row;
use mcp_hil_core::transcript::{Entry, What};
use serde_json::Value;

use super::chart::{self, Bar};
use super::text::escape_cut;
use mcp_hil_record::text::layout::{count, time};

/// Upper ends of the bars, in microseconds; the last bar takes the rest.
const ENDS: [u64; 17] = [
    50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 5_000_000, 10_000_000,
];

/// Most kinds of requests in the table, and most open requests that are remembered.
const KINDS: usize = 12;
const OPEN: usize = 10_000;

/// Most kinds of requests in the chart, and how many answers one needs to get there.
const CHARTED: usize = 10;
const FEW: usize = 3;

/// Methods that are kinds of their own.
const METHODS: [&str; 4] = ["initialize", "ping", "tools/call", "tools/list"];

/// Most characters of a method.
const METHOD: usize = 48;

/// How long the answers of one device over one transport took.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    /// The name of the case whose transcript is being read.
    case: String,
    /// Requests that wait for their answer, by id: what was asked for, and when.
    open: HashMap<String, (String, u64)>,
    /// The answers, by what was asked for.
    taken: BTreeMap<String, Taken>,
}

/// How long the answers to one kind of request took.
#[derive(Debug, Default)]
struct Taken {
    /// Microseconds of each.
    all: Vec<u64>,
    /// The slowest, and where it is: the name of its case, and its position.
    slowest: u64,
    place: (String, u64),
}

impl Latencies {
    /// The transcript of another case begins; `anchor` is what the case is called on the page.
    pub(super) fn begin(&mut self, anchor: &str) {
        anchor.clone_into(&mut self.case);
    }

    /// Takes the next entry of a transcript.
    pub(super) fn take(&mut self, entry: &Entry) {
        let (frame, sent) = match &entry.what {
            What::Sent { frame, .. } => (frame, true),
            What::Received { frame } => (frame, false),
            _ => return,
        };
        let Ok(message) = serde_json::from_slice::<Value>(frame.bytes()) else {
            return;
        };
        let Some(payload) = message.get("payload").filter(|payload| payload.is_object()) else {
            return;
        };
        let id = match &payload["id"] {
            Value::Null => return,
            id => id.to_string(),
        };
        if sent {
            let Some(method) = payload["method"].as_str() else {
                return;
            };
            let what = match payload["params"]["name"].as_str() {
                Some(tool) if method == "tools/call" => format!("call {tool}"),
                _ if METHODS.contains(&method) => method.to_owned(),
                // Generated names are many, and no kind of their own.
                _ => "another method".to_owned(),
            };
            if self.open.len() >= OPEN {
                self.open.clear();
            }
            self.open.insert(id, (what, entry.at_us));
        } else if let Some((what, at)) = self.open.remove(&id) {
            let kinds = self.taken.len();
            let what = match self.taken.contains_key(&what) || kinds < OPEN {
                true => what,
                false => "others".to_owned(),
            };
            let took = entry.at_us.saturating_sub(at);
            let taken = self.taken.entry(what).or_default();
            if taken.all.is_empty() || took > taken.slowest {
                taken.slowest = took;
                taken.place = (self.case.clone(), entry.seq);
            }
            taken.all.push(took);
        }
    }

    /// The histogram, the chart and the table; nothing where nothing was answered.
    pub(super) fn html(mut self, link: &str) -> String {
        let mut all: Vec<u64> = self.taken.values().flat_map(|taken| &taken.all).copied().collect();
        if all.is_empty() {
            return String::new();
        }
        all.sort_unstable();
        let bar = |took: &u64| ENDS.partition_point(|end| end <= took);
        let mut bars = vec![0usize; ENDS.len() + 1];
        all.iter().for_each(|took| bars[bar(took)] += 1);
        let first = bar(&all[0]);
        let last = bar(&all[all.len() - 1]);
        let most = bars.iter().copied().max().unwrap_or(1).max(1);
        let mut html = format!(
            "<section class=\"latency\"><h3>{}</h3><p class=\"dim\">{}: median {}, 95th percentile \
             {}, slowest {}</p><table class=\"bars\"><caption class=\"hide\">Histogram: how many \
             answers took how long</caption><tbody>",
            escape_cut(link, 80),
            count(all.len(), "answer"),
            time(part(&all, 50)),
            time(part(&all, 95)),
            time(all[all.len() - 1]),
        );
        for (at, number) in bars.iter().enumerate().take(last + 1).skip(first) {
            let label = match ENDS.get(at) {
                Some(end) => format!("&lt; {}", time(*end)),
                None => format!("≥ {}", time(ENDS[ENDS.len() - 1])),
            };
            // What there is must be seen.
            let width = (number * 1_000 / most).max(usize::from(*number > 0) * 4);
            html += &format!(
                "<tr><th scope=\"row\">{label}</th><td><i style=\"width:{}.{}%\"></i></td>\
                 <td class=\"num\">{number}</td></tr>",
                width / 10,
                width % 10
            );
        }
        html += "</tbody></table>";
        self.taken.values_mut().for_each(|taken| taken.all.sort_unstable());
        html += &self.chart();
        let mut kinds: Vec<(&String, &Vec<u64>)> =
            self.taken.iter().map(|(what, taken)| (what, &taken.all)).collect();
        kinds.sort_by_key(|(_, taken)| std::cmp::Reverse(taken.len()));
        html += "<div class=\"wide\"><table class=\"plain\"><thead><tr><th>Request</th><th \
                 class=\"num\">answers</th><th class=\"num\">median</th><th class=\"num\">95 \
                 %</th><th class=\"num\">slowest</th></tr></thead><tbody>";
        let left = kinds.len().saturating_sub(KINDS);
        for (what, taken) in kinds.into_iter().take(KINDS) {
            html += &format!(
                "<tr><td><code>{}</code></td><td class=\"num\">{}</td><td class=\"num\">{}</td>\
                 <td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
                escape_cut(what, METHOD),
                taken.len(),
                time(part(taken, 50)),
                time(part(taken, 95)),
                time(taken[taken.len() - 1]),
            );
        }
        html += "</tbody></table></div>";
        if left > 0 {
            html += &format!("<p class=\"dim\">and {left} less frequent ones</p>");
        }
        html += "</section>";
        html
    }

    /// The slowest kinds, one above the other.
    fn chart(&self) -> String {
        let mut kinds: Vec<(&String, &Taken)> = self.taken.iter().collect();
        kinds.sort_by_key(|(_, taken)| std::cmp::Reverse(taken.slowest));
        // One answer is no distribution; but the slowest of all is there in any case.
        let few = |(at, (_, taken)): &(usize, (&String, &Taken))| *at > 0 && taken.all.len() < FEW;
        let bars: Vec<Bar> = kinds
            .into_iter()
            .enumerate()
            .filter(|kind| !few(kind))
            .map(|(_, kind)| kind)
            .take(CHARTED)
            .map(|(what, taken)| Bar {
                name: escape_cut(what, METHOD),
                fastest: part(&taken.all, 1),
                median: part(&taken.all, 50),
                most: part(&taken.all, 95),
                slowest: taken.slowest,
                place: format!("{}@{}", taken.place.0, taken.place.1),
            })
            .collect();
        chart::html(&bars)
    }
}

/// What the harness went by when it waited: the times of each kind of request, and how often one stalled.
pub(super) fn timing(link: &str, rows: &[Row]) -> String {
    let mut html = format!(
        "<section class=\"latency\"><h3>{}: latencies that waiting times were based on</h3><div \
         class=\"wide\"><table class=\"plain\"><thead><tr><th>Kind of request</th><th \
         class=\"num\">answers</th><th class=\"num\">median</th><th class=\"num\">99 %</th><th \
         class=\"num\">slowest</th><th class=\"num\">stalls</th></tr></thead><tbody>",
        escape_cut(link, 80)
    );
    for row in rows {
        html += &format!(
            "<tr><td><code>{}</code></td><td class=\"num\">{}</td><td class=\"num\">{}</td>\
             <td class=\"num\">{}</td><td class=\"num\">{}</td><td class=\"num\">{}</td></tr>",
            escape_cut(&row.kind, METHOD),
            row.answers,
            time(row.median_us),
            time(row.p99_us),
            time(row.worst_us),
            row.stalls,
        );
    }
    html + "</tbody></table></div></section>"
}

/// The value that so many of a hundred do not exceed, among sorted ones; none are 0.
fn part(sorted: &[u64], percent: usize) -> u64 {
    let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_hundred_are_values_that_came() {
        let ten: Vec<u64> = (1..=10).collect();
        assert_eq!([50, 95, 100].map(|percent| part(&ten, percent)), [5, 10, 10]);
        assert_eq!(part(&[7], 50), 7);
        assert_eq!(part(&[], 50), 0);
    }
}
