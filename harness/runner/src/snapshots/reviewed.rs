//! The reviewed answers of a device and of its family, as they lie in folders; and beside them what it was able
//! to do.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::answers::Key;
use super::capabilities;
use super::file::Snap;
use super::name::file_name;
use mcp_hil_record::error::UserError;

/// The ending of a reviewed answer, and of one that waits for review.
const REVIEWED: &str = "snap";
const PENDING: &str = "snap.new";

/// Reviewed answers. A device has its own only where it differs from its family.
#[derive(Debug, Clone)]
pub struct Reviewed {
    folder: PathBuf,
    own: BTreeMap<Key, Snap>,
    family: BTreeMap<Key, Snap>,
    /// Of the device alone, by transport: what only its family can do, it may lack.
    capabilities: BTreeMap<String, BTreeSet<String>>,
}

impl Reviewed {
    /// Whether there are any of a device.
    pub fn are_there(root: &Path, dut: &str) -> bool {
        root.join(file_name(dut)).is_dir()
    }

    /// Reads all of a device, and of its family.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or is damaged, with its name and line.
    pub fn read(root: &Path, dut: &str, family: Option<&str>) -> Result<Self, UserError> {
        let folder = root.join(file_name(dut));
        let family = family.filter(|family| *family != dut);
        let of_family = family.map(|family| read_folder(&root.join(file_name(family))));
        Ok(Self {
            own: read_folder(&folder)?,
            family: of_family.transpose()?.unwrap_or_default(),
            capabilities: read_capabilities(&folder)?,
            folder,
        })
    }

    /// What the device was able to do over a transport.
    pub fn capabilities(&self, transport: &str) -> Option<&BTreeSet<String>> {
        self.capabilities.get(transport)
    }

    /// The device's file of that; and the one that waits for review.
    pub fn capability_files(&self, transport: &str) -> [PathBuf; 2] {
        let name = capabilities::name(transport);
        [REVIEWED, PENDING].map(|ending| self.folder.join(format!("{name}.{ending}")))
    }

    /// The answer to compare with: the device's own, else its family's.
    pub fn get(&self, key: &Key) -> Option<&Snap> {
        self.own.get(key).or_else(|| self.family.get(key))
    }

    /// The family's answer.
    pub fn of_family(&self, key: &Key) -> Option<&Snap> {
        self.family.get(key)
    }

    /// Whether the device has an answer of its own.
    pub fn is_own(&self, key: &Key) -> bool {
        self.own.contains_key(key)
    }

    /// All places, those of the family too.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        let of_family = self.family.keys().filter(|key| !self.is_own(key));
        self.own.keys().chain(of_family)
    }

    /// The device's file of an answer.
    pub fn path(&self, key: &Key) -> PathBuf {
        let file = format!("{}.{REVIEWED}", key.name);
        self.folder.join(&key.area).join(file)
    }

    /// The file that waits for review.
    pub fn pending(&self, key: &Key) -> PathBuf {
        let file = format!("{}.{PENDING}", key.name);
        self.folder.join(&key.area).join(file)
    }

    /// Writes a file, and the folders above it.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn write(path: &Path, text: &str) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        // Written beside and moved: a full disk must not leave half an answer in the place of a whole one.
        let beside = path.with_extension(format!("{}.tmp", std::process::id()));
        let done = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
        if done.is_err() {
            let _ = fs::remove_file(&beside);
        }
        done
    }
}

/// Reads the reviewed answers of a folder; none where it is not there.
fn read_folder(folder: &Path) -> Result<BTreeMap<Key, Snap>, UserError> {
    let mut all = BTreeMap::new();
    for (area, path) in entries(folder)? {
        if !path.is_dir() {
            continue;
        }
        for (file, path) in entries(&path)? {
            let Some(name) = file.strip_suffix(&format!(".{REVIEWED}")) else {
                continue;
            };
            let key = Key { area: area.clone(), name: name.to_owned() };
            all.insert(key, read_file(&path)?);
        }
    }
    Ok(all)
}

/// Reads what a device was able to do, from its folder.
fn read_capabilities(folder: &Path) -> Result<BTreeMap<String, BTreeSet<String>>, UserError> {
    let mut all = BTreeMap::new();
    for (file, path) in entries(folder)? {
        let name = file.strip_suffix(&format!(".{REVIEWED}"));
        let Some(transport) = name.and_then(capabilities::transport) else {
            continue;
        };
        let read = capabilities::read(&read_text(&path)?);
        all.insert(transport.to_owned(), read.map_err(|at| damaged(&path, &at))?);
    }
    Ok(all)
}

/// What lies in a folder, by name.
fn entries(folder: &Path) -> Result<BTreeMap<String, PathBuf>, UserError> {
    let refuse = |error: io::Error| {
        UserError::usage(
            format!("cannot read the snapshots in `{}`: {error}", folder.display()),
            "`--snapshots off` runs without them",
        )
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        entries => entries.map_err(refuse)?,
    };
    let mut all = BTreeMap::new();
    for entry in entries {
        let entry = entry.map_err(refuse)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        all.insert(name, entry.path());
    }
    Ok(all)
}

fn read_file(path: &Path) -> Result<Snap, UserError> {
    Snap::read(&read_text(path)?).map_err(|at| damaged(path, &at))
}

fn read_text(path: &Path) -> Result<String, UserError> {
    fs::read_to_string(path).map_err(|error| {
        UserError::usage(
            format!("cannot read the snapshot `{}`: {error}", path.display()),
            "restore it from version control; `--snapshots off` runs without it",
        )
    })
}

fn damaged(path: &Path, (line, why): &(usize, String)) -> UserError {
    UserError::usage(
        format!("the snapshot `{}:{line}` is damaged: {why}", path.display()),
        "restore it from version control, or delete it and review the answer again",
    )
}
