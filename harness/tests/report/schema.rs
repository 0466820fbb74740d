//! The form of a JUnit file, as those that read it want it.

use std::collections::{BTreeMap, BTreeSet};

use quick_xml::Reader;
use quick_xml::events::Event as Xml;

/// What the schema of Jenkins' xUnit plug-in (`junit-10.xsd`) has: elements, what stands in them, the attributes
/// that they must have, and those that they may have. No package of a registry has that file.
type Element =
    (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const SCHEMA: [Element; 9] = [
    ("testsuites", &["testsuite"], &[], &["name", "time", "tests", "failures", "errors"]),
    (
        "testsuite",
        &["testsuite", "properties", "testcase", "system-out", "system-err"],
        &["name", "tests", "failures", "errors"],
        &[
            "group",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
            "log",
            "url",
        ],
    ),
    ("properties", &["property"], &[], &[]),
    ("property", &[], &["name", "value"], &[]),
    (
        "testcase",
        &["skipped", "error", "failure", "system-out", "system-err"],
        &["name"],
        &["time", "classname", "group"],
    ),
    ("failure", &[], &[], &["type", "message"]),
    ("error", &[], &[], &["type", "message"]),
    ("skipped", &[], &[], &["type", "message"]),
    // Text stands in both; what else has text is mixed.
    ("system-out", &[], &[], &[]),
];

/// What breaks the schema in a file, and what GitLab or dorny's reporter would not read: each case once by class and
/// name, numbers that are those of the cases, times with three decimals, ASCII.
pub(crate) fn breaks(xml: &str) -> Vec<String> {
    let mut breaks = Vec::new();
    if !xml.is_ascii() {
        breaks.push("it is not ASCII".to_owned());
    }
    let (mut open, mut names): (Vec<String>, _) = (Vec::new(), BTreeSet::new());
    // Of the suite that is open: what its head says, and what is in it.
    let (mut said, mut counted) = (Vec::new(), [0_usize; 4]);
    let mut reader = Reader::from_str(xml);
    loop {
        let event = reader.read_event().unwrap();
        let (Xml::Start(start) | Xml::Empty(start)) = &event else {
            match event {
                Xml::End(_) => {
                    let element = open.pop().unwrap();
                    if element == "testsuite" && said != counted.map(|number| number.to_string()) {
                        breaks.push(format!("a suite says {said:?} and has {counted:?}"));
                    }
                }
                Xml::Eof => return breaks,
                _ => {}
            }
            continue;
        };
        let name = String::from_utf8(start.name().as_ref().to_vec()).unwrap();
        let of = |name: &str| {
            let name = name.replace("system-err", "system-out");
            SCHEMA.iter().find(|(known, ..)| **known == name)
        };
        let inside = open.last().map_or(name == "testsuites", |outer| {
            of(outer).is_some_and(|(_, inner, ..)| inner.contains(&&*name))
        });
        let Some((_, _, must, may)) = of(&name).filter(|_| inside) else {
            breaks.push(format!("`{name}` in {open:?}"));
            return breaks;
        };
        let attributes: BTreeMap<String, String> = start
            .attributes()
            .map(Result::unwrap)
            .map(|one| {
                let key = String::from_utf8(one.key.as_ref().to_vec()).unwrap();
                (key, String::from_utf8(one.value.to_vec()).unwrap())
            })
            .collect();
        for key in
            attributes.keys().filter(|key| !must.contains(&&***key) && !may.contains(&&***key))
        {
            breaks.push(format!("`{name}` has `{key}`"));
        }
        for key in must.iter().filter(|key| !attributes.contains_key(**key)) {
            breaks.push(format!("`{name}` lacks `{key}`"));
        }
        if let Some(time) = attributes.get("time") {
            let three = time.split_once('.').is_some_and(|(whole, part)| {
                let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
                !whole.is_empty() && digits(whole) && digits(part) && part.len() == 3
            });
            if !three {
                breaks.push(format!("time {time}"));
            }
        }
        match &*name {
            "testsuite" => {
                counted = [0; 4];
                said = ["tests", "failures", "errors", "skipped"]
                    .map(|key| attributes[key].clone())
                    .into();
            }
            "testcase" => {
                counted[0] += 1;
                if !names.insert((attributes["classname"].clone(), attributes["name"].clone())) {
                    breaks.push(format!("{} is there twice", attributes["name"]));
                }
            }
            "failure" => counted[1] += 1,
            "error" => counted[2] += 1,
            "skipped" => counted[3] += 1,
            _ => {}
        }
        if matches!(event, Xml::Start(_)) {
            open.push(name);
        }
    }
}
