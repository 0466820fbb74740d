//! `mcp-hil setup qemu-esp`, against a stand-in for the place of the releases.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Done, Place, files};
use lzma_rust2::{XzOptions, XzWriter};
use sha2::Digest;

/// Where the program lies in releases.
const PROGRAM: &str = "qemu/bin/qemu-system-riscv32";

/// A program that starts.
const STARTS: &str = "#!/bin/sh\necho esp32c3\n";

/// A server that gives the same answer to every request.
struct Server {
    url: String,
    requests: Arc<AtomicUsize>,
}

impl Server {
    /// A server of a status line, a length that it announces, and a body.
    fn new(status: &'static str, announced: usize, body: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/qemu.tar.xz", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                counted.fetch_add(1, Ordering::SeqCst);
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                while lines.next().is_some_and(|line| !line.is_empty()) {}
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-length: {announced}\r\nconnection: close\r\n\r\n"
                );
                // A client that has seen enough may have left.
                let mut stream = &stream;
                let _ = stream.write_all(head.as_bytes());
                let _ = stream.write_all(&body);
            }
        });
        Self { url, requests }
    }

    fn of(body: &[u8]) -> Self {
        Self::new("200 OK", body.len(), body.to_vec())
    }
}

/// An archive of files, each with its name and content; all may be executed.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        // Byte by byte: the library refuses names that lead out of the folder.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(text.len() as u64);
        header.set_mode(0o755);
        header.set_cksum();
        tar.append(&header, text.as_bytes()).unwrap();
    }
    let mut xz = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
    xz.write_all(&tar.into_inner().unwrap()).unwrap();
    xz.finish().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    let hash = sha2::Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn setup(place: &Place, cache: &Path, url: &str, sha256: Option<&str>, args: &[&str]) -> Done {
    let mut hil = place.hil(["setup", "qemu-esp"].iter().chain(args));
    hil.0.arg("--url").arg(url).env("MCP_HIL_CACHE", cache);
    if let Some(sha256) = sha256 {
        hil.0.args(["--sha256", sha256]);
    }
    for proxy in ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"] {
        hil.0.env_remove(proxy).env_remove(proxy.to_lowercase());
    }
    hil.0.env_remove("MCP_HIL_QEMU_ESP_URL").env_remove("MCP_HIL_QEMU_ESP_SHA256");
    hil.end()
}

/// Asserts that it fails so, and leaves nothing behind.
#[track_caller]
fn fails(place: &Place, server: &Server, sha256: Option<&str>, texts: &[&str]) {
    // A folder that has to be made, with one above it.
    let cache = place.path("none/cache");
    setup(place, &cache, &server.url, sha256, &[]).exits(3).says(texts).says(&["\n\nhint: "]);
    assert!(!place.path("none").exists(), "{:?}", files(&place.path("none")));
}

#[test]
fn a_release_is_brought_in_once() {
    let place = Place::new();
    let cache = place.path("none/cache");
    let archive = archive(&[(PROGRAM, STARTS), ("qemu/share/qemu/esp32c3-rom.bin", "rom")]);
    let (server, hash) = (Server::of(&archive), sha256(&archive));
    let program = cache.join("qemu-esp").join(PROGRAM);
    let done = setup(&place, &cache, &server.url, Some(&hash.to_uppercase()), &[]).exits(0);
    assert_eq!(done.stdout, format!("{}\n", program.display()), "{done}");
    let rom = cache.join("qemu-esp/qemu/share/qemu/esp32c3-rom.bin");
    assert_eq!(std::fs::read_to_string(rom).unwrap(), "rom");
    let three = files(&cache).len();
    assert_eq!(three, 3, "{:?}", files(&cache));

    setup(&place, &cache, &server.url, Some(&hash), &[]).exits(0).prints(&["already installed"]);
    assert_eq!(server.requests.load(Ordering::SeqCst), 1);
    setup(&place, &cache, &server.url, Some(&hash), &["--force"]).exits(0);
    assert_eq!(server.requests.load(Ordering::SeqCst), 2);
    assert_eq!(files(&cache).len(), three, "{:?}", files(&cache));

    let mut doctor = place.hil(["doctor", "--format", "json"]);
    doctor.0.env("MCP_HIL_CACHE", &cache).env_remove("MCP_HIL_QEMU_ESP");
    let told = format!(r#"{{"name":"qemu-esp","state":"ok","what":"{}"}}"#, program.display());
    doctor.end().exits(0).prints(&[&told]);
}

#[test]
fn the_other_cores_have_a_place_of_their_own() {
    let place = Place::new();
    let cache = place.path("cache");
    let riscv = archive(&[(PROGRAM, STARTS)]);
    let xtensa = archive(&[("qemu/bin/qemu-system-xtensa", STARTS)]);
    let (one, other) = (Server::of(&riscv), Server::of(&xtensa));
    setup(&place, &cache, &one.url, Some(&sha256(&riscv)), &[]).exits(0);
    let cores = ["--cores", "xtensa"];
    setup(&place, &cache, &other.url, Some(&sha256(&xtensa)), &cores)
        .exits(0)
        .prints(&["qemu/bin/qemu-system-xtensa\n"]);
    assert!(cache.join("qemu-esp").join(PROGRAM).is_file());
    // The one is not taken for the other.
    setup(&place, &cache, &one.url, Some(&sha256(&riscv)), &cores)
        .exits(3)
        .says(&["the archive has no `qemu/bin/qemu-system-xtensa`", "`--cores`"]);
}

#[test]
fn what_is_not_the_right_file_is_not_unpacked() {
    let place = Place::new();
    let archive = archive(&[(PROGRAM, STARTS)]);
    let server = Server::of(&archive);
    let (expected, got) = ("0".repeat(64), sha256(&archive));
    fails(&place, &server, Some(&expected), &["SHA-256", &expected, &got]);
    // Without `--sha256` the pinned one holds, for whatever address.
    fails(&place, &server, None, &["is not the expected file", &got]);
}

#[test]
fn a_download_that_fails_says_how() {
    let place = Place::new();
    let body = archive(&[(PROGRAM, STARTS)]);
    let hash = sha256(&body);
    let missing = Server::new("404 Not Found", 4, b"gone".to_vec());
    fails(&place, &missing, Some(&hash), &[&missing.url, "got 404"]);
    let cut = Server::new("200 OK", body.len(), body[..body.len() / 2].to_vec());
    let told = format!("it was interrupted after {} of {} bytes", body.len() / 2, body.len());
    fails(&place, &cut, Some(&hash), &[&told]);
    // Nobody listens where somebody did.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    drop(listener);
    let nobody = Server { url, requests: Arc::default() };
    fails(&place, &nobody, Some(&hash), &["cannot download", "refused"]);
}

#[test]
fn addresses_with_tls_are_understood() {
    let place = Place::new();
    let plain = Server::of(b"no TLS here");
    let server =
        Server { url: plain.url.replace("http://", "https://"), requests: plain.requests.clone() };
    fails(
        &place,
        &server,
        Some(&"0".repeat(64)),
        &["cannot download `https://", "InvalidContentType"],
    );
}

#[test]
fn an_archive_that_is_none_leaves_nothing() {
    let place = Place::new();
    for (body, text) in [
        (b"no archive".to_vec(), "cannot unpack the archive"),
        (archive(&[("qemu/README", "")]), "the archive has no `qemu/bin/qemu-system-riscv32`"),
        (archive(&[(PROGRAM, STARTS)])[..120].to_vec(), "cannot unpack the archive"),
    ] {
        fails(&place, &Server::of(&body), Some(&sha256(&body)), &[text]);
    }
}

#[test]
fn nothing_is_written_outside_of_the_folder() {
    let place = Place::new();
    let body = archive(&[("../../../evil", "x"), ("/tmp/mcp-hil-evil", "x")]);
    fails(&place, &Server::of(&body), Some(&sha256(&body)), &["the archive has no"]);
    assert!(!place.path("evil").exists() && !Path::new("/tmp/mcp-hil-evil").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let place = Place::new();
    // Root may write everywhere, but not below a file.
    let file = place.write("file", "x");
    let body = archive(&[(PROGRAM, STARTS)]);
    let server = Server::of(&body);
    let cache = file.join("cache");
    setup(&place, &cache, &server.url, Some(&sha256(&body)), &[]).exits(3).says(&[
        "cannot write to `",
        "file/cache",
        "hint: name a writable folder",
    ]);
    assert_eq!(server.requests.load(Ordering::SeqCst), 0);
}

#[test]
fn what_was_there_stays_when_the_next_one_fails() {
    let place = Place::new();
    let cache = place.path("cache");
    let good = archive(&[(PROGRAM, STARTS)]);
    setup(&place, &cache, &Server::of(&good).url, Some(&sha256(&good)), &[]).exits(0);
    let before = files(&cache);
    let bad = Server::of(b"something else");
    setup(&place, &cache, &bad.url, Some(&sha256(&good)), &["--force"]).exits(3);
    assert_eq!(files(&cache), before);
    let kept = std::fs::read_to_string(cache.join("qemu-esp").join(PROGRAM)).unwrap();
    assert_eq!(kept, STARTS);
}

#[test]
fn a_program_that_lacks_its_libraries_is_told() {
    let place = Place::new();
    let script = "#!/bin/sh\necho 'libslirp.so.0: cannot open shared object file' >&2\nexit 127\n";
    let body = archive(&[(PROGRAM, script)]);
    setup(&place, &place.path("cache"), &Server::of(&body).url, Some(&sha256(&body)), &[])
        .exits(3)
        .says(&["does not start: libslirp.so.0", "apt-get install libslirp0"]);
}

#[test]
fn a_hash_that_is_none_is_a_mistake_of_the_command_line() {
    let place = Place::new();
    let server = Server::of(b"");
    setup(&place, &place.path("cache"), &server.url, Some("12ab"), &[])
        .exits(2)
        .says(&["`--sha256 12ab`", "expected 64 hexadecimal digits"]);
    assert_eq!(server.requests.load(Ordering::SeqCst), 0);
}
