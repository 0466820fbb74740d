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
    let done = super::on_github(&place, &args).end().exits(exit);
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
    for wanted in ["own.xml", "own.html", "own.md", "step.md", "report.json", "console.log"] {
        assert!(outputs.iter().any(|path| path.ends_with(wanted)), "no {wanted}\n{done}");
    }
    for secret in secrets.into_iter().filter(|secret| !secret.is_empty()) {
        assert!(secret.len() >= 8, "{secret}");
        assert!(!done.stdout.contains(secret), "{secret} on standard output\n{done}");
        assert!(!done.stderr.contains(secret), "{secret} on standard error\n{done}");
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
        &["diff", "target/mcp-hil/latest", "target/mcp-hil/latest", "--verbose"],
    ] {
        let done = place.hil(args).end();
        assert!(!done.stdout.contains(TOKEN) && !done.stderr.contains(TOKEN), "{done}");
    }
}

/// A program for `awk` that percent-encodes its standard input, in the case of letters that `%02X` stands for.
fn percent(format: &str) -> String {
    format!("od -An -v -tx1 | tr -d ' \\n' | tr {format} | sed 's/../%&/g'")
}

/// A device may tell its token in another spelling: percent-encoded in a URL, in base64 in a header.
#[test]
fn no_output_has_a_secret_in_another_spelling() {
    let place = Place::new();
    let secret = "s3cret/t0ken+0123=456789";
    let told = |encode: &str| {
        format!("echo \"url=/ws?token=$(printf %s \"$MCP_HIL_WS_TOKEN\" | {encode})\"; ")
    };
    let leak = [
        told(&percent("a-f A-F")),
        told(&percent("A-F a-f")),
        told("base64 -w0"),
        told("base64 -w0 | tr +/ -_ | tr -d ="),
        "echo \"Basic $(printf 'user:%s' \"$MCP_HIL_WS_TOKEN\" | base64 -w0)\"; ".to_owned(),
    ];
    let dut = format!("exec:{}exec '{}'", leak.concat(), native().display());
    let args = ["run", "--dut", &dut, "--token", secret, "--only", "errors/"];
    let done = place.hil(args.iter().chain(&["--verbose", "--html", "own.html"])).end();
    let done = done.exits(0);
    let bytes = secret.bytes();
    let upper: String = bytes.clone().map(|byte| format!("%{byte:02X}")).collect();
    let base64 = "czNjcmV0L3Qwa2VuKzAxMjM9NDU2Nzg5";
    let spellings = [
        secret.to_owned(),
        upper.to_lowercase(),
        upper,
        base64.to_owned(),
        // As it stands behind `user:`, without the characters at the edges.
        "M2NyZXQvdDBrZW4rMDEyMz00NTY3OD".to_owned(),
    ];
    let outputs = files(&place.path("."));
    let log = place.read("target/mcp-hil/latest/console.log");
    assert_eq!(log.matches("token=${MCP_HIL_WS_TOKEN}").count(), 4, "{log}");
    assert!(log.contains("Basic dXNlcj${MCP_HIL_WS_TOKEN}"), "{log}");
    for spelling in &spellings {
        assert!(!done.stdout.contains(spelling), "{spelling} on standard output");
        for path in &outputs {
            let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
            assert!(!text.contains(spelling), "{spelling} in {}", path.display());
        }
    }
}
