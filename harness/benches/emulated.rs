//! What the reference device on QEMU's board costs: the way to the first exchange, the standard run, and
//! a rack of eight boards in one run. Ratios of one run say more than times, which depend on the machine.
//!
//! `cargo bench -p mcp-hil --bench emulated`; needs QEMU and the image (`ci/firmware.sh virt`).

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use mcp_hil_bench::dut::Dut;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Rounds of what takes part in a ratio, of which the median counts.
const ROUNDS: usize = 5;

/// Boards of the rack.
const BOARDS: usize = 8;

/// Cases whose time is mostly that of a device which answers after 15 ms.
const WAITING: [&str; 10] = [
    "--variant",
    "slow",
    "--cases",
    "0",
    "--only",
    "ids/",
    "--only",
    "list/",
    "--only",
    "arguments/",
];

fn main() -> Result<()> {
    if let Err(refusal) = Dut::parse("qemu", None) {
        println!("not run: {refusal}");
        return Ok(());
    }
    let bench = Bench(std::env::temp_dir().join(format!("mcp-hil-bench-{}", std::process::id())));
    println!("{:<58} {:>9}  target", "", "measured");
    let short = ["--only", "initialize/full", "--cases", "0"];
    let short = median((0..ROUNDS).map(|_| bench.run(1, &short)).collect::<Result<_>>()?);
    row("a run of one case, from command to verdict", &format!("{short:.2} s"), "< 2 s");
    let whole = bench.run(1, &["--transport", "both"])?;
    row("the standard run over both transports", &format!("{whole:.1} s"), "< 30 s");
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let one = bench.run(1, &WAITING)?;
        ratios.push(one / bench.run(BOARDS, &WAITING)?);
    }
    let name = "eight boards that take 15 ms: speed-up over one, / 8";
    row(name, &format!("{:.2}", median(ratios)), ">= 0.9");
    Ok(())
}

fn row(what: &str, measured: &str, target: &str) {
    println!("{what:<58} {measured:>9}  {target}");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The folder for all that is written, which ends with this value.
struct Bench(PathBuf);

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Bench {
    /// One run of so many boards; seconds until its verdict.
    fn run(&self, boards: usize, arguments: &[&str]) -> Result<f64> {
        let began = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_mcp-hil"))
            .arg("run")
            .args(["--dut", "qemu"].repeat(boards))
            .arg("--out")
            .arg(&self.0)
            .args(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(format!("a run with {arguments:?} ended with {status}").into());
        }
        Ok(began.elapsed().as_secs_f64())
    }
}
