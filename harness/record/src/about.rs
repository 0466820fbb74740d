//! What the verdicts of a run are about: the firmware of whoever runs it, or something else.

use crate::event::{DutInfo, Summary};
use crate::text::clean;

/// That a device stands in for a declared board, and why; one text for all transports.
pub fn stood_in(duts: &[DutInfo]) -> Option<String> {
    let (dut, board) = duts.iter().find_map(|dut| Some((dut, dut.in_place_of.as_ref()?)))?;
    let text = format!(
        "`{}` replaces the board `{}` of `{}`, which is not attached ({})",
        dut.name, board.board, board.file, board.why
    );
    Some(clean::visible(&text).into_owned())
}

/// What was judged, where that is not the device that somebody may take it for: the reference device of this
/// project, or one in the place of a declared board.
pub fn judged(duts: &[DutInfo], summary: &Summary) -> Option<String> {
    let mut names: Vec<String> = duts.iter().map(|dut| format!("`{}`", dut.name)).collect();
    names.dedup();
    let names = names.join(", ");
    let is_reference = !duts.is_empty() && duts.iter().all(|dut| dut.reference);
    let board = duts.iter().find_map(|dut| dut.in_place_of.as_ref());
    let board = board.map(|board| {
        format!("replaced the board `{}` of `{}`, which is not attached", board.board, board.file)
    });
    let text = match (is_reference, board) {
        (true, Some(board)) => {
            format!("the reference device of mcp-hil ({names}), not your firmware: it {board}")
        }
        (false, Some(board)) => format!("{names}, which {board}"),
        (true, None) if summary.cases > 0 => {
            format!("the reference device of mcp-hil ({names}), not your firmware")
        }
        (_, None) => return None,
    };
    Some(clean::visible(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::StoodInFor;

    #[test]
    fn who_was_judged_is_told_where_it_is_not_the_device_that_was_meant() {
        let dut = |name: &str, reference, stands_in: bool| DutInfo {
            name: name.into(),
            target: name.into(),
            transport: "mqtt".into(),
            fidelity: "simulation".into(),
            level: String::new(),
            cannot_show: Vec::new(),
            reference,
            in_place_of: stands_in.then(|| StoodInFor {
                board: "desk".into(),
                file: "ci/duts/desk.toml".into(),
                why: "there is no board at all".into(),
            }),
        };
        let some = Summary { cases: 1, ..Summary::default() };
        let told = |duts: &[DutInfo]| judged(duts, &some).unwrap_or_default();
        let native = dut("native", true, false);
        let ours = "the reference device of mcp-hil (`native`), not your firmware";
        assert_eq!(told(&[native.clone(), native.clone()]), ours);
        assert_eq!(judged(std::slice::from_ref(&native), &Summary::default()), None);
        assert_eq!(judged(&[], &some), None);
        assert_eq!(told(&[native, dut("desk", false, false)]), "");
        let instead = "replaced the board `desk` of `ci/duts/desk.toml`, which is not attached";
        assert_eq!(told(&[dut("native", true, true)]), format!("{ours}: it {instead}"));
        let chip = [dut("qemu-esp", false, true)];
        assert_eq!(told(&chip), format!("`qemu-esp`, which {instead}"));
        assert!(judged(&chip, &Summary::default()).is_some());
        let why = stood_in(&chip).unwrap();
        assert!(why.contains("there is no board at all"), "{why}");
    }
}
