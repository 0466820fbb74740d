//! Images of settings: byte for byte what Espressif's generator makes, and read back by another reader.

mod missing;

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use esp_nvs::error::Error as ReadError;
use esp_nvs::mem_flash::MemFlash;
use esp_nvs::{Get, Key, Nvs};
use mcp_hil_boards::flash::nvs::{LONGEST_TEXT, NvsError, PAGE, Settings, Value};
use mcp_hil_boards::flash::{MqttSettings, Network, Secret, StockSettings, WebSocketSettings};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// `nvs/stock.csv` through `esp-idf-nvs-partition-gen generate stock.csv stock.bin 0x4000`.
const STOCK: &[u8] = include_bytes!("nvs/stock.bin");

fn stock() -> StockSettings {
    let network =
        |ssid: &str, password: &str| Network { ssid: ssid.into(), password: Secret::new(password) };
    StockSettings {
        networks: vec![
            network("Bench", "not a \"password\", but longer than thirty-two bytes"),
            network("Guests", ""),
        ],
        ota_url: Some("http://192.168.1.10:8003/xiaozhi/ota/".into()),
        sleep: false,
        uuid: Some("3c0e5bd5-8f31-4d57-9bd4-6a1a4a1ff7f2".into()),
        websocket: Some(WebSocketSettings {
            url: "ws://192.168.1.10:8000/xiaozhi/v1/".into(),
            token: Secret::new("no-token"),
            version: Some(3),
        }),
        mqtt: Some(MqttSettings {
            endpoint: "192.168.1.10:1883".into(),
            client_id: "c1".into(),
            username: "u".into(),
            password: Secret::new("p"),
            publish_topic: "device-server".into(),
            keepalive: Some(60),
        }),
    }
}

#[test]
fn stock_settings_are_what_espressifs_generator_makes_of_them() {
    let image = stock().settings().unwrap().image(0x4000).unwrap();
    let at = image.iter().zip(STOCK).position(|(own, its)| own != its);
    assert_eq!(at, None, "first byte that differs");
    assert_eq!(image.len(), STOCK.len());
}

#[test]
fn passwords_are_never_shown() {
    let settings = stock();
    let entries = settings.settings().unwrap();
    let shown = format!("{settings:?} {entries:?}");
    for secret in ["password\\\"", "thirty-two", "no-token", "\"p\""] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    assert!(shown.contains("Bench"), "{shown}");
}

/// Any settings: some namespaces with some entries, now and then one that fills a page.
fn any_settings() -> impl Strategy<Value = Vec<(String, String, Value)>> {
    let name = "[a-z][a-z0-9_]{0,14}";
    let text = prop_oneof![
        4 => "[ -~äöü€😀,\"\n]{0,40}",
        2 => "[ -~]{28,36}",
        1 => "[ -~]{500,3967}",
    ];
    let value = prop_oneof![
        any::<u8>().prop_map(Value::U8),
        any::<i8>().prop_map(Value::I8),
        any::<u16>().prop_map(Value::U16),
        any::<i16>().prop_map(Value::I16),
        any::<u32>().prop_map(Value::U32),
        any::<i32>().prop_map(Value::I32),
        any::<u64>().prop_map(Value::U64),
        any::<i64>().prop_map(Value::I64),
        text.prop_map(Value::Str),
    ];
    let entries = prop::collection::btree_map(name, value, 0..60);
    let namespaces = prop::collection::btree_map(name, entries, 0..5);
    namespaces.prop_map(|namespaces| {
        let rows = namespaces.into_iter().flat_map(|(namespace, entries)| {
            let named = entries.into_iter();
            named.map(move |(key, value)| (namespace.clone(), key, value))
        });
        rows.collect()
    })
}

fn settings(rows: &[(String, String, Value)]) -> Settings {
    let mut settings = Settings::new();
    for (namespace, key, value) in rows {
        settings.set(namespace, key, value.clone()).unwrap();
    }
    settings
}

/// The value as the generator's tables have it.
fn told(value: &Value) -> String {
    match value {
        Value::U8(value) => value.to_string(),
        Value::I8(value) => value.to_string(),
        Value::U16(value) => value.to_string(),
        Value::I16(value) => value.to_string(),
        Value::U32(value) => value.to_string(),
        Value::I32(value) => value.to_string(),
        Value::U64(value) => value.to_string(),
        Value::I64(value) => value.to_string(),
        Value::Str(text) => text.clone(),
    }
}

/// Reads cases, one a line, and writes what Espressif's generator makes of each.
const GENERATE: &str = r"
import io, json, sys
try:
    from esp_idf_nvs_partition_gen import nvs_partition_gen as gen
except ImportError:
    print('no generator')
    sys.exit(0)
for line in open(sys.argv[1], encoding='utf8'):
    size, rows = json.loads(line)
    out = io.BytesIO()
    try:
        nvs = gen.nvs_open(out, size - 4096, gen.Page.VERSION2)
        last = None
        for namespace, key, kind, value in rows:
            if namespace != last:
                gen.write_entry(nvs, namespace, 'namespace', '', '')
                last = namespace
            gen.write_entry(nvs, key, 'data', kind, value)
        gen.nvs_close(nvs)
        print(out.getvalue().hex())
    except gen.InsufficientSizeError:
        print('full')
print('done')
";

/// Needs `python3` with the package `esp-idf-nvs-partition-gen`; `MCP_HIL_PYTHON` names another
/// interpreter. All cases go through one process: starting it takes longer than they do.
#[test]
fn any_settings_are_what_espressifs_generator_makes_of_them() {
    let mut runner = TestRunner::deterministic();
    let sizes = [0x3000, 0x4000, 0x6000, 0x1_0000];
    let cases: Vec<(usize, Vec<_>)> = (0..120)
        .map(|at| {
            let rows = any_settings().new_tree(&mut runner).unwrap().current();
            (sizes[at % sizes.len()], rows)
        })
        .collect();
    let mut lines = String::new();
    for (size, rows) in &cases {
        let rows: Vec<_> = rows
            .iter()
            .map(|(namespace, key, value)| (namespace, key, value.kind(), told(value)))
            .map(|(namespace, key, kind, value)| serde_json::json!([namespace, key, kind, value]))
            .collect();
        writeln!(lines, "{}", serde_json::json!([size, rows])).unwrap();
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nvs-cases.jsonl");
    std::fs::write(&file, lines).unwrap();

    let python = std::env::var_os("MCP_HIL_PYTHON").unwrap_or_else(|| "python3".into());
    let output = Command::new(python).args(["-c", GENERATE]).arg(&file).output();
    let there = |output: &std::process::Output| output.stdout != b"no generator\n";
    let Some(output) = output.ok().filter(there) else {
        missing::PYTHON.is_missing("no `esp-idf-nvs-partition-gen`, Espressif's generator");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let made: Vec<&str> = text.lines().collect();
    assert_eq!(made.len(), cases.len() + 1, "{errors}");
    let (mut full, mut several) = (0, 0);
    for ((size, rows), made) in cases.iter().zip(made) {
        match settings(rows).image(*size) {
            Ok(image) => {
                let own: String = image.iter().map(|byte| format!("{byte:02x}")).collect();
                let at = own.bytes().zip(made.bytes()).position(|(a, b)| a != b);
                assert_eq!(at.map(|at| at / 2), None, "first byte that differs");
                assert_eq!(own.len(), made.len());
                several += usize::from(image[PAGE] != 0xff);
            }
            Err(error) => {
                assert!(matches!(error, NvsError::Full { .. }), "{error}");
                assert_eq!(made, "full");
                full += 1;
            }
        }
    }
    // Cases that show what they are meant to show.
    assert!(full >= 5 && several >= 10, "{full} full, {several} of several pages");
}

fn read<T>(nvs: &mut Nvs<MemFlash>, namespace: &str, key: &str) -> Result<T, ReadError>
where
    Nvs<MemFlash>: Get<T>,
{
    nvs.get(&Key::from_str(namespace), &Key::from_str(key))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn another_reader_finds_every_setting(rows in any_settings()) {
        let image = settings(&rows).image(0x4_0000).unwrap();
        let size = image.len();
        let mut nvs = Nvs::new(0, size, MemFlash::from_bytes(image)).unwrap();
        prop_assert_eq!(nvs.keys().count(), rows.len());
        for (namespace, key, value) in &rows {
            let found = match value {
                Value::U8(_) => read(&mut nvs, namespace, key).map(Value::U8),
                Value::I8(_) => read(&mut nvs, namespace, key).map(Value::I8),
                Value::U16(_) => read(&mut nvs, namespace, key).map(Value::U16),
                Value::I16(_) => read(&mut nvs, namespace, key).map(Value::I16),
                Value::U32(_) => read(&mut nvs, namespace, key).map(Value::U32),
                Value::I32(_) => read(&mut nvs, namespace, key).map(Value::I32),
                Value::U64(_) => read(&mut nvs, namespace, key).map(Value::U64),
                Value::I64(_) => read(&mut nvs, namespace, key).map(Value::I64),
                Value::Str(_) => read(&mut nvs, namespace, key).map(Value::Str),
            };
            prop_assert!(found.as_ref().is_ok_and(|found| found == value), "{}/{}", namespace, key);
        }
    }
}

#[test]
fn the_longest_text_goes_in_and_one_byte_more_does_not() {
    let mut settings = Settings::new();
    let longest = "x".repeat(LONGEST_TEXT);
    settings.set("a", "b", Value::Str(longest.clone())).unwrap();
    let image = settings.image(0x4000).unwrap();
    let mut nvs = Nvs::new(0, image.len(), MemFlash::from_bytes(image)).unwrap();
    assert_eq!(read::<String>(&mut nvs, "a", "b").unwrap(), longest);

    let error = settings.set("a", "c", Value::Str(longest + "x")).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("at most 3967 bytes without NUL, got 3968 bytes"), "{told}");
}

#[test]
fn what_firmware_could_not_read_is_refused() {
    let mut settings = Settings::new();
    let one = Value::U8(1);
    for (namespace, key) in
        [("", "key"), ("a", ""), ("a", "sixteen_letters_"), ("a", "two words"), ("a", "ümlaut")]
    {
        let error = settings.set(namespace, key, one.clone()).unwrap_err();
        assert!(matches!(error, NvsError::Name(_)), "{error}");
    }
    settings.set("a", "subscribe_topic", one.clone()).unwrap();
    let twice = settings.set("a", "subscribe_topic", one.clone());
    assert_eq!(twice, Err(NvsError::Twice("a/subscribe_topic".into())));
    let error = settings.set("a", "text", Value::Str("secret\0".into())).unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
    for size in [0, 0x1000, 0x2000, 0x4001] {
        assert_eq!(settings.image(size), Err(NvsError::Size(size)));
    }
    for key in 0..252 {
        settings.set("b", &format!("key{key}"), one.clone()).unwrap();
    }
    let full = NvsError::Full { room: 2, needed: 3 };
    assert_eq!(settings.image(0x3000), Err(full));
    settings.image(0x4000).unwrap();
}

#[test]
fn settings_that_stock_firmware_does_not_take_are_refused() {
    let network = |ssid: &str, password: &str| StockSettings {
        networks: vec![Network { ssid: ssid.into(), password: Secret::new(password) }],
        ..StockSettings::default()
    };
    let dialled =
        |url: &str| StockSettings { ota_url: Some(url.into()), ..StockSettings::default() };
    let many = StockSettings { networks: vec![Network::default(); 11], ..StockSettings::default() };
    for (settings, expected) in [
        (network("", ""), "1 to 32 bytes, got 0 bytes"),
        (network(&"x".repeat(33), ""), "1 to 32 bytes, got 33 bytes"),
        (network("Bench", "short"), "8 to 64 bytes, got 5 bytes"),
        (dialled("http://a"), "got 8 bytes: `http://a`"),
        (dialled("192.168.1.10:8003/ota"), "with `://`"),
        (many, "at most ten, got 11"),
    ] {
        let told = settings.settings().unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
        assert!(!told.contains("`short`"), "{told}");
    }
    network("Bench", "longer-than-seven").settings().unwrap();
}
