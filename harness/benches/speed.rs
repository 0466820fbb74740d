//! `cargo bench -p mcp-hil`: what the harness costs, as ratios inside one run.
//!
//! Everything but the raw ping-pong goes through [`mcp_hil_runner::run::run`] against the native
//! reference device in a process of its own, with checks, transcripts and reports: what a user
//! waits for. A machine that other work shares is noisy, so the variants take turns and medians
//! are shown. Absolute times are for orientation only.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use clap::Parser;
use futures_util::{SinkExt, StreamExt};
use mcp_hil_args::{Cli, Command as CliCommand};
use mcp_hil_bench::dut::{Dut, How, NativeProgram};
use mcp_hil_core::transcript::{self, Entry, What};
use mcp_hil_core::transport::Transport;
use mcp_hil_core::wire::Frame;
use mcp_hil_endpoint::{Accepted, Endpoint, Incoming, MqttTerms};
use mcp_hil_record::ReportFile;
use mcp_hil_record::Reporter;
use mcp_hil_record::Reporters;
use mcp_hil_record::event::{CaseReport, Event, Summary};
use mcp_hil_report::junit;
use mcp_hil_runner::plan::Plan;
use mcp_hil_scenario::Case;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The steps of a case that is made of good requests, in the sizes that a suite has: short calls
/// and a status reading. A table repeats them.
const ANSWERED: &str = "
  - call: {tool: self.audio_speaker.set_volume, arguments: {volume: 40}}
    expect: {requirement: volume.set, answer: result}
  - request: {method: ping}
  - status: {}
    expect: {requirement: volume.set, json: {audio_speaker: {volume: 40}}}
  - call: {tool: self.audio_speaker.volume_up, arguments: {step: 10}}
    expect: {requirement: volume.up, answer: result}
";
const STEPS: usize = 4;

const ONE_ANSWERED: &str = "
  - request: {method: ping}
";
const ONE_SILENT: &str = "
  - request: {method: ping, id: mcp-hil-bench-NUMBER}
    expect: {requirement: ids.string-rejected, answer: refused}
";

fn main() -> Result<()> {
    let bench = Bench::new()?;
    println!("{:<58} {:>9}  target", "", "measured");
    let name = "exchanges, checked and recorded / raw WebSocket ping-pong";
    bench.throughput(name, Transport::WebSocket)?;
    {
        let _pinned = OneCpu::pin()?;
        bench.throughput("  the same, both processes on one CPU", Transport::WebSocket)?;
    }
    let name = "the same / raw MQTT ping-pong through the same endpoint";
    bench.throughput(name, Transport::Mqtt)?;
    {
        let _pinned = OneCpu::pin()?;
        bench.throughput("  the same, both processes on one CPU", Transport::Mqtt)?;
    }
    bench.generated("generated exchanges, judged / raw WebSocket ping-pong")?;
    bench.silence("200 silent cases / 200 answered ones, wall time", 5, None)?;
    bench.silence("  the same, on a device that takes 5 ms to answer", 1, Some(5))?;
    bench.standard_run()?;
    bench.mutants()?;
    bench.soak()
}

fn row(what: &str, measured: &str, target: &str) {
    println!("{what:<58} {measured:>9}  {target}");
}

/// The device's program, and a folder for all that is written, which ends with this value.
struct Bench {
    program: NativeProgram,
    folder: PathBuf,
    runtime: tokio::runtime::Runtime,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Bench {
    fn new() -> Result<Self> {
        let How::Native { program, .. } = Dut::parse("native", None)?.how else {
            return Err("the native device is a program".into());
        };
        let folder = std::env::temp_dir().join(format!("mcp-hil-bench-{}", std::process::id()));
        // As the program `mcp-hil` runs.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { program, folder, runtime })
    }

    /// Exchanges per second over raw messages per second of the same mean size.
    fn throughput(&self, name: &str, transport: Transport) -> Result<()> {
        const CASES: usize = 20;
        const ROWS: usize = 25;
        const ROUNDS: usize = 7;
        let exchanges = ROWS * STEPS;
        let (mut ratios, mut rates, mut raw_rates) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut plan = self.plan()?;
            plan.transports = vec![transport];
            plan.cases = repeated(&plan, CASES, &table(ROWS, ANSWERED))?;
            plan.generation.properties.clear();
            let times = self.case_times(&plan)?;
            let rate = rate_of(exchanges, times);
            let bytes = mean_message(&plan.folder_of(transport), &plan.cases[0].id)?;
            std::fs::remove_dir_all(&plan.folder)?;
            let raw_times = self.runtime.block_on(async {
                match transport {
                    Transport::WebSocket => self.raw_batches(CASES, exchanges, bytes).await,
                    Transport::Mqtt => self.raw_mqtt_batches(CASES, exchanges, bytes).await,
                }
            })?;
            let raw_rate = rate_of(exchanges, raw_times);
            ratios.push(rate / raw_rate);
            rates.push(rate);
            raw_rates.push(raw_rate);
        }
        row(name, &format!("{:.2}", median(ratios)), ">= 0.75");
        let (rate, raw_rate) = (median(rates), median(raw_rates));
        row("  per second", &format!("{rate:.0}"), &format!("{raw_rate:.0} raw"));
        Ok(())
    }

    /// Times of batches of ping-pong over plain tokio-tungstenite with the device's process.
    async fn raw_batches(
        &self,
        batches: usize,
        exchanges: usize,
        bytes: usize,
    ) -> Result<Vec<Duration>> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let mut device = Command::new(&self.program.path)
            .args(&self.program.arguments)
            .arg("--echo")
            .env("MCP_HIL_WS_URL", format!("ws://{}/", listener.local_addr()?))
            .spawn()?;
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        // The library's own buffer of 128 KiB would make it slower.
        let config = WebSocketConfig::default().read_buffer_size(16 * 1024);
        let mut socket = tokio_tungstenite::accept_async_with_config(stream, Some(config)).await?;
        let text = "x".repeat(bytes);
        let mut times = Vec::new();
        for _ in 0..batches {
            let began = Instant::now();
            for _ in 0..exchanges {
                socket.send(Message::text(text.as_str())).await?;
                let answer = socket.next().await.ok_or("the echo ended")??;
                assert_eq!(answer.len(), bytes);
            }
            times.push(began.elapsed());
        }
        drop(socket);
        device.wait()?;
        Ok(times)
    }

    /// Times of batches of ping-pong with the device's process and its MQTT client, through the
    /// endpoint of the harness and nothing above it.
    async fn raw_mqtt_batches(
        &self,
        batches: usize,
        exchanges: usize,
        bytes: usize,
    ) -> Result<Vec<Duration>> {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
        let mut endpoint = Endpoint::mqtt(address, MqttTerms::default()).await?;
        let mut device = Command::new(&self.program.path)
            .args(&self.program.arguments)
            .arg("--echo")
            .env("MCP_HIL_TRANSPORT", "mqtt")
            .env("MCP_HIL_MQTT_ENDPOINT", endpoint.url())
            .env("MCP_HIL_MQTT_CLIENT_ID", "echo")
            .env("MCP_HIL_MQTT_PUBLISH_TOPIC", "echo")
            .spawn()?;
        let Accepted::Link(mut link) = endpoint.accept().await else {
            return Err("the device was refused".into());
        };
        let frame = Frame::Text("x".repeat(bytes));
        let mut times = Vec::new();
        for _ in 0..batches {
            let began = Instant::now();
            for _ in 0..exchanges {
                link.send(&frame).await?;
                while !matches!(link.recv().await?, Incoming::Frame(answer) if answer == frame) {}
            }
            times.push(began.elapsed());
        }
        drop(link);
        drop(endpoint);
        device.wait()?;
        Ok(times)
    }

    /// Generated exchanges per second, with all that is sent to make sure of them, over raw messages
    /// of the same mean size. Times are those of properties alone, which hold generating, judging
    /// and recording.
    fn generated(&self, name: &str) -> Result<()> {
        const INPUTS: u32 = 200;
        const ROUNDS: usize = 5;
        const BATCHES: usize = 20;
        let (mut ratios, mut rates, mut raw_rates) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut plan = self.plan()?;
            plan.cases.clear();
            plan.generation.inputs = INPUTS;
            plan.generation.max_time = Duration::from_secs(600);
            let (times, seconds) = mpsc::channel();
            self.run(&plan, move |report| {
                if report.generated.is_some() {
                    let _ = times.send((report.case.clone(), report.took_us as f64 / 1e6));
                }
            })?;
            let folder = plan.folder_of(Transport::WebSocket);
            let (mut exchanges, mut bytes, mut took) = (0, Vec::new(), 0.0);
            for (case, seconds) in seconds.iter() {
                exchanges += sent(&folder, &case)?;
                bytes.push(mean_message(&folder, &case)?);
                took += seconds;
            }
            let bytes = bytes.iter().sum::<usize>() / bytes.len();
            std::fs::remove_dir_all(&plan.folder)?;
            let each = exchanges / BATCHES;
            let raw_times = self.runtime.block_on(self.raw_batches(BATCHES, each, bytes))?;
            let (rate, raw_rate) = (exchanges as f64 / took, rate_of(each, raw_times));
            ratios.push(rate / raw_rate);
            rates.push(rate);
            raw_rates.push(raw_rate);
        }
        row(name, &format!("{:.2}", median(ratios)), ">= 0.60");
        let (rate, raw_rate) = (median(rates), median(raw_rates));
        row("  per second", &format!("{rate:.0}"), &format!("{raw_rate:.0} raw"));
        Ok(())
    }

    /// What finding mutants takes: all of them with the cases that are known to kill them, and those
    /// in ids and arguments with generated inputs alone.
    fn mutants(&self) -> Result<()> {
        let (totals, slowest) = self.self_test(&["--quick"])?;
        row(
            "exchanges to a kill, median over all mutants",
            &totals["median_exchanges"].to_string(),
            "",
        );
        row("  the slowest mutant", &format!("{:.1} s", slowest.1), &slowest.0);
        let selection = ["--generated", "--only", "id-", "--only", "argument-"];
        let (totals, _) = self.self_test(&selection)?;
        row(
            "exchanges to shrink / exchanges to the kill, median",
            &format!("{:.2}", totals["median_shrinking"].as_f64().unwrap_or(f64::NAN)),
            "<= 5",
        );
        row(
            "  killed by generated inputs alone, of ids and arguments",
            &totals["killed"].to_string(),
            &format!("of {}", totals["mutants"]),
        );
        Ok(())
    }

    /// The totals of a self-test of mutants, and the mutant that took longest, with its seconds.
    fn self_test(&self, selection: &[&str]) -> Result<(serde_json::Value, (String, f64))> {
        let program = env!("CARGO_BIN_EXE_mcp-hil");
        let begin = ["mcp-hil", "self-test", "--format", "json"];
        let arguments = match Cli::parse_from(begin.iter().chain(selection)).command {
            CliCommand::SelfTest(arguments) => arguments,
            _ => return Err("`self-test` is a self-test".into()),
        };
        let (_stop, interrupt) = watch::channel(false);
        let mut out = Vec::new();
        self.runtime.block_on(mcp_hil::self_test::run(
            &arguments,
            program.into(),
            &mut out,
            interrupt,
        ))?;
        let mut slowest = (String::new(), 0.0);
        let mut totals = serde_json::Value::Null;
        for line in String::from_utf8(out)?.lines() {
            let event: serde_json::Value = serde_json::from_str(line)?;
            let seconds = event["took_ms"].as_f64().unwrap_or(0.0) / 1e3;
            if event["event"] == "mutant" && seconds > slowest.1 {
                slowest = (event["name"].as_str().unwrap_or_default().to_owned(), seconds);
            }
            totals = event;
        }
        Ok((totals, slowest))
    }

    /// Cases whose silence is proven by a fence over cases that are answered, taking turns.
    fn silence(&self, name: &str, rounds: usize, delay_ms: Option<u64>) -> Result<()> {
        let mut ratios = Vec::new();
        for _ in 0..rounds {
            let mut plan = self.plan()?;
            if let Some(delay) = delay_ms {
                let NativeProgram { path, arguments } = &self.program;
                let arguments = arguments.join(" ");
                let line = format!("exec '{}' {arguments} --delay-ms {delay}", path.display());
                plan.dut.how = How::Exec(line);
            }
            let mut cases = Vec::new();
            for number in 0..200 {
                let silent = ONE_SILENT.replace("NUMBER", &number.to_string());
                cases.push(case(&plan, &format!("bench/answered-{number}"), ONE_ANSWERED)?);
                cases.push(case(&plan, &format!("bench/silent-{number}"), &silent)?);
            }
            plan.cases = cases;
            plan.generation.properties.clear();
            let times = self.case_times(&plan)?;
            let total = |parity: usize| times.iter().skip(parity).step_by(2).sum::<Duration>();
            ratios.push(total(1).as_secs_f64() / total(0).as_secs_f64());
        }
        row(name, &format!("{:.2}", median(ratios)), "<= 2.5");
        Ok(())
    }

    /// Wall time of the whole standard run.
    fn standard_run(&self) -> Result<()> {
        let mut times = Vec::new();
        for _ in 0..3 {
            let began = Instant::now();
            self.run(&self.plan()?, |_| {})?;
            times.push(began.elapsed().as_secs_f64());
        }
        row("the whole standard run", &format!("{:.2} s", median(times)), "< 5 s");
        Ok(())
    }

    /// How much the harness has grown between 10,000 and 100,000 exchanges.
    fn soak(&self) -> Result<()> {
        const CASES: usize = 400;
        const ROWS: usize = 250 / STEPS + 1;
        let mut plan = self.plan()?;
        plan.cases = repeated(&plan, CASES, &table(ROWS, ANSWERED))?;
        plan.generation.properties.clear();
        let mut exchanges = 0;
        let (early, late) = (mpsc::channel(), mpsc::channel());
        let began = Instant::now();
        self.run(&plan, move |report| {
            if report.file.is_some() {
                exchanges += ROWS * STEPS;
            }
            let sampled = if exchanges < 10_000 {
                return;
            } else {
                resident_kib()
            };
            let _ = if exchanges < 100_000 { early.0.send(sampled) } else { late.0.send(sampled) };
        })?;
        let (early, late) = (early.1.recv()?, late.1.recv()?);
        let growth = (late as f64 - early as f64) / 1024.0;
        row(
            "growth from 10,000 to 100,000 exchanges, resident",
            &format!("{growth:.1} MiB"),
            "< 5 MiB",
        );
        let (early, seconds) = (early as f64 / 1024.0, began.elapsed().as_secs_f64());
        row(
            "  resident after 10,000; wall time of all",
            &format!("{early:.1} MiB"),
            &format!("{seconds:.1} s"),
        );
        Ok(())
    }

    /// A plan of the standard suite, as the command line makes it.
    fn plan(&self) -> Result<Plan> {
        let folder = self.folder.display().to_string();
        match Cli::parse_from(["mcp-hil", "run", "--dut", "native", "--out", &folder]).command {
            CliCommand::Run(arguments) => Ok(Plan::new(&arguments)?),
            _ => Err("`run` is a run".into()),
        }
    }

    /// Carries a plan out, with the reports that every run writes.
    fn run(&self, plan: &Plan, on_case: impl FnMut(&CaseReport) + Send) -> Result<Summary> {
        let (_stop, interrupt) = watch::channel(false);
        let mut reporters = Reporters::new(std::io::stderr());
        reporters.add("record", ReportFile::record(plan.folder.join("report.json")));
        reporters.add("junit", junit::file(plan.folder.join("junit.xml"), plan.catalogue.clone()));
        reporters.add("bench", OnCase(on_case));
        let summary =
            self.runtime.block_on(mcp_hil_runner::run::run(plan, &mut reporters, interrupt));
        // Requirements that the bench's cases leave out are no failure here.
        if summary.failed + summary.inconclusive + summary.errors > 0
            || summary.bench_error.is_some()
        {
            return Err(format!("the reference device does not conform: {summary:?}").into());
        }
        Ok(summary)
    }

    /// The wall time of each of the plan's cases: judging and reporting included, bring-up not.
    fn case_times(&self, plan: &Plan) -> Result<Vec<Duration>> {
        let (ends, times) = mpsc::channel();
        self.run(plan, move |_| {
            let _ = ends.send(Instant::now());
        })?;
        // The first end is the bring-up's, the last one that of the last look.
        let ends: Vec<Instant> = times.iter().take(plan.cases.len() + 1).collect();
        Ok(ends.windows(2).map(|pair| pair[1] - pair[0]).collect())
    }
}

/// Keeps this process, and those that it starts, on one CPU until it is dropped. Without it the
/// scheduler places the device on another CPU in one round and not in the next, and what a
/// wake-up across CPUs costs hides what the harness costs.
struct OneCpu(CpuSet);

impl OneCpu {
    fn pin() -> Result<Self> {
        let own = Pid::from_raw(0);
        let allowed = sched_getaffinity(own)?;
        let first = (0..CpuSet::count()).find(|cpu| allowed.is_set(*cpu).unwrap_or(false));
        let mut one = CpuSet::new();
        one.set(first.ok_or("there is a CPU to run on")?)?;
        sched_setaffinity(own, &one)?;
        Ok(Self(allowed))
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        let _ = sched_setaffinity(Pid::from_raw(0), &self.0);
    }
}

/// Calls a function for each case that is judged.
struct OnCase<F>(F);

impl<F: FnMut(&CaseReport) + Send> Reporter for OnCase<F> {
    fn event(&mut self, event: &Event) -> std::io::Result<()> {
        if let Event::CaseFinished(report) = event {
            (self.0)(report);
        }
        Ok(())
    }
}

fn case(plan: &Plan, id: &str, steps: &str) -> Result<Case> {
    let text = format!("title: Bench\nsteps:{steps}");
    Ok(Case::load(id, "bench.yaml", &text, &plan.catalogue)?)
}

/// The same case under many ids.
fn repeated(plan: &Plan, count: usize, steps: &str) -> Result<Vec<Case>> {
    let first = case(plan, "bench/0", steps)?;
    Ok((0..count)
        .map(|number| Case { id: format!("bench/{number}").into(), ..first.clone() })
        .collect())
}

/// The steps once for each row of a table.
fn table(rows: usize, steps: &str) -> String {
    let rows: Vec<String> = (0..rows).map(|row| format!("{{row: {row}}}")).collect();
    format!("\n  - each: [{}]\n    do:{}", rows.join(", "), steps.replace("\n", "\n    "))
}

/// The transcript of a case.
fn entries(folder: &Path, case: &str) -> Result<Vec<Entry>> {
    let path = folder.join("transcripts").join(format!("{}.jsonl", case.replace('/', ".")));
    Ok(transcript::read_jsonl(&std::fs::read_to_string(path)?)
        .map_err(|(line, why)| format!("transcript, line {line}: {why}"))?)
}

/// How many messages were sent in a case.
fn sent(folder: &Path, case: &str) -> Result<usize> {
    let entries = entries(folder, case)?;
    let sent = |entry: &&Entry| matches!(entry.what, What::Sent { .. });
    Ok(entries.iter().filter(sent).count())
}

/// Mean size of the messages of a case, both directions together.
fn mean_message(folder: &Path, case: &str) -> Result<usize> {
    let entries = entries(folder, case)?;
    let sizes: Vec<usize> = entries
        .iter()
        .filter_map(|entry| match &entry.what {
            What::Sent { frame: Frame::Text(text), .. }
            | What::Received { frame: Frame::Text(text) } => Some(text.len()),
            _ => None,
        })
        .collect();
    Ok(sizes.iter().sum::<usize>() / sizes.len())
}

/// Exchanges per second in the median of equal batches: a batch that was preempted says nothing.
fn rate_of(exchanges: usize, batches: Vec<Duration>) -> f64 {
    exchanges as f64 / median(batches.iter().map(Duration::as_secs_f64).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Resident memory of this process, in KiB.
fn resident_kib() -> u64 {
    const PAGE_KIB: u64 = 4;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * PAGE_KIB
}
