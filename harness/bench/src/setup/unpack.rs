//! Unpacking an archive, `.tar.xz`.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use lzma_rust2::XzReader;

use mcp_hil_record::error::UserError;

/// Unpacks an archive into a folder, which is made. Nothing is written outside of it.
pub(super) fn unpack(archive: &Path, into: &Path) -> Result<(), UserError> {
    let failed = |error: std::io::Error| {
        UserError::bench(
            format!("cannot unpack the archive into `{}`: {error}", into.display()),
            "is it a `.tar.xz`, and is there free space on the disk?",
        )
    };
    let file = File::open(archive).map_err(failed)?;
    std::fs::create_dir_all(into).map_err(failed)?;
    let mut archive = tar::Archive::new(XzReader::new(BufReader::new(file), true));
    archive.set_preserve_permissions(true);
    archive.set_overwrite(false);
    archive.unpack(into).map_err(failed)
}
