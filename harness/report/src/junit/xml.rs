//! The elements of a JUnit file, as the schema of Jenkins' xUnit plug-in (`junit-10.xsd`) has them: in ASCII, times
//! with three decimals, each number in the head of a suite counted.
//!
//! `junit-report` writes the elements. It knows no properties and no `skipped`, and has attributes that the schema does
//! not have: what it wrote is read once more, and gets the heads of this dialect.

use std::fmt::Write as _;
use std::io;

use junit_report::{Duration, Report, TestCase, TestResult, TestSuite};
use mcp_hil_record::text::clean::{xml_attribute, xml_body};
use quick_xml::events::{BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer};

/// Stands for the end of a CDATA section where a text has one: a code that is no character.
const CDATA_END: &str = "\u{fdd0}";

/// What became of a case.
#[derive(Debug)]
pub(super) enum Outcome {
    Passed,
    Skipped(Told),
    Failure(Told),
    Error(Told),
}

/// Why a case did not pass.
#[derive(Debug)]
pub(super) struct Told {
    /// What kind of reason it is; readers group by it.
    pub kind: String,
    /// In one line.
    pub message: String,
    /// All that is known.
    pub body: String,
}

/// A `testcase`.
#[derive(Debug)]
pub(super) struct Case {
    pub name: String,
    pub class: String,
    pub took_us: u64,
    pub outcome: Outcome,
    /// Of a case that passed, why it did not before it was tried again.
    pub flaky: Option<Told>,
    /// `system-out`; none if empty.
    pub out: String,
    /// `system-err`; none if empty.
    pub err: String,
}

/// A `testsuite`.
#[derive(Debug)]
pub(super) struct Suite {
    pub name: String,
    pub timestamp: String,
    pub properties: Vec<(String, String)>,
    pub cases: Vec<Case>,
    /// `system-out`; none if empty.
    pub out: String,
}

impl Suite {
    fn count(&self, which: impl Fn(&Outcome) -> bool) -> usize {
        self.cases.iter().filter(|case| which(&case.outcome)).count()
    }

    pub(super) fn failures(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Failure(_)))
    }

    pub(super) fn errors(&self) -> usize {
        self.count(|outcome| matches!(outcome, Outcome::Error(_)))
    }

    fn took_us(&self) -> u64 {
        self.cases.iter().map(|case| case.took_us).sum()
    }
}

/// All suites as a file.
///
/// # Errors
///
/// The XML writer failed, which it does not on memory.
pub(super) fn write(suites: &[Suite]) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    report(suites).write_xml(&mut plain).map_err(io::Error::other)?;
    in_dialect(&plain, suites)
}

/// The suites as the library has them.
fn report(suites: &[Suite]) -> Report {
    let mut report = Report::new();
    for suite in suites {
        let mut known = TestSuite::new(&suite.name);
        known.add_testcases(suite.cases.iter().map(testcase));
        known.system_out = some(&suite.out);
        report.add_testsuite(known);
    }
    report
}

fn testcase(case: &Case) -> TestCase {
    let mut known = TestCase::success(&case.name, Duration::ZERO);
    let parts = |Told { kind, message, body }: &Told| (kind.clone(), message.clone(), some(body));
    known.result = match &case.outcome {
        Outcome::Passed => TestResult::Success,
        Outcome::Skipped(told) => {
            let (type_, message, cause) = parts(told);
            TestResult::SkippedWithCause { type_, message, cause }
        }
        Outcome::Failure(told) => {
            let (type_, message, cause) = parts(told);
            TestResult::Failure { type_, message, cause }
        }
        Outcome::Error(told) => {
            let (type_, message, cause) = parts(told);
            TestResult::Error { type_, message, cause }
        }
    };
    known.set_classname(&case.class);
    (known.system_out, known.system_err) = (some(&case.out), some(&case.err));
    known
}

/// A text that there is. The end of a CDATA section in it would be one: what it means is put in afterwards.
fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| xml_body(text).replace(CDATA_END, "?").replace("]]>", CDATA_END))
}

/// What the library writes, with the attributes and properties of the schema, and in ASCII.
fn in_dialect(plain: &[u8], suites: &[Suite]) -> io::Result<Vec<u8>> {
    let mut reader = Reader::from_reader(plain);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 1);
    let mut suites_left = suites.iter();
    let mut cases_left = [].iter();
    loop {
        let event = reader.read_event().map_err(io::Error::other)?;
        match event {
            Event::Eof => break,
            Event::Start(element) | Event::Empty(element)
                if element.name().as_ref() == b"testsuites" =>
            {
                writer.write_event(Event::Start(start("testsuites", &of_all(suites))))?;
            }
            Event::Start(element) if element.name().as_ref() == b"testsuite" => {
                let Some(suite) = suites_left.next() else { continue };
                cases_left = suite.cases.iter();
                writer.write_event(Event::Start(start("testsuite", &of_suite(suite))))?;
                properties(&mut writer, suite)?;
            }
            Event::Start(element) => {
                let flaky = flaky(&element, &cases_left);
                writer.write_event(Event::Start(changed(&element, &mut cases_left)?))?;
                flaky_failure(&mut writer, flaky)?;
            }
            Event::Empty(element) => match flaky(&element, &cases_left) {
                None => writer.write_event(Event::Empty(changed(&element, &mut cases_left)?))?,
                told => {
                    let start = changed(&element, &mut cases_left)?;
                    let end = start.to_end().into_owned();
                    writer.write_event(Event::Start(start))?;
                    flaky_failure(&mut writer, told)?;
                    writer.write_event(Event::End(end))?;
                }
            },
            Event::CData(text) => {
                let text = String::from_utf8_lossy(&text).replace(CDATA_END, "]]>");
                writer.write_event(Event::Text(BytesText::from_escaped(ascii(&text))))?;
            }
            other => writer.write_event(other)?,
        }
    }
    let mut xml = writer.into_inner();
    xml.push(b'\n');
    Ok(xml)
}

/// Why the case of which an element is the head is flaky, if it is.
fn flaky<'a>(
    element: &BytesStart<'_>,
    cases_left: &std::slice::Iter<'a, Case>,
) -> Option<&'a Told> {
    let is_case = element.name().as_ref() == b"testcase";
    cases_left.as_slice().first().filter(|_| is_case)?.flaky.as_ref()
}

fn flaky_failure(writer: &mut Writer<Vec<u8>>, told: Option<&Told>) -> io::Result<()> {
    let Some(Told { kind, message, body }) = told else {
        return Ok(());
    };
    let attributes = [("message", message.clone()), ("type", kind.clone())];
    let head = start("flakyFailure", &attributes);
    let end = head.to_end().into_owned();
    writer.write_event(Event::Start(head))?;
    writer.write_event(Event::Text(BytesText::from_escaped(ascii(&xml_body(body)))))?;
    writer.write_event(Event::End(end))
}

/// The head of an element inside a suite.
fn changed(
    element: &BytesStart<'_>,
    cases_left: &mut std::slice::Iter<'_, Case>,
) -> io::Result<BytesStart<'static>> {
    let name = String::from_utf8_lossy(element.name().as_ref()).into_owned();
    if name == "testcase"
        && let Some(case) = cases_left.next()
    {
        let attributes = [
            ("classname", case.class.clone()),
            ("name", case.name.clone()),
            ("time", seconds(case.took_us)),
        ];
        return Ok(start("testcase", &attributes));
    }
    let mut attributes = Vec::new();
    for attribute in element.attributes() {
        let attribute = attribute.map_err(io::Error::other)?;
        let value = String::from_utf8_lossy(&attribute.value);
        let value = quick_xml::escape::unescape(&value).map_err(io::Error::other)?;
        attributes.push((
            String::from_utf8_lossy(attribute.key.as_ref()).into_owned(),
            value.into_owned(),
        ));
    }
    let attributes: Vec<(&str, String)> =
        attributes.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    Ok(start(&name, &attributes))
}

fn of_all(suites: &[Suite]) -> [(&'static str, String); 5] {
    let sum = |of: fn(&Suite) -> usize| suites.iter().map(of).sum::<usize>().to_string();
    [
        ("name", "mcp-hil".to_owned()),
        ("tests", sum(|suite| suite.cases.len())),
        ("failures", sum(Suite::failures)),
        ("errors", sum(Suite::errors)),
        ("time", seconds(suites.iter().map(Suite::took_us).sum())),
    ]
}

fn of_suite(suite: &Suite) -> [(&'static str, String); 7] {
    let skipped = suite.count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    [
        ("name", suite.name.clone()),
        ("tests", suite.cases.len().to_string()),
        ("failures", suite.failures().to_string()),
        ("errors", suite.errors().to_string()),
        ("skipped", skipped.to_string()),
        ("time", seconds(suite.took_us())),
        ("timestamp", suite.timestamp.clone()),
    ]
}

fn properties(writer: &mut Writer<Vec<u8>>, suite: &Suite) -> io::Result<()> {
    if suite.properties.is_empty() {
        return Ok(());
    }
    let element = writer.create_element("properties");
    element.write_inner_content(|writer| {
        for (name, value) in &suite.properties {
            let attributes = [("name", name.clone()), ("value", value.clone())];
            writer.write_event(Event::Empty(start("property", &attributes)))?;
        }
        Ok(())
    })?;
    Ok(())
}

fn start(name: &str, attributes: &[(&str, String)]) -> BytesStart<'static> {
    let values = escaped(attributes);
    BytesStart::new(name.to_owned()).with_attributes(raw(&values)).into_owned()
}

fn escaped<'a>(attributes: &[(&'a str, String)]) -> Vec<(&'a str, String)> {
    let value = |value: &String| ascii(&xml_attribute(value)).replace('"', "&quot;");
    attributes.iter().map(|(name, text)| (*name, value(text))).collect()
}

/// Attributes that are escaped already.
fn raw<'a>(values: &'a [(&str, String)]) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    values.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()))
}

/// A text without markup, and with every character outside of ASCII as its number: a reader that takes the file for
/// Latin-1 reads it right.
fn ascii(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            _ if character.is_ascii() => safe.push(character),
            _ => {
                // Writing into a string cannot fail.
                let _ = write!(safe, "&#x{:X};", u32::from(character));
            }
        }
    }
    safe
}

/// Seconds with three decimals.
fn seconds(us: u64) -> String {
    let ms = us.saturating_add(500) / 1_000;
    format!("{}.{:03}", ms / 1_000, ms % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_decimals() {
        assert_eq!(
            [0, 499, 500, 1_234_567, 3_600_000_000].map(seconds),
            ["0.000", "0.000", "0.001", "1.235", "3600.000"]
        );
    }

    #[test]
    fn nothing_outside_of_ascii_is_written() {
        assert_eq!(ascii("ü<音>\u{1f512}&"), "&#xFC;&lt;&#x97F3;&gt;&#x1F512;&amp;");
    }
}
