//! Images of the partition that keeps settings, in the format of ESP-IDF's `components/nvs_flash`
//! (version 2): byte for byte what Espressif's `esp-idf-nvs-partition-gen` makes of the same settings.
//!
//! A partition is a row of pages of 4096 bytes. The last one stays erased: firmware needs it to move
//! entries about. Values never appear in [`Debug`](std::fmt::Debug) output or in errors, because some
//! of them are passwords.

mod page;

use page::{ENTRIES, Page};

/// Size of a page, and of a sector of flash memory, in bytes.
pub const PAGE: usize = 4096;

/// Firmware that writes needs two pages and the one that stays erased.
const FEWEST_PAGES: usize = 3;

/// Longest name of a namespace or a key, in bytes (`NVS_KEY_NAME_MAX_SIZE`, without its NUL).
pub const LONGEST_NAME: usize = 15;

/// Longest text, in bytes: a page but for the entry that describes it and the one that the generator
/// leaves free, and without its NUL.
pub const LONGEST_TEXT: usize = (ENTRIES - 2) * page::ENTRY - 1;

/// Namespaces have numbers of one byte; 0 is the list of them and 255 means any.
const NAMESPACES: usize = 254;

/// A value, in the types of `nvs_set_*`.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// `u8`, and what firmware keeps as a boolean
    U8(u8),
    /// `i8`
    I8(i8),
    /// `u16`
    U16(u16),
    /// `i16`
    I16(i16),
    /// `u32`
    U32(u32),
    /// `i32`, which stock firmware takes for every number
    I32(i32),
    /// `u64`
    U64(u64),
    /// `i64`
    I64(i64),
    /// Text without NUL
    Str(String),
}

impl Value {
    /// The name of the type, as in the generator's CSV files.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::U8(_) => "u8",
            Self::I8(_) => "i8",
            Self::U16(_) => "u16",
            Self::I16(_) => "i16",
            Self::U32(_) => "u32",
            Self::I32(_) => "i32",
            Self::U64(_) => "u64",
            Self::I64(_) => "i64",
            Self::Str(_) => "string",
        }
    }
}

/// The type alone: the value may be a password.
impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}(..)", self.kind())
    }
}

/// Why there can be no image of settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum NvsError {
    /// The name of a namespace or a key.
    #[error(
        "the name `{0}` cannot be stored: expected 1 to {LONGEST_NAME} printable ASCII characters, \
         got {len}",
        len = .0.len()
    )]
    #[diagnostic(help("firmware that stores a longer name aborts, and keeps rebooting"))]
    Name(String),
    /// The text is too long, or has a NUL.
    #[error(
        "the text of `{name}` cannot be stored: expected at most {LONGEST_TEXT} bytes without NUL, \
         got {got}"
    )]
    #[diagnostic(help("shorten it"))]
    Text {
        /// Namespace and key.
        name: String,
        /// What it is instead; never the text itself.
        got: String,
    },
    /// Two values for one key.
    #[error("`{0}` has two values: expected one")]
    #[diagnostic(help("leave one of them out"))]
    Twice(String),
    /// More namespaces than there are numbers.
    #[error("expected at most {NAMESPACES} namespaces, got {0}")]
    #[diagnostic(help("merge some of them"))]
    Namespaces(usize),
    /// The partition is no row of pages, or a short one.
    #[error(
        "a partition of {0} bytes cannot hold settings: expected whole pages of {PAGE} bytes, at \
         least {FEWEST_PAGES}"
    )]
    #[diagnostic(help("use the size of `nvs` in the partition table"))]
    Size(usize),
    /// The settings need more pages.
    #[error("the settings do not fit: expected at most {room} pages of {PAGE} bytes, got {needed}")]
    #[diagnostic(help("leave some out, or make `nvs` larger in the partition table"))]
    Full {
        /// Pages that may be written.
        room: usize,
        /// Pages that would be needed.
        needed: usize,
    },
    /// A setting of stock firmware that it would not take.
    #[error("{what}: expected {expected}, got {got}")]
    #[diagnostic(help("{hint}"))]
    Setting {
        /// Which one.
        what: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it is; never a password.
        got: String,
        /// What to do.
        hint: &'static str,
    },
}

/// Settings, in the order in which they are written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    namespaces: Vec<(String, Vec<(String, Value)>)>,
}

impl Settings {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one, to its namespace.
    ///
    /// # Errors
    ///
    /// A name is too long, the text is too long, or the key has a value already.
    pub fn set(&mut self, namespace: &str, key: &str, value: Value) -> Result<(), NvsError> {
        for name in [namespace, key] {
            let kept = !name.is_empty()
                && name.len() <= LONGEST_NAME
                && name.bytes().all(|byte| byte.is_ascii_graphic());
            if !kept {
                return Err(NvsError::Name(name.to_owned()));
            }
        }
        if let Value::Str(text) = &value {
            let got = match text.len() {
                _ if text.contains('\0') => "a NUL".to_owned(),
                length if length > LONGEST_TEXT => format!("{length} bytes"),
                _ => String::new(),
            };
            if !got.is_empty() {
                let name = format!("{namespace}/{key}");
                return Err(NvsError::Text { name, got });
            }
        }
        let found = self.namespaces.iter().position(|(name, _)| name == namespace);
        let at = found.unwrap_or_else(|| {
            self.namespaces.push((namespace.to_owned(), Vec::new()));
            self.namespaces.len() - 1
        });
        if self.namespaces.len() > NAMESPACES {
            return Err(NvsError::Namespaces(self.namespaces.len()));
        }
        let entries = &mut self.namespaces[at].1;
        if entries.iter().any(|(other, _)| other == key) {
            return Err(NvsError::Twice(format!("{namespace}/{key}")));
        }
        entries.push((key.to_owned(), value));
        Ok(())
    }

    /// Every setting: namespace, key and value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        self.namespaces.iter().flat_map(|(namespace, entries)| {
            let named = entries.iter();
            named.map(move |(key, value)| (namespace.as_str(), key.as_str(), value))
        })
    }

    /// The partition that keeps them.
    ///
    /// # Errors
    ///
    /// The size is none of a partition, or too small.
    pub fn image(&self, size: usize) -> Result<Vec<u8>, NvsError> {
        if !size.is_multiple_of(PAGE) || size < FEWEST_PAGES * PAGE {
            return Err(NvsError::Size(size));
        }
        let mut pages = vec![Page::new(0)];
        for (number, (namespace, entries)) in (1..).zip(&self.namespaces) {
            write(&mut pages, 0, namespace, &Value::U8(number));
            for (key, value) in entries {
                write(&mut pages, number, key, value);
            }
        }
        let room = size / PAGE - 1;
        if pages.len() > room {
            let needed = pages.len();
            return Err(NvsError::Full { room, needed });
        }
        let mut image: Vec<u8> = pages.into_iter().flat_map(Page::into_bytes).collect();
        image.resize(size, super::ERASED);
        Ok(image)
    }
}

/// Writes an entry to the last page, or to a new one when it has no room.
fn write(pages: &mut Vec<Page>, namespace: u8, key: &str, value: &Value) {
    let fits = pages.last().is_some_and(|page| page.has_room(value));
    if !fits {
        if let Some(full) = pages.last_mut() {
            full.close();
        }
        let number = u32::try_from(pages.len()).unwrap_or(u32::MAX);
        pages.push(Page::new(number));
    }
    if let Some(page) = pages.last_mut() {
        page.write(namespace, key, value);
    }
}
