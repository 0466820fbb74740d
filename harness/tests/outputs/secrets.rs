//! Tokens and passwords: devices get them, and may tell them to everybody; no output does.

use rstest::rstest;

use crate::support::{Place, files, native};

const TOKEN: &str = "s3cret-t0ken-0123456789";

/// A device that writes all it was told to a file, tells it on its console, and goes on.
fn device(place: &Place, leak: &str, arguments: &str) -> String {
    format!(
        "exec:env | grep -E 'TOKEN|PASSWORD' >> '{}'; env; echo \"<$MCP_HIL_WS_TOKEN>\"; {leak}exec '{}' {arguments}",
        place.path("told.txt").display(),
        native().display(),
    )
}

#[rstest]
// Each kind of output: text, events, JUnit, page, summaries, annotations, transcripts, consoles.
#[case::good("", "", "human", 0)]
#[case::failing("", "--mutant error-code-string", "human", 1)]
#[case::events("", "--mutant error-code-string", "json", 1)]
#[case::dead("exit 1; ", "", "human", 3)]
fn no_output_has_a_secret(
    #[case] leak: &str,
    #[case] arguments: &str,
    #[case] format: &str,
    #[case] exit: i32,
) {
    let place = Place::new();
    let dut = device(&place, leak, arguments);
    let args = [
        "run",
        "--dut",
        &dut,
        "--transport",
        "both",
        "--token",
        TOKEN,
        "--only",
        "errors/",
        "--only",
        "properties/ids",
        "--cases",
        "4",
        "--verbose",
        "--format",
        format,
        "--junit",
        "own.xml",
        "--html",
        "own.html",
        "--summary",
        "own.md",
    ];
    let done = crate::on_github(&place, &args).end().exits(exit);
    let told = place.read("told.txt");
    std::fs::remove_file(place.path("told.txt")).unwrap();
    let secrets = told.lines().filter_map(|line| line.split_once('='));
    let mut secrets: Vec<&str> = secrets.map(|(_, secret)| secret).collect();
    secrets.push(TOKEN);
    if exit != 3 {
        // The password of the second transport is made up for the run, and so are others.
        assert!(
            told.contains("MCP_HIL_WS_TOKEN=") && told.contains("MCP_HIL_MQTT_PASSWORD="),
            "{told}"
        );
    }
    let outputs = files(&place.path("."));
    for wanted in [
        "own.xml",
        "own.html",
        "own.md",
        "step.md",
        "report.json",
        "console.log",
    ] {
        assert!(
            outputs.iter().any(|path| path.ends_with(wanted)),
            "no {wanted}\n{done}"
        );
    }
    for secret in secrets.into_iter().filter(|secret| !secret.is_empty()) {
        assert!(secret.len() >= 8, "{secret}");
        assert!(
            !done.stdout.contains(secret),
            "{secret} on standard output\n{done}"
        );
        assert!(
            !done.stderr.contains(secret),
            "{secret} on standard error\n{done}"
        );
        for path in &outputs {
            let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
            assert!(!text.contains(secret), "{secret} in {}", path.display());
        }
    }
    // Joined, judged again and compared, it is the same.
    for args in [
        &["replay", "target/mcp-hil/latest", "--summary", "again.md"][..],
        &["coverage", "--verbose"],
        &["coverage", "--format", "json"],
        &[
            "diff",
            "target/mcp-hil/latest",
            "target/mcp-hil/latest",
            "--verbose",
        ],
    ] {
        let done = place.hil(args).end();
        assert!(
            !done.stdout.contains(TOKEN) && !done.stderr.contains(TOKEN),
            "{done}"
        );
    }
}
