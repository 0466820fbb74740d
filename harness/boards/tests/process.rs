//! Programs as devices: their life, their console and their end.

use miette::Diagnostic as _;
use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    path::PathBuf,
    time::{Duration, Instant},
};

use mcp_hil_boards::{
    CONSOLE_PORT, Command, LONGEST_INPUT, Process, Target, TargetError, TargetOutput,
};
use mcp_hil_core::limits::MAX_CONSOLE_LINE_BYTES;
use rstest::rstest;
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

/// Tests fail by this, and never hang.
const LATEST: Duration = Duration::from_secs(20);

async fn started(line: &str) -> Process {
    let mut process = Process::new(Command::shell(line));
    process.start().await.unwrap();
    process
}

async fn next(process: &mut Process) -> TargetOutput {
    timeout(LATEST, process.next()).await.expect("an output")
}

fn line(text: impl Into<String>) -> TargetOutput {
    TargetOutput::Line(text.into())
}

fn exited(text: &str) -> TargetOutput {
    TargetOutput::Exited(text.to_owned())
}

/// Everything up to the end, the end included.
async fn all(process: &mut Process) -> Vec<TargetOutput> {
    let mut all = Vec::new();
    loop {
        all.push(next(process).await);
        if matches!(all.last(), Some(TargetOutput::Exited(_) | TargetOutput::Lost { .. })) {
            return all;
        }
    }
}

/// A named pipe that a process and all its children hold open: it ends when the last is dead.
struct Alive {
    path: PathBuf,
}

impl Alive {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{name}-{}.fifo", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        Self { path }
    }

    /// A family of three that ignores polite signals.
    fn family(&self) -> String {
        format!(
            "trap '' TERM HUP INT; exec 3>'{}'; (sleep 1000 & sleep 1000) & echo ready; wait",
            self.path.display()
        )
    }

    /// One that leaves its process group and session, and is nobody's child any more.
    #[cfg(target_os = "linux")]
    fn daemon(&self) -> String {
        let path = self.path.display();
        format!(
            "(setsid sh -c 'exec 3>\"{path}\"; echo away; exec sleep 1000' &); wait; exec sleep 1000"
        )
    }

    fn all_dead(&self) -> JoinHandle<()> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || {
            let read = File::open(path).and_then(|mut file| file.read_to_end(&mut Vec::new()));
            assert_eq!(read.unwrap(), 0);
        })
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[tokio::test]
async fn both_streams_come_in_order_and_before_the_end() {
    let mut process = started("echo one; echo two >&2; echo three; printf four >&2; exit 3").await;
    assert_eq!(
        all(&mut process).await,
        [line("one"), line("two"), line("three"), line("four"), exited("exited with code 3")]
    );
    assert!(!process.is_running());
    assert!(timeout(Duration::from_millis(5), process.next()).await.is_err());
}

#[tokio::test]
async fn what_was_written_is_there_before_the_runtime_has_looked() {
    let written = Alive::new("written");
    let path = written.path.display();
    let mut process = started(&format!("echo one; echo two; echo > '{path}'; sleep 1000")).await;
    // The one thread of the runtime waits here: nobody follows the console meanwhile.
    let told = std::fs::read(&written.path).unwrap();
    assert_eq!(told, b"\n");
    process.catch_up();
    let outputs: Vec<_> = std::iter::from_fn(|| process.try_next()).collect();
    assert_eq!(outputs, [line("one"), line("two")]);
    process.catch_up();
    assert_eq!(process.try_next(), None);
    process.stop().await;
}

#[rstest]
#[case("exit 0", "exited with code 0")]
#[case("kill -SEGV $$", "ended by signal 11 (SIGSEGV)")]
#[case("exec >&- 2>&-; exit 5", "exited with code 5")]
#[tokio::test]
async fn the_end_is_told(#[case] command: &str, #[case] end: &str) {
    assert_eq!(all(&mut started(command).await).await, [exited(end)]);
}

/// See the table of `target/end.rs`.
#[tokio::test]
async fn an_end_that_somebody_else_made_is_told_as_such() {
    let outputs = all(&mut started("kill -KILL $$").await).await;
    let [TargetOutput::Lost { why, by_reset }] = &outputs[..] else {
        panic!("{outputs:?}");
    };
    assert!(why.starts_with("its process ended by signal 9 (SIGKILL)"), "{why}");
    assert!(!by_reset);
    let mut emulator = Process::new(Command::shell("echo 'no ROM'; exit 1").emulator(Some(2)));
    emulator.start().await.unwrap();
    let lost =
        TargetOutput::Lost { why: "the emulator exited with code 1".into(), by_reset: false };
    assert_eq!(all(&mut emulator).await, [line("no ROM"), lost]);
    let mut emulator = Process::new(Command::shell("exit 3").emulator(Some(2)));
    emulator.start().await.unwrap();
    assert_eq!(all(&mut emulator).await, [exited("exited with code 3")]);
}

#[tokio::test]
async fn a_command_that_the_shell_does_not_find_is_told() {
    let outputs = all(&mut started("/nowhere/device --flag").await).await;
    let [TargetOutput::Line(said), end] = &outputs[..] else {
        panic!("{outputs:?}");
    };
    assert!(said.contains("/nowhere/device"), "{said}");
    assert_eq!(*end, exited("exited with code 127 (no such command)"));
}

#[tokio::test]
async fn a_program_that_does_not_start_is_named() {
    let mut process = Process::new(Command::direct("/nowhere/device").arg("--flag"));
    let error = process.start().await.unwrap_err();
    assert!(matches!(error, TargetError::Start { .. }));
    let text = error.to_string();
    assert!(text.starts_with("cannot start the device `/nowhere/device --flag`: "), "{text}");
    assert!(error.help().unwrap().to_string().starts_with("check the path"), "{error:?}");
    assert!(!process.is_running());
}

#[tokio::test]
async fn arguments_and_environment_arrive_as_they_are() {
    let script = "echo \"$1|$2|$PROCESS_TEST\"; read x || echo eof";
    let outputs = ["a b|'$c'|x y\"z", "eof"].map(line);
    let command = Command::shell(script).arg("a b").arg("'$c'").env("PROCESS_TEST", "x y\"z");
    let mut process = Process::new(command);
    process.start().await.unwrap();
    assert_eq!(all(&mut process).await[..2], outputs);

    let direct = Command::direct("sh").arg("-c").arg(script).arg("sh").arg("a b");
    let mut process = Process::new(direct.arg("'$c'").env("PROCESS_TEST", "x y\"z"));
    process.start().await.unwrap();
    assert_eq!(all(&mut process).await[..2], outputs);
}

#[tokio::test]
async fn input_arrives_at_every_start_and_ends() {
    let script = "while read -r x; do echo \"got $x\"; done; echo eof";
    let outputs = ["got one", "got two", "eof"].map(line);
    let mut process = Process::new(Command::shell(script).input("one\ntwo\n"));
    for _ in 0..2 {
        process.start().await.unwrap();
        assert_eq!(all(&mut process).await[..3], outputs);
    }
}

#[tokio::test]
async fn input_is_as_long_as_every_pipe_takes() {
    let input = "x".repeat(LONGEST_INPUT);
    let mut process = Process::new(Command::shell("wc -c").input(&*input));
    process.start().await.unwrap();
    let TargetOutput::Line(count) = next(&mut process).await else {
        panic!("a line");
    };
    assert_eq!(count.trim(), LONGEST_INPUT.to_string());
    let mut process = Process::new(Command::shell("cat").input(input + "x"));
    let error = process.start().await.unwrap_err();
    assert!(error.to_string().contains("4096"), "{error}");
}

/// A shell that has started nothing is not at its end: it does the work, or has given its place to the program.
#[rstest]
#[case::one_command("exec sleep 1000")]
#[case::a_child("sleep 1000; true")]
#[tokio::test]
async fn a_program_that_runs_is_not_about_to_end(#[case] command: &str) {
    let mut process = started(&format!("echo ready; {command}")).await;
    assert_eq!(next(&mut process).await, line("ready"));
    assert!(process.is_running() && !process.is_ending());
    process.stop().await;
}

#[tokio::test]
async fn a_polite_stop_lets_the_program_finish() {
    let mut process =
        started("trap 'echo bye; exit 0' TERM; echo ready; sleep 1000 & wait; echo not reached")
            .await;
    assert_eq!(next(&mut process).await, line("ready"));
    assert!(process.is_running());
    process.stop().await;
    assert!(!process.is_running());
    // An end that was asked for is not told.
    assert_eq!(process.try_next(), Some(line("bye")));
    assert_eq!(process.try_next(), None);
}

#[tokio::test]
async fn a_stop_ends_the_whole_stubborn_family() {
    let alive = Alive::new("stop");
    let all_dead = alive.all_dead();
    let mut process = started(&alive.family()).await;
    assert_eq!(next(&mut process).await, line("ready"));
    assert!(!all_dead.is_finished());
    let asked = Instant::now();
    process.stop().await;
    assert!(asked.elapsed() >= Duration::from_millis(450), "SIGKILL came early");
    timeout(LATEST, all_dead).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_an_ended_program_left_behind_is_ended_too() {
    let alive = Alive::new("leftover");
    let all_dead = alive.all_dead();
    let command = format!("exec 3>'{}'; sleep 1000 & echo ready; exit 4", alive.path.display());
    let mut process = started(&command).await;
    assert_eq!(all(&mut process).await, [line("ready"), exited("exited with code 4")]);
    assert!(!all_dead.is_finished());
    process.stop().await;
    timeout(LATEST, all_dead).await.unwrap().unwrap();
}

/// Where the system shows the environment of processes.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_left_the_process_group_is_ended_too() {
    let alive = Alive::new("daemon");
    let all_dead = alive.all_dead();
    let mut process = started(&alive.daemon()).await;
    assert_eq!(next(&mut process).await, line("away"));
    assert!(!all_dead.is_finished());
    process.stop().await;
    timeout(LATEST, all_dead).await.unwrap().unwrap();
}

#[tokio::test]
async fn dropping_ends_the_whole_family_at_once() {
    let alive = Alive::new("drop");
    let all_dead = alive.all_dead();
    let mut process = started(&alive.family()).await;
    assert_eq!(next(&mut process).await, line("ready"));
    drop(process);
    timeout(LATEST, all_dead).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_panic_ends_the_whole_family() {
    let alive = Alive::new("panic");
    let all_dead = alive.all_dead();
    let mut process = started(&alive.family()).await;
    let panicked = tokio::spawn(async move {
        assert_eq!(next(&mut process).await, line("ready"));
        std::panic::resume_unwind(Box::new("as a panic does"));
    });
    assert!(panicked.await.unwrap_err().is_panic());
    timeout(LATEST, all_dead).await.unwrap().unwrap();
}

/// Names the family to the process that plays the harness in the test below.
const FAMILY: &str = "PROCESS_TEST_FAMILY";

/// The harness of the test below, in a process of its own.
async fn play_harness(command: &str) {
    let mut process = started(command).await;
    assert_eq!(next(&mut process).await, line("ready"));
    println!("\nfamily is ready");
    std::future::pending().await
}

#[tokio::test]
async fn a_killed_harness_takes_the_whole_family_with_it() {
    // The test starts itself once more, as the harness that is to be killed.
    if let Ok(command) = std::env::var(FAMILY) {
        return play_harness(&command).await;
    }
    let alive = Alive::new("sigkill");
    let all_dead = alive.all_dead();
    let mut harness = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_harness_takes_the_whole_family_with_it", "--nocapture"])
        .env(FAMILY, alive.family())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(harness.stdout.take().unwrap());
    assert!(said.lines().any(|line| line.unwrap() == "family is ready"));
    assert!(!all_dead.is_finished());
    harness.kill().unwrap();
    harness.wait().unwrap();
    timeout(LATEST, all_dead).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_restart_is_a_new_run() {
    let mut process = started("trap 'echo bye; exit 1' TERM; echo $$; sleep 1000 & wait").await;
    let first = next(&mut process).await;
    process.restart().await.unwrap();
    assert_eq!(next(&mut process).await, line("bye"));
    let second = next(&mut process).await;
    assert_ne!(first, second);
    assert!(process.is_running());
}

#[tokio::test]
async fn a_program_that_ended_can_be_restarted() {
    let mut process = started("echo hi; exit 2").await;
    let run = [line("hi"), exited("exited with code 2")];
    assert_eq!(all(&mut process).await, run);
    process.restart().await.unwrap();
    assert_eq!(all(&mut process).await, run);
}

#[tokio::test]
async fn a_flood_is_counted_and_does_not_hold_the_program_up() {
    let mut process = started("seq 300000; echo end").await;
    // Nobody takes lines, and yet the program comes to its end.
    while process.is_running() {
        sleep(Duration::from_millis(1)).await;
    }
    // What it wrote last may still be in the pipe; stopping reads all of it.
    process.stop().await;
    let outputs: Vec<_> = std::iter::from_fn(|| process.try_next()).collect();
    assert!(outputs.len() < 5_000, "{} lines kept", outputs.len());
    assert_eq!(outputs[0], line("1"));
    let [.., TargetOutput::Line(mark), end] = &outputs[..] else {
        panic!("no lines");
    };
    let dropped = 300_001 - (outputs.len() - 2);
    assert!(mark.starts_with(&format!("... {dropped} console lines dropped")), "{mark}");
    assert_eq!(*end, exited("exited with code 0"));
}

#[tokio::test]
async fn an_endless_flood_can_be_stopped() {
    let mut process = started("exec yes").await;
    for _ in 0..10_000 {
        next(&mut process).await;
    }
    assert!(process.is_running());
    timeout(LATEST, process.stop()).await.unwrap();
    assert!(!process.is_running());
}

#[tokio::test]
async fn megabytes_without_a_line_end_are_one_cut_line() {
    let mut process = started("head -c 8000000 /dev/zero | tr '\\0' x").await;
    let outputs = all(&mut process).await;
    let [TargetOutput::Line(text), _] = &outputs[..] else {
        panic!("{} outputs", outputs.len());
    };
    assert!(text.len() < MAX_CONSOLE_LINE_BYTES + 100);
    assert!(text.contains("(line cut: 8000000 bytes"), "{}", &text[MAX_CONSOLE_LINE_BYTES..]);
}

#[tokio::test]
async fn binary_output_does_no_harm() {
    let mut process = started("head -c 300000 /dev/urandom; echo; echo end").await;
    let outputs = all(&mut process).await;
    assert_eq!(outputs[outputs.len() - 2..], [line("end"), exited("exited with code 0")]);
}

#[tokio::test]
async fn waiting_for_somebody_else_has_no_console_and_no_restart() {
    let mut target = Target::Wait;
    target.start().await.unwrap();
    assert_eq!(target.is_running(), None);
    assert_eq!(target.try_next(), None);
    let error = target.restart().await.unwrap_err();
    assert!(error.help().unwrap().to_string().starts_with("restart it by hand"), "{error:?}");
    target.stop().await;
}

/// Targets are used from spawned tasks.
#[test]
fn futures_are_send() {
    fn is_send<T: Send>(_: impl FnOnce(&'static mut Target) -> T) {}
    is_send(|target| async move {
        let _ = target.start().await;
        let _ = target.restart().await;
        target.stop().await;
        target.next().await
    });
}

/// A program that dials its console, as emulators do, and says there and on its output what it likes.
fn dials(script: &str) -> Command {
    let line = format!("exec 3<>/dev/tcp/127.0.0.1/$1 || exit 9\n{script}");
    Command::direct("bash")
        .arg("-c")
        .arg(line)
        .arg("bash")
        .arg(CONSOLE_PORT)
        .input("config {}\n")
        .dials_console("Waiting for")
}

#[tokio::test]
async fn a_console_that_is_dialled_is_read_beside_the_output_and_input_comes_when_it_is_asked_for()
{
    let script =
        "echo boot >&3; echo 'Waiting for a line' >&3; read -r told <&3; echo \"told $told\" >&3
        echo 'reset' >&3; echo 'Waiting for a line' >&3; read -r told <&3; echo \"again $told\" >&3
        printf 'the end' >&3; exec 3>&-; echo 'of the emulator'; exit 4";
    let mut process = Process::new(dials(script));
    process.start().await.unwrap();
    let all = all(&mut process).await;
    let console: Vec<_> =
        all.iter().filter(|said| **said != line("of the emulator")).cloned().collect();
    assert_eq!(
        console,
        [
            line("boot"),
            line("Waiting for a line"),
            line("told config {}"),
            line("reset"),
            line("Waiting for a line"),
            line("again config {}"),
            line("the end"),
            exited("exited with code 4"),
        ]
    );
    assert!(all.contains(&line("of the emulator")), "{all:?}");
}

#[tokio::test]
async fn a_program_that_never_dials_its_console_can_be_started_again() {
    let mut process = Process::new(Command {
        dials_console: true,
        ..Command::shell("echo \"$PPID\" >/dev/null; exec sleep 1000")
    });
    for _ in 0..3 {
        process.start().await.unwrap();
        assert!(process.is_running());
    }
    process.stop().await;
    assert_eq!(process.try_next(), None);
}

#[tokio::test]
async fn what_was_written_to_a_dialled_console_is_there_without_waiting() {
    let mut process = Process::new(dials(
        "echo 'Waiting for' >&3; read -r told <&3; echo answered >&3; echo done; exec sleep 1000",
    ));
    process.start().await.unwrap();
    let mut seen = Vec::new();
    while !seen.contains(&line("done")) {
        seen.push(next(&mut process).await);
    }
    process.catch_up();
    seen.extend(std::iter::from_fn(|| process.try_next()));
    assert!(seen.contains(&line("answered")), "{seen:?}");
    process.stop().await;
}
