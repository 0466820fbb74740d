//! Every reader of what devices and strangers write, against damaged input: none panics, and none takes long.
//!
//! Valid samples are damaged at random: pieces are cut, repeated, swapped with those of other samples, and replaced by
//! what parsers stumble over. A check tries a few hundred of each; `ci/fuzz.sh` goes on for as long as it is told. What
//! fails is kept beside this file, and tried first from then on.

#![cfg(not(feature = "hil"))]

#[path = "fuzz/damage.rs"]
mod damage;
#[path = "fuzz/judge.rs"]
mod judge;
#[path = "support/mod.rs"]
mod support;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::CommandFactory as _;
use mcp_hil_bench::backtrace::Symbols;
use mcp_hil_bench::dut::DutFile;
use mcp_hil_boards::flash::{FlashSegment, settings_partition};
use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::catalogue::{Catalogue, RuleSet};
use mcp_hil_core::identity::Identity;
use mcp_hil_core::obligation::Duty;
use mcp_hil_core::transcript::read_jsonl;
use mcp_hil_core::wire::{AudioHeader, Frame, Inbound};
use mcp_hil_endpoint::{Configuration, HttpServer};
use mcp_hil_record::Record;
use mcp_hil_runner::snapshots::{capabilities, file::Snap};
use mcp_hil_scenario::Case;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use damage::{fuzz, fuzz_text};
use support::{Place, files};

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The content of all files of some ending below a folder of the repository.
fn samples(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let files = files(&root().join(folder)).into_iter();
    let wanted = files.filter(|path| path.extension().is_some_and(|found| found == ending));
    wanted.map(|path| std::fs::read(path).unwrap()).collect()
}

fn texts(of: &[&str]) -> Vec<Vec<u8>> {
    of.iter().map(|text| text.as_bytes().to_vec()).collect()
}

#[test]
fn messages_and_envelopes() {
    let samples = texts(&[
        r#"{"session_id":"a","type":"mcp","payload":{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"a\":1}"}],"isError":false}}}"#,
        r#"{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket","audio_params":{"format":"opus"}}"#,
        r#"{"type":"mcp","payload":{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32601,"message":"\ud83d\ude00"}}}"#,
        r#"{"session_id":"a","type":"mcp","payload":{"jsonrpc":"2.0","method":"tools/call","params":{"name":"self.x","arguments":{"n":1e400}},"id":"7"}}"#,
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"n"}]"#,
    ]);
    fuzz("messages", &samples, |bytes| {
        let text = String::from_utf8(bytes.to_vec());
        let frames = [
            text.map_or_else(|error| Frame::NotUtf8(error.into_bytes()), Frame::Text),
            Frame::Binary(bytes.to_vec()),
        ];
        for frame in frames {
            let _ = (Inbound::read(&frame), Duty::of(&frame), Duty::batch_ids(&frame));
            let _ = (Duty::possible_ids(&frame), Duty::restarts(&frame));
        }
        let _ = AudioHeader::read(bytes);
    });
}

#[test]
fn what_devices_say_of_themselves() {
    let samples = texts(&[
        r#"{"version":2,"flash_size":16777216,"mac_address":"02:00:00:4d:43:50","uuid":"a","chip_model_name":"esp32s3","application":{"name":"xiaozhi","version":"1.0","elf_sha256":"aa"},"partition_table":[{"label":"nvs","type":1,"subtype":2,"address":36864,"size":16384}],"board":{"type":"b","name":"n"}}"#,
    ]);
    fuzz_text("identities", &samples, |text| drop(Identity::read(text)));
}

#[test]
fn transcripts() {
    let place = Place::new();
    place.hil(["run", "--dut", "native", "--only", "robustness/", "--only", "ids/"]).end().exits(0);
    let files = files(&place.latest()).into_iter();
    let transcripts = files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let samples: Vec<_> = transcripts.map(|path| std::fs::read(path).unwrap()).collect();
    let first_lines: Vec<Vec<u8>> =
        samples.iter().map(|bytes| bytes[..bytes.len().min(20_000)].to_vec()).collect();
    fuzz_text("transcripts", &first_lines, |text| drop(read_jsonl(text)));
    let entries =
        samples.iter().filter_map(|bytes| read_jsonl(std::str::from_utf8(bytes).ok()?).ok());
    judge::fuzz_judge(&entries.collect::<Vec<_>>());
    let record = place.read("target/mcp-hil/latest/report.json").into_bytes();
    fuzz_text("reports", &[record], |text| drop(Record::read(text)));
}

#[test]
fn files_that_people_write() {
    let catalogue = Arc::new(catalogue());
    let scenarios: Vec<_> =
        mcp_hil_scenarios::scripts().iter().map(|(_, _, text)| text.as_bytes().to_vec()).collect();
    fuzz_text("scenarios", &scenarios, |text| {
        drop(Case::load("own/case", "case.yaml", text, &catalogue));
    });
    fuzz_text("baselines", &samples("ci/baselines", "toml"), |text| {
        drop(Baseline::load("baseline.toml", text));
    });
    fuzz_text("device files", &samples("ci/duts", "toml"), |text| {
        drop(DutFile::load("device.toml", text));
    });
    let profiles = texts(&[
        "[profile.default]\nscenarios = \"ci/scenarios\"\nstrict = true\n\n[profile.ci]\ndut = [\"ci/duts/\"]\n",
    ]);
    let command = mcp_hil_args::Cli::command();
    fuzz_text("profiles", &profiles, |text| {
        let typed = command.clone().get_matches_from(["mcp-hil", "run", "--profile", "ci"]);
        drop(mcp_hil_args::from_profile(&command, &typed, Some(text)));
    });
}

#[test]
fn reviewed_answers() {
    let snaps = samples("snapshots/native", "snap");
    assert!(!snaps.is_empty());
    fuzz_text("snapshots", &snaps, |text| {
        drop(Snap::read(text));
        drop(capabilities::read(text));
    });
}

#[test]
fn images() {
    let name = |name: &str| {
        let mut label = name.as_bytes().to_vec();
        label.resize(16, 0);
        label
    };
    // ESP-IDF's partition table: magic, type, subtype, offset, size, label, flags.
    let row = |kind: u8, subtype: u8, offset: u32, size: u32, label: &str| {
        let mut row = vec![0xaa, 0x50, kind, subtype];
        row.extend(offset.to_le_bytes());
        row.extend(size.to_le_bytes());
        row.extend(name(label));
        row.extend([0; 4]);
        row
    };
    let mut table =
        [row(1, 2, 0x9000, 0x4000, "nvs"), row(0, 0, 0x1_0000, 0x10_0000, "app")].concat();
    table.resize(0xc00, 0xff);
    fuzz("partition tables", &[table], |bytes| {
        let piece = FlashSegment { name: "table".into(), offset: 0x8000, bytes: bytes.to_vec() };
        drop(settings_partition(&[piece]));
    });
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let place = Place::new();
    fuzz("programs", &[own[..4096].to_vec()], |bytes| {
        let path = place.write("program.elf", bytes);
        if let Ok(symbols) = Symbols::read(&path) {
            symbols.explain(&["Backtrace: 0x40081234:0x3ffb0000 |<-CORRUPTED".to_owned()]);
        }
    });
}

#[test]
fn http() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let server = runtime.block_on(HttpServer::bind("127.0.0.1:0".parse().unwrap())).unwrap();
    server.set_bootstrap(Configuration::WebSocket {
        url: "ws://127.0.0.1:1/".into(),
        token: "hush".into(),
        version: 1,
    });
    server.set_vision(&["see"], "a cat");
    let samples = texts(&[
        "POST /xiaozhi/ota/ HTTP/1.1\r\nHost: x\r\nDevice-Id: aa\r\nContent-Length: 13\r\n\r\n{\"version\":2}",
        "POST /vision HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer see\r\nTransfer-Encoding: chunked\r\n\
         Content-Type: multipart/form-data; boundary=B\r\n\r\n2a\r\n--B\r\nContent-Disposition: form-data; name=\"q\"\r\n\
         \r\n4\r\n\r\nhi\r\n5\r\n--B--\r\n0\r\n\r\n",
        "GET /xiaozhi/ota/ HTTP/1.1\r\nHost: x\r\n\r\n",
    ]);
    let address = server.address();
    let server = RefCell::new(server);
    fuzz("HTTP requests", &samples, |bytes| {
        // Nobody else takes what it has seen, and it waits for somebody to.
        while server.borrow_mut().try_next().is_some() {}
        runtime.block_on(async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            // It may close before it has read everything.
            let _ = stream.write_all(bytes).await;
            let _ = stream.shutdown().await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
        });
    });
    // It still serves who asks properly.
    while server.borrow_mut().try_next().is_some() {}
    let answer = runtime.block_on(async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&samples[0]).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    });
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// The requirements, by the default rules.
pub(crate) fn catalogue() -> Catalogue {
    Catalogue::load(mcp_hil_scenarios::requirements().iter().copied(), RuleSet::DEFAULT).unwrap()
}
