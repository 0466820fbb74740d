//! `mcp-hil firmware`: images of the reference device, and flash images of any program.

use std::path::PathBuf;
use std::process::Stdio;

use mcp_hil_boards::flash::{Chip, FlashImage, ImageError, ImageParts};

use crate::dut::image::place;
use crate::flash::read;
use crate::host::{HostBuild, HostOptions};
use mcp_hil_args::{BuildArgs, HostArgs, ImageArgs, ImageSize, NvsArgs};
use mcp_hil_record::error::UserError;

/// What it builds when nobody asks for less.
const IMAGES: [&str; 4] = ["virt", "esp32c3", "esp32c6", EMULATED];

/// The image for Espressif's QEMU, which boots from a flash memory as a whole.
const EMULATED: &str = "esp32c3-qemu";

/// The script that builds images, from the root of the source tree.
const BUILD: &str = "ci/firmware.sh";

/// The source tree that this program is called in, or else the one that it came from.
pub fn source_tree() -> Option<PathBuf> {
    let here = std::env::current_dir().ok();
    let both = here.into_iter().chain([crate::own_tree().to_owned()]);
    both.into_iter().find(|tree| tree.join(BUILD).is_file())
}

/// Builds images: the lines that name them. Beside the one for Espressif's QEMU it leaves the flash
/// memory that `--dut qemu-esp` boots.
///
/// # Errors
///
/// There is no source tree, or the build fails; what failed there is on standard error.
pub fn build(args: &BuildArgs) -> Result<String, UserError> {
    let tree = source_tree().ok_or_else(|| {
        UserError::bench(
            format!("the source of the images is not here: expected a source tree with `{BUILD}`"),
            "run `mcp-hil firmware build` in a checkout of mcp-hil",
        )
    })?;
    let images: Vec<&str> = match &*args.chips {
        [] => IMAGES.to_vec(),
        chips => chips.iter().map(String::as_str).collect(),
    };
    let command = format!("bash {BUILD} {}", images.join(" "));
    let output = std::process::Command::new("bash")
        .arg(BUILD)
        .args(&images)
        .current_dir(&tree)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| {
            UserError::bench(
                format!("`{command}` does not start: {error}"),
                "the script needs `bash`",
            )
        })?;
    match output.status.code() {
        Some(0) => {
            let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
            // One line for each image, in their order.
            let lines = text.lines().zip(&images);
            let emulated = lines.filter(|(_, image)| **image == EMULATED);
            if let Some(elf) = emulated.map(|(line, _)| PathBuf::from(line)).last() {
                let output = place(&tree);
                image(&ImageArgs {
                    chip: Chip::Esp32c3,
                    elf,
                    nvs: None,
                    partitions: None,
                    size: ImageSize::Four,
                    output: output.clone(),
                })?;
                text.push_str(&format!("{}\n", output.display()));
            }
            Ok(text)
        }
        // The script has said which images there are.
        Some(2) => Err(UserError::usage(
            format!("`{command}` does not know such an image"),
            "its message is above; `mcp-hil firmware build virt` builds the one for QEMU",
        )),
        _ => Err(UserError::bench(
            format!("`{command}` ended with {}", output.status),
            "its messages are above; `mcp-hil doctor` shows what a build needs",
        )),
    }
}

/// Builds somebody's firmware for this host: the line that names the program.
///
/// # Errors
///
/// Those of [`HostBuild::make`].
pub fn host(args: &HostArgs) -> Result<String, UserError> {
    let options = HostOptions {
        board: args.board.clone(),
        components: args.components.clone(),
        stubs: args.stubs.clone(),
        sanitize: args.sanitize,
        ..HostOptions::default()
    };
    let built =
        HostBuild::make(&args.source, &options, &mut |line| mcp_hil_core::notice!("{line}"))?;
    Ok(format!("{}\n", built.program.display()))
}

/// Makes a flash image: a line for each part of it, and one for the file.
///
/// # Errors
///
/// A part is not what it should be or does not fit, or a file cannot be read or written.
pub fn image(args: &ImageArgs) -> Result<String, UserError> {
    let elf = read(&args.elf, "--elf")?;
    let nvs = args.nvs.as_deref().map(|path| read(path, "--nvs")).transpose()?;
    let image = FlashImage::new(ImageParts {
        chip: args.chip,
        size: args.size.into(),
        elf: &elf,
        nvs: nvs.as_deref(),
        partitions: args.partitions.as_deref(),
    })
    .map_err(|error| refusal(args, &error))?;
    let memory = image.merged();
    std::fs::write(&args.output, &memory).map_err(|error| {
        UserError::bench(
            format!("cannot write `{}`: {error}", args.output.display()),
            "name a file in an existing folder with `--output`",
        )
    })?;
    let mut text = String::new();
    for segment in image.segments() {
        let (offset, size) = (segment.offset, segment.bytes.len());
        text.push_str(&format!("{offset:#010x} {size:>9} bytes  {}\n", segment.name));
    }
    text.push_str(&format!("{:>20} bytes  {}\n", memory.len(), args.output.display()));
    Ok(text)
}

/// Makes an image of the partition of settings: a line that names it, and never what is in it.
///
/// # Errors
///
/// A setting is none that stock firmware takes, or the file cannot be written.
pub fn nvs(args: &NvsArgs) -> Result<String, UserError> {
    let settings = crate::flash::settings(&args.settings)?;
    let image = settings
        .image(args.size as usize)
        .map_err(|error| UserError::from_below(mcp_hil_record::exit::USAGE, &error))?;
    std::fs::write(&args.output, &image).map_err(|error| {
        UserError::bench(
            format!("cannot write `{}`: {error}", args.output.display()),
            "name a file in an existing folder with `--output`",
        )
    })?;
    let (count, size, file) = (settings.iter().count(), image.len(), args.output.display());
    Ok(format!("{count} settings in {size} bytes  {file}\n"))
}

/// The file that is at fault stands before what is wrong.
fn refusal(args: &ImageArgs, error: &ImageError) -> UserError {
    let file = match error {
        ImageError::Settings { .. } => args.nvs.as_ref(),
        ImageError::Table(_) => args.partitions.as_ref(),
        _ => Some(&args.elf),
    };
    let refused = crate::flash::of_image(error);
    match file {
        Some(file) => refused.about(format_args!("`{}`", file.display())),
        None => refused,
    }
}
