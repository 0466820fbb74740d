//! What a folder and this computer have that could be tested.

use std::path::{Path, PathBuf};

use mcp_hil_args::DUTS;
use mcp_hil_bench::dut::Files;
use mcp_hil_bench::host;
use mcp_hil_boards::board::{UsbBoard, attached};
use mcp_hil_record::error::UserError;

/// What was found, the most useful first.
#[derive(Debug)]
pub(super) struct Found {
    /// Whether the folder is a checkout of xiaozhi firmware: its version, or why it cannot be built.
    pub(super) firmware: Option<Result<String, UserError>>,
    /// Boards on USB that no device file describes.
    pub(super) boards: Vec<UsbBoard>,
    /// Names that files of devices have already.
    taken: Vec<String>,
    /// The first board that has a file already: its name, and the file.
    pub(super) declared: Option<(String, String)>,
}

impl Found {
    /// Looks around. Nothing is opened: opening a serial port may reset the board behind it.
    pub(super) fn look(folder: &Path, duts: &Path) -> Self {
        let files = Files::read(duts);
        let boards = attached().boards.into_iter();
        let boards = boards.filter(|board| files.of(board).next().is_none()).collect();
        let declared = files.boards.first().map(|file| (file.name.clone(), file.path.clone()));
        let files = std::fs::read_dir(duts).into_iter().flatten().flatten();
        let stem = |path: PathBuf| Some(path.file_stem()?.to_string_lossy().into_owned());
        let taken = files.filter_map(|file| stem(file.path())).collect();
        Self { firmware: host::checkout(folder), boards, taken, declared }
    }

    /// Whether the folder holds firmware that can be built for this computer.
    pub(super) fn builds(&self) -> bool {
        matches!(self.firmware, Some(Ok(_)))
    }

    /// What was found, a line each.
    pub(super) fn told(&self) -> String {
        let firmware = match &self.firmware {
            Some(Ok(version)) => {
                format!("xiaozhi firmware {version}, which can be built for this computer")
            }
            Some(Err(why)) => why.what.clone(),
            None => "no checkout of xiaozhi firmware (no `main/mcp_server.cc`)".to_owned(),
        };
        let boards = match &self.boards[..] {
            [] => match &self.declared {
                Some((_, file)) => format!("described by `{file}`"),
                None => "none is attached".to_owned(),
            },
            boards => boards.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        };
        format!("this folder  {firmware}\nboards       {boards}\n")
    }

    /// The version of firmware that can be built.
    pub(super) fn version(&self) -> Option<&str> {
        self.firmware.as_ref()?.as_ref().ok().map(String::as_str)
    }

    /// The boards that have no file yet, each with a name for one.
    pub(super) fn new_boards(&self) -> impl Iterator<Item = (String, &UsbBoard)> {
        let names = ["board".to_owned()].into_iter();
        let names = names.chain((2..).map(|number| format!("board-{number}")));
        let is_free = |name: &String| !self.taken.contains(name);
        names.filter(is_free).zip(&self.boards)
    }

    /// The name and the file of a board: the first that has one, or that gets one now.
    pub(super) fn device_file(&self) -> Option<(String, String)> {
        match &self.declared {
            Some((name, file)) => Some((name.clone(), file.clone())),
            None => {
                let (name, _) = self.new_boards().next()?;
                let file = format!("{DUTS}/{name}.toml");
                Some((name, file))
            }
        }
    }

    /// The device that is tested, as `--dut` takes it, and its list of known failures.
    pub(super) fn device(&self) -> Option<(String, String)> {
        match self.builds() {
            true => Some(("host:.".to_owned(), "ci/baselines/host.toml".to_owned())),
            false => {
                let (name, file) = self.device_file()?;
                Some((file, format!("ci/baselines/{name}.toml")))
            }
        }
    }
}
