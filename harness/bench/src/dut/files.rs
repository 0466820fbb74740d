//! Which files of devices mean which boards.

use std::fs;
use std::path::{Path, PathBuf};

use mcp_hil_boards::board::UsbBoard;

use super::{BoardFile, DutFile};
use mcp_hil_record::error::UserError;

/// The files of boards in a folder.
#[derive(Debug, Default)]
pub struct Files {
    /// Those of boards, in the order of their names. Files of other devices are not among them.
    pub boards: Vec<DutFile>,
    /// Those that cannot be read.
    pub broken: Vec<UserError>,
}

impl Files {
    /// Reads the files `*.toml` of a folder, and not those of folders in it: examples are there. A
    /// folder that is not there has none.
    pub fn read(folder: &Path) -> Self {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.is_file() && path.extension().is_some_and(|end| end == "toml"))
            .collect();
        paths.sort();
        let mut files = Self::default();
        for path in paths {
            match DutFile::read(&path) {
                Ok(file) if file.board.is_some() => files.boards.push(file),
                Ok(_) => {}
                Err(refusal) => files.broken.push(refusal),
            }
        }
        files
    }

    /// The files that mean a board.
    pub fn of<'a>(&'a self, board: &UsbBoard) -> impl Iterator<Item = &'a DutFile> {
        let board = board.clone();
        self.boards
            .iter()
            .filter(move |file| file.board.as_ref().is_some_and(|told| means(told, &board)))
    }
}

fn means(told: &BoardFile, board: &UsbBoard) -> bool {
    match (told.selector(), &told.port) {
        (Some(selector), _) => selector.fits(board),
        (None, Some(port)) => {
            let place = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            place(port) == place(&board.port)
        }
        (None, None) => false,
    }
}
