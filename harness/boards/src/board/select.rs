//! Which of the attached boards is meant.

use super::discover::UsbBoard;
use super::mac::Mac;

/// What a board must be. All that is given has to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// The serial number that its USB device tells.
    pub serial: Option<String>,
    /// The address of its chip.
    pub mac: Option<Mac>,
    /// Where it is plugged in.
    pub location: Option<String>,
}

/// Why no board is meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum SelectError {
    /// No attached board matches.
    #[error("no board with {wanted} is attached: {}", attached_text(attached))]
    #[diagnostic(help("{}", none_hint(attached, moved.as_deref())))]
    None {
        /// What identifies the wanted board, in words.
        wanted: String,
        /// What there is instead.
        attached: Vec<UsbBoard>,
        /// The board that only its place differs from what was asked for.
        moved: Option<Box<UsbBoard>>,
    },
    /// There are several.
    #[error("{} boards have {wanted}: {}", found.len(), list(found))]
    #[diagnostic(help(
        "they report the same identity, as cheap converters do; give the location as well, \
         `location = \"{}\"`",
        found.first().and_then(|board| board.location.as_deref()).unwrap_or("1-2")
    ))]
    Ambiguous {
        /// What identifies the wanted board, in words.
        wanted: String,
        /// The boards.
        found: Vec<UsbBoard>,
    },
    /// Only the chips know.
    #[error(
        "no attached board reports {wanted}, and some do not report it at all: {}",
        list(silent)
    )]
    #[diagnostic(help(
        "`mcp-hil duts --probe-chips` asks their chips; then identify the board by `serial` or \
         `location`"
    ))]
    NotTold {
        /// What identifies the wanted board, in words.
        wanted: String,
        /// The boards that it could be.
        silent: Vec<UsbBoard>,
    },
}

impl Selector {
    /// Whether a board may be the one: nothing that it tells speaks against it, and a serial number
    /// or a place speaks for it, or its address.
    pub fn fits(&self, board: &UsbBoard) -> bool {
        let told = self.mac.is_some() && board.mac == self.mac;
        self.may_fit(board) && (self.serial.is_some() || self.location.is_some() || told)
    }

    fn may_fit(&self, board: &UsbBoard) -> bool {
        let mac = board.mac.is_none() || self.mac.is_none() || board.mac == self.mac;
        mac && self.fits_but_place(board)
            && (self.location.is_none() || self.location == board.location)
    }

    fn fits_but_place(&self, board: &UsbBoard) -> bool {
        match (&self.serial, &board.serial) {
            (None, _) => true,
            (Some(wanted), Some(told)) => wanted.eq_ignore_ascii_case(told),
            (Some(_), None) => false,
        }
    }

    /// The one board that is meant.
    ///
    /// # Errors
    ///
    /// There is none, or more than one.
    pub fn select<'a>(&self, boards: &'a [UsbBoard]) -> Result<&'a UsbBoard, SelectError> {
        let mut found: Vec<&UsbBoard> = boards.iter().filter(|board| self.fits(board)).collect();
        // One that tells the address is meant, whatever others do not tell.
        if self.mac.is_some() && found.iter().any(|board| board.mac == self.mac) {
            found.retain(|board| board.mac == self.mac);
        }
        match found[..] {
            [one] => return Ok(one),
            [_, _, ..] => {
                return Err(SelectError::Ambiguous {
                    wanted: self.to_string(),
                    found: found.into_iter().cloned().collect(),
                });
            }
            [] => {}
        }
        let silent: Vec<UsbBoard> = boards
            .iter()
            .filter(|board| board.mac.is_none() && self.may_fit(board))
            .cloned()
            .collect();
        if self.mac.is_some() && !silent.is_empty() {
            return Err(SelectError::NotTold { wanted: self.to_string(), silent });
        }
        let moved = boards.iter().find(|board| self.serial.is_some() && self.fits_but_place(board));
        Err(SelectError::None {
            wanted: self.to_string(),
            attached: boards.to_vec(),
            moved: moved.cloned().map(Box::new),
        })
    }
}

impl std::fmt::Display for Selector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let serial = self.serial.as_ref().map(|s| format!("the serial number `{s}`"));
        let mac = self.mac.map(|mac| format!("the MAC address {mac}"));
        let location = self.location.as_ref().map(|l| format!("the location {l}"));
        let parts: Vec<String> = [serial, mac, location].into_iter().flatten().collect();
        f.write_str(&parts.join(" and "))
    }
}

impl std::fmt::Display for UsbBoard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}", self.port.display(), self.usb)?;
        if let Some(serial) = &self.serial {
            write!(f, ", serial number `{serial}`")?;
        }
        if let Some(location) = &self.location {
            write!(f, ", at {location}")?;
        }
        f.write_str(")")
    }
}

fn list(boards: &[UsbBoard]) -> String {
    let boards: Vec<String> = boards.iter().map(ToString::to_string).collect();
    boards.join(", ")
}

fn attached_text(attached: &[UsbBoard]) -> String {
    match attached {
        [] => "there is no board at all".to_owned(),
        boards => format!("there is {}", list(boards)),
    }
}

fn none_hint(attached: &[UsbBoard], moved: Option<&UsbBoard>) -> String {
    match (moved, attached) {
        (Some(board), _) => format!(
            "the board with that serial number is now at {}: change the file, or plug the board back in there",
            board.location.as_deref().unwrap_or("a different location")
        ),
        (None, []) => {
            "is it plugged in, with a cable that has data lines? `mcp-hil duts` shows what was \
                       looked for"
                .to_owned()
        }
        (None, _) => "plug it in, or name one of these".to_owned(),
    }
}
