//! A chart of times: a row for each kind of request on one scale, drawn without a script.
//!
//! Places are percentages, so that the chart is as wide as the page, and its texts are always of one size.

use mcp_hil_record::text::layout::time;

/// The height of a row, and where in it the bar lies, in pixels.
const ROW: usize = 38;
const BAR: usize = 22;

/// The height of the scale above the rows.
const SCALE: usize = 20;

/// Most decades that are all named.
const WIDEST: u32 = 4;

/// How much room a row has at both sides, in percent.
const MARGIN: f64 = 1.5;

/// A row: times in microseconds.
#[derive(Debug)]
pub(super) struct Bar {
    /// What was asked for, as content.
    pub name: String,
    pub fastest: u64,
    pub median: u64,
    /// What 95 of 100 took at most.
    pub most: u64,
    pub slowest: u64,
    /// The link to the slowest.
    pub place: String,
}

/// The rows in a chart, the slowest of all marked; nothing if there are none.
pub(super) fn html(bars: &[Bar]) -> String {
    let Some(worst) = bars.iter().max_by_key(|bar| bar.slowest) else {
        return String::new();
    };
    let decade = |us: u64| us.max(1).ilog10();
    let low = bars.iter().map(|bar| decade(bar.fastest)).min().unwrap_or_default();
    let high = decade(worst.slowest) + 1;
    let at = |us: u64| {
        let width = 100.0 - 2.0 * MARGIN;
        let share = ((us.max(1) as f64).log10() - f64::from(low)) / f64::from(high - low);
        MARGIN + width * share.clamp(0.0, 1.0)
    };
    let height = SCALE + bars.len() * ROW;
    let mut drawn = String::new();
    for power in low..=high {
        let us = 10_u64.pow(power);
        let (x, anchor) = match power {
            _ if power == low => (at(us), "start"),
            _ if power == high => (at(us), "end"),
            _ => (at(us), "middle"),
        };
        drawn += &format!(
            "<line class=\"grid\" x1=\"{x:.2}%\" x2=\"{x:.2}%\" y1=\"{}\" y2=\"{height}\"/>",
            SCALE - 4
        );
        // On a narrow screen there is no room for more.
        if high - low <= WIDEST || (power - low) % 2 == 0 {
            let label = time(us);
            drawn += &format!(
                "<text class=\"dim\" x=\"{x:.2}%\" y=\"12\" text-anchor=\"{anchor}\">{label}</text>"
            );
        }
    }
    for (number, bar) in bars.iter().enumerate() {
        let top = SCALE + number * ROW;
        let class = if std::ptr::eq(bar, worst) { "worst" } else { "row" };
        let (text, middle) = (top + 13, top + BAR);
        let (left, right) = (at(bar.fastest), at(bar.slowest));
        let (begin, width) = (at(bar.median), (at(bar.most) - at(bar.median)).max(0.6));
        drawn += &format!(
            "<g class=\"{class}\"><text x=\"0\" y=\"{text}\">{}</text><text x=\"100%\" y=\"{text}\" \
             text-anchor=\"end\">{}</text><line x1=\"{left:.2}%\" x2=\"{right:.2}%\" y1=\"{middle}\" \
             y2=\"{middle}\"/><rect x=\"{begin:.2}%\" y=\"{}\" width=\"{width:.2}%\" \
             height=\"8\"/><circle cx=\"{right:.2}%\" cy=\"{middle}\" r=\"4\"/></g>",
            bar.name,
            time(bar.slowest),
            middle - 4,
        );
    }
    format!(
        "<figure class=\"chart\"><svg width=\"100%\" height=\"{height}\" role=\"img\" \
         aria-label=\"Times by kind of request; the table below has the numbers\">{drawn}</svg>\
         <figcaption class=\"dim\">Bar: median to 95th percentile; line: fastest to slowest. The slowest of \
         all, {} for <code>{}</code>, is <a href=\"#{}\">here</a>.</figcaption></figure>",
        time(worst.slowest),
        worst.name,
        worst.place,
    )
}
