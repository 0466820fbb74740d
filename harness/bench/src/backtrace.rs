//! Where in its program a device broke down: the addresses of a panic as functions and lines.
//!
//! Firmware prints addresses: calls on Xtensa, registers and the stack on RISC-V (device-protocol
//! 6.3). The ELF file that it was built from knows what they are.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use addr2line::Context;
use addr2line::gimli::{self, EndianArcSlice, RunTimeEndian};
use mcp_hil_core::wire::to_hex;
use object::{Object as _, ObjectSection as _, SectionKind, SymbolMap, SymbolMapName};
use regex::Regex;
use sha2::{Digest as _, Sha256};

type Reader = EndianArcSlice<RunTimeEndian>;

/// Most bytes of an ELF file: those of stock firmware have 30 MB with all debug information.
const LARGEST: u64 = 512 << 20;

/// Most words of a stack that are taken for calls: most of them are old.
const STACK_CALLS: usize = 8;

/// Fewest digits of a hash that tell one build from another.
const HASH_DIGITS: usize = 8;

static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"0x([0-9a-fA-F]{1,16})\b").expect("a constant pattern"));
static STACK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[0-9a-f]{8}: (0x.*)$").expect("a constant pattern"));

/// The symbols of a device's program.
pub struct Symbols {
    /// Its file, for people.
    path: String,
    /// Its functions and lines. The library fills it in as it is asked.
    context: Mutex<Context<Reader>>,
    /// Functions of which it knows no lines.
    functions: Vec<(u64, String)>,
    /// Where the program has code.
    code: Vec<std::ops::Range<u64>>,
    /// SHA-256 of the file, in hexadecimal digits: firmware tells it of the file it was made from.
    hash: String,
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Symbols").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Whether a file is an ELF file, and may hold the symbols of what is flashed.
pub fn is_program(path: &Path) -> bool {
    let mut begin = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *b"\x7fELF"
}

impl Symbols {
    /// Reads the ELF file.
    ///
    /// # Errors
    ///
    /// It cannot be read or is none, in words.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let size = std::fs::metadata(path)
            .map_err(|error| format!("cannot read `{shown}`: {error}"))?
            .len();
        if size > LARGEST {
            return Err(format!("`{shown}` has {size} bytes: more than {LARGEST}"));
        }
        let bytes =
            std::fs::read(path).map_err(|error| format!("cannot read `{shown}`: {error}"))?;
        Self::of(shown.to_string(), &bytes)
            .map_err(|reason| format!("`{shown}` is not a readable ELF file: {reason}"))
    }

    fn of(path: String, bytes: &[u8]) -> Result<Self, String> {
        let file = object::File::parse(bytes).map_err(|error| error.to_string())?;
        let endian = match file.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        };
        let load = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
            let section = file.section_by_name(id.name());
            let data = section.and_then(|section| section.uncompressed_data().ok());
            let data: Cow<'_, [u8]> = data.unwrap_or_default();
            Ok(EndianArcSlice::new(Arc::from(&*data), endian))
        };
        let dwarf = gimli::Dwarf::load(load).map_err(|error| error.to_string())?;
        let context = Context::from_dwarf(dwarf).map_err(|error| error.to_string())?;
        let names: SymbolMap<SymbolMapName<'_>> = file.symbol_map();
        let functions = names
            .symbols()
            .iter()
            .map(|symbol| (symbol.address(), symbol.name().to_owned()))
            .collect();
        let code = file
            .sections()
            .filter(|section| section.kind() == SectionKind::Text)
            .map(|section| section.address()..section.address().saturating_add(section.size()))
            .collect();
        let hash = to_hex(&Sha256::digest(bytes));
        Ok(Self { path, context: Mutex::new(context), functions, code, hash })
    }

    /// Lines of a panic, each followed by what its addresses are. What cannot be told is left out.
    pub fn explain(&self, lines: &[String]) -> Vec<String> {
        let mut told = Vec::new();
        let mut stack_calls = 0;
        for line in lines {
            if let Some(hash) = line.strip_prefix("ELF file SHA256: ") {
                told.extend(self.other_build(hash.trim()));
                continue;
            }
            let stack = STACK.captures(line).map(|words| words[1].to_owned());
            let is_stack = stack.is_some();
            let mut places = Vec::new();
            for (address, is_return) in addresses(line, stack.as_deref()) {
                if is_stack && stack_calls >= STACK_CALLS {
                    break;
                }
                if !self.is_code(address) {
                    continue;
                }
                stack_calls += usize::from(is_stack);
                // Where a call returns to is behind it, and may be another line.
                let looked_up = address - u64::from(is_return);
                places.extend(self.place(looked_up).into_iter().map(|place| {
                    let perhaps = if is_stack { "perhaps " } else { "" };
                    format!("  {address:#010x}: {perhaps}{place}")
                }));
            }
            // Of the stack only what may be a call is worth a line.
            if !is_stack || !places.is_empty() {
                told.push(line.clone());
            }
            told.extend(places);
        }
        told
    }

    fn is_code(&self, address: u64) -> bool {
        address > 0 && self.code.iter().any(|range| range.contains(&address))
    }

    /// A word about a device that was built from another file.
    fn other_build(&self, hash: &str) -> Option<String> {
        let hash = hash.trim_end_matches("...").to_ascii_lowercase();
        let is_hash =
            hash.len() >= HASH_DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_hash && !self.hash.starts_with(&hash)).then(|| {
            format!(
                "the device was not built from `{}` (SHA-256 {hash}): lines may be wrong",
                self.path
            )
        })
    }

    /// The function at an address and where it stands, from the innermost of inlined ones outwards.
    fn place(&self, address: u64) -> Vec<String> {
        let mut places = Vec::new();
        let context = self.context.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(mut frames) = context.find_frames(address).skip_all_loads() {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame.function.as_ref().and_then(|function| {
                    let name = function.demangle().ok()?;
                    Some(name.into_owned())
                });
                let name = name.or_else(|| self.function(address));
                let at = frame.location.and_then(|location| {
                    let (file, line) = (location.file?, location.line?);
                    Some(format!(" at {file}:{line}"))
                });
                if name.is_none() && at.is_none() {
                    continue;
                }
                let inlined = if places.is_empty() { "" } else { "inlined into " };
                places.push(format!(
                    "{inlined}{}{}",
                    name.as_deref().unwrap_or("?"),
                    at.unwrap_or_default()
                ));
            }
        }
        if places.is_empty() {
            places.extend(self.function(address));
        }
        places
    }

    /// The function whose symbol is the nearest before an address.
    fn function(&self, address: u64) -> Option<String> {
        let after = self.functions.partition_point(|(begin, _)| *begin <= address);
        let (_, name) = self.functions.get(after.checked_sub(1)?)?;
        Some(addr2line::demangle_auto(Cow::from(name.as_str()), None).into_owned())
    }
}

/// The addresses of code that a line names, and whether each is that behind a call.
fn addresses(line: &str, stack: Option<&str>) -> Vec<(u64, bool)> {
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    if let Some(words) = stack {
        let words = ADDRESS.captures_iter(words);
        return words.filter_map(|it| Some((hex(&it[1])?, true))).collect();
    }
    if let Some(calls) = line.strip_prefix("Backtrace:") {
        // Pairs of a place and a stack pointer; firmware has gone back from the return address.
        return calls
            .split_whitespace()
            .filter_map(|pair| pair.split(':').next()?.strip_prefix("0x"))
            .filter_map(|place| Some((hex(place)?, false)))
            .collect();
    }
    let register = |name: &str| {
        let (_, rest) = line.split_once(name)?;
        let value = rest.trim_start().strip_prefix(':')?.trim_start();
        hex(&ADDRESS.captures(value).filter(|it| it.get(0).is_some_and(|it| it.start() == 0))?[1])
    };
    if line.starts_with("MEPC") {
        let at = register("MEPC").map(|address| (address, false));
        let back = register("RA ").map(|address| (address, true));
        return at.into_iter().chain(back).collect();
    }
    if line.starts_with("PC ") {
        return register("PC ").map(|address| (address, false)).into_iter().collect();
    }
    // The last one: an error's number stands before.
    let last = ADDRESS.captures_iter(line).last();
    last.and_then(|it| hex(&it[1])).map(|address| (address, false)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("Backtrace: 0x42012a39:0x3fcebd10 0x4201b6f1:0x3fcebd40 |<-CORRUPTED",
           &[(0x4201_2a39, false), (0x4201_b6f1, false)])]
    #[case("Backtrace:0x42012a39:0x3fcebd10", &[(0x4201_2a39, false)])]
    #[case("MEPC    : 0x42009c1e  RA      : 0x42009d02  SP      : 0x3fc9a1e0",
           &[(0x4200_9c1e, false), (0x4200_9d02, true)])]
    #[case("PC      : 0x42012a3c  PS      : 0x00060930  A0      : 0x8201b6f4",
           &[(0x4201_2a3c, false)])]
    #[case("abort() was called at PC 0x40380f2b on core 0", &[(0x4038_0f2b, false)])]
    #[case("ESP_ERROR_CHECK failed: esp_err_t 0x1105 (ESP_ERR_X) at 0x42012a3c",
           &[(0x4201_2a3c, false)])]
    #[case("0x42012a3c", &[(0x4201_2a3c, false)])]
    #[case("MEPC    : 0x4200", &[(0x4200, false)])]
    #[case("MEPC    : nothing", &[])]
    #[case("Backtrace: 0xzz:0x1 0x123456789abcdef01:0x1", &[])]
    fn addresses_are_read_from_what_firmware_prints(
        #[case] line: &str,
        #[case] expected: &[(u64, bool)],
    ) {
        assert_eq!(addresses(line, None), expected);
    }

    #[test]
    fn words_of_a_stack_may_be_calls() {
        let line = "3fc9a1e0: 0x00000000 0x42009d02";
        let words = STACK.captures(line).expect("a stack");
        let found = addresses(line, Some(&words[1]));
        assert_eq!(found, [(0, true), (0x4200_9d02, true)]);
    }

    #[test]
    fn what_is_no_program_says_so() {
        let error = Symbols::of("x.elf".into(), b"\x7fELF and nothing more").unwrap_err();
        assert!(!error.is_empty());
        assert!(Symbols::read(Path::new("/nowhere/x.elf")).unwrap_err().contains("/nowhere/x.elf"));
        assert!(!is_program(Path::new("/nowhere/x.elf")));
    }
}
