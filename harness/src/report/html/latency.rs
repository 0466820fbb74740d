//! How long answers took, as a histogram and by what was asked for.

use std::collections::{BTreeMap, HashMap};

use mcp_hil_core::transcript::{Entry, What};
use serde_json::Value;

use super::text::escape_cut;
use crate::report::layout::count;

/// Upper ends of the bars, in microseconds; the last bar takes the rest.
const ENDS: [u64; 17] = [
    50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 5_000_000, 10_000_000,
];

/// Most kinds of requests in the table, and most open requests that are remembered.
const KINDS: usize = 12;
const OPEN: usize = 10_000;

/// Most characters of a method.
const METHOD: usize = 48;

/// How long the answers of one device over one transport took.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    /// Requests that wait for their answer, by id: what was asked for, and when.
    open: HashMap<String, (String, u64)>,
    /// Microseconds of each answer, by what was asked for.
    taken: BTreeMap<String, Vec<u64>>,
}

impl Latencies {
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
                _ => method.to_owned(),
            };
            if self.open.len() >= OPEN {
                self.open.clear();
            }
            self.open.insert(id, (what, entry.at_us));
        } else if let Some((what, at)) = self.open.remove(&id) {
            let kinds = self.taken.len();
            // Generated names are many, and no kind of their own.
            let what = match self.taken.contains_key(&what) || kinds < OPEN {
                true => what,
                false => "others".to_owned(),
            };
            let took = entry.at_us.saturating_sub(at);
            self.taken.entry(what).or_default().push(took);
        }
    }

    /// The histogram and the table; nothing where nothing was answered.
    pub(super) fn html(mut self, link: &str) -> String {
        let mut all: Vec<u64> = self.taken.values().flatten().copied().collect();
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
            "<section class=\"latency\"><h3>{}</h3><p class=\"dim\">{}: median {}, 95 of 100 \
             within {}, slowest {}</p><table class=\"bars\"><caption class=\"hide\">Histogram: how \
             many answers took how long</caption><tbody>",
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
        let mut kinds: Vec<(&String, &mut Vec<u64>)> = self.taken.iter_mut().collect();
        kinds.sort_by_key(|(_, taken)| std::cmp::Reverse(taken.len()));
        html += "<div class=\"wide\"><table class=\"plain\"><thead><tr><th>Asked for</th>\
                 <th class=\"num\">answers</th><th class=\"num\">median</th><th class=\"num\">95 %</th>\
                 <th class=\"num\">slowest</th></tr></thead><tbody>";
        let left = kinds.len().saturating_sub(KINDS);
        for (what, taken) in kinds.into_iter().take(KINDS) {
            taken.sort_unstable();
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
            html += &format!("<p class=\"dim\">and {left} more that were asked for less often</p>");
        }
        html += "</section>";
        html
    }
}

/// The value that so many of a hundred do not exceed, among sorted ones; none are 0.
fn part(sorted: &[u64], percent: usize) -> u64 {
    let at = (sorted.len() * percent).div_ceil(100).max(1) - 1;
    sorted.get(at).copied().unwrap_or_default()
}

/// A time in the unit that suits it: `50 µs`, `1.2 ms`, `3 s`.
pub(super) fn time(micros: u64) -> String {
    let (unit, size) = match micros {
        0..1_000 => return format!("{micros} µs"),
        1_000..1_000_000 => ("ms", 1_000),
        _ => ("s", 1_000_000),
    };
    let (whole, tenth) = (micros / size, micros % size * 10 / size);
    match tenth {
        0 => format!("{whole} {unit}"),
        _ if whole >= 100 => format!("{whole} {unit}"),
        _ => format!("{whole}.{tenth} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let told = [0, 999, 1_000, 1_250, 150_900, 2_000_000, 61_500_000].map(time);
        assert_eq!(
            told,
            [
                "0 µs", "999 µs", "1 ms", "1.2 ms", "150 ms", "2 s", "61.5 s"
            ]
        );
    }

    #[test]
    fn parts_of_a_hundred_are_values_that_came() {
        let ten: Vec<u64> = (1..=10).collect();
        assert_eq!(
            [50, 95, 100].map(|percent| part(&ten, percent)),
            [5, 10, 10]
        );
        assert_eq!(part(&[7], 50), 7);
        assert_eq!(part(&[], 50), 0);
    }
}
