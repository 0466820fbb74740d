//! The file of a baseline, changed in place: what people wrote stays as they wrote it.

use std::collections::BTreeSet;
use std::fmt;

use mcp_hil_core::baseline::FirmwareRange;
use mcp_hil_core::transport::Transport;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use mcp_hil_record::error::UserError;

/// Name of the tables.
const KNOWN: &str = "known";

/// An entry that is to be added.
#[derive(Debug, Clone)]
pub(super) struct New {
    pub(super) case: String,
    /// Its slug, or its area; `None` for any but a crash.
    pub(super) requirement: Option<String>,
    pub(super) reason: String,
    pub(super) transport: Option<Transport>,
    pub(super) intermittent: bool,
    pub(super) unexercised: bool,
    pub(super) expires: Option<String>,
    pub(super) firmware: Option<FirmwareRange>,
}

impl New {
    /// The case with its requirement, for people.
    pub(super) fn name(&self) -> String {
        let over = self.transport.map(|transport| format!(" over {}", transport.name()));
        let requirement = self.requirement.iter().map(|slug| format!(":{slug}"));
        let requirement: String = requirement.collect();
        format!("{}{requirement}{}", self.case, over.unwrap_or_default())
    }
}

/// The text of a baseline.
#[derive(Debug)]
pub(super) struct BaselineFile {
    heading: String,
    document: DocumentMut,
}

impl BaselineFile {
    /// One without entries, below a heading.
    pub(super) fn new(heading: &str) -> Self {
        Self { heading: format!("{heading}\n"), document: DocumentMut::new() }
    }

    /// One that is there.
    pub(super) fn read(name: &str, text: &str) -> Result<Self, UserError> {
        let mut document: DocumentMut = text.parse().map_err(|error| {
            UserError::usage(format!("`{name}`: {error}"), "the file is not a baseline")
        })?;
        // `known = [{...}]` is the same in other words, and has to be changed in the same way.
        if document.get(KNOWN).is_some_and(Item::is_value)
            && let Some(item) = document.remove(KNOWN)
            && let Ok(tables) = item.into_array_of_tables()
        {
            document.insert(KNOWN, Item::ArrayOfTables(tables));
        }
        Ok(Self { heading: String::new(), document })
    }

    /// Takes entries out, by their number from 0, with the comments right above them. Comments that an
    /// empty line sets apart are about more than one entry and stay.
    pub(super) fn drop_entries(&mut self, numbers: &BTreeSet<usize>) {
        let trailing = self.document.trailing().as_str().unwrap_or_default().to_owned();
        let Some(Item::ArrayOfTables(tables)) = self.document.get_mut(KNOWN) else {
            return;
        };
        for number in numbers.iter().rev() {
            let kept = tables.get(*number).map(apart).unwrap_or_default();
            tables.remove(*number);
            if kept.is_empty() {
                continue;
            }
            match tables.get_mut(*number) {
                Some(next) => {
                    let own = prefix(next).to_owned();
                    next.decor_mut().set_prefix(kept + &own);
                }
                None => self.heading.insert_str(0, kept.trim_start_matches('\n')),
            }
        }
        if tables.is_empty() {
            // Nothing else is left for comments to stand by.
            let heading = std::mem::take(&mut self.heading);
            self.document.set_trailing(heading + &trailing);
        }
    }

    /// Adds an entry at the end.
    pub(super) fn add(&mut self, new: &New) {
        let mut table = Table::new();
        table.insert("case", value(&new.case));
        if let Some(requirement) = &new.requirement {
            table.insert("requirement", value(requirement));
        }
        table.insert("reason", value(&new.reason));
        if let Some(transport) = new.transport {
            table.insert("transport", value(transport.name()));
        }
        if let Some(firmware) = &new.firmware {
            table.insert("firmware", value(firmware.to_string()));
        }
        if let Some(date) = &new.expires {
            table.insert("expires", value(date));
        }
        if new.intermittent {
            table.insert("intermittent", value(true));
        }
        if new.unexercised {
            table.insert("unexercised", value(true));
        }
        table.insert("review", value(true));
        let tables = self.document.entry(KNOWN);
        let tables = tables.or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        if let Item::ArrayOfTables(tables) = tables {
            tables.push(table);
        }
    }
}

impl fmt::Display for BaselineFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.heading, self.document)
    }
}

/// What stands above an entry.
fn prefix(table: &Table) -> &str {
    let prefix = table.decor().prefix();
    prefix.and_then(|prefix| prefix.as_str()).unwrap_or_default()
}

/// The comments above an entry that an empty line sets apart from it.
fn apart(table: &Table) -> String {
    let prefix = prefix(table);
    match prefix.rfind("\n\n") {
        Some(end) if prefix[..end].contains('#') => prefix[..=end].to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# About the device.

# Of ids.

# the large one
[[known]]
case = \"ids/large\" # a word
reason = \"one\"

[[known]]
reason = \"two\"
case = \"ids/zero\"

# Of errors.

[[known]]
case = \"errors/x\"
reason = \"three\"
";

    fn without(numbers: &[usize]) -> String {
        let mut file = BaselineFile::read("b.toml", FILE).unwrap();
        file.drop_entries(&numbers.iter().copied().collect());
        file.to_string()
    }

    #[test]
    fn what_is_not_changed_stays_letter_by_letter() {
        assert_eq!(without(&[]), FILE);
        let start = FILE.find("\n[[known]]\nreason").unwrap();
        let end = FILE.find("\n# Of errors").unwrap();
        assert_eq!(without(&[1]), [&FILE[..start], &FILE[end..]].concat());
    }

    #[test]
    fn comments_that_stand_apart_stay() {
        let text = without(&[0]);
        assert!(text.starts_with("# About the device.\n\n# Of ids.\n"), "{text}");
        assert!(!text.contains("large"), "{text}");
        assert!(without(&[2]).contains("# Of errors."));
        let text = without(&[0, 1, 2]);
        for comment in ["# About the device.", "# Of ids.", "# Of errors."] {
            assert!(text.contains(comment), "{text}");
        }
        assert!(!text.contains("known"), "{text}");
    }

    #[test]
    fn entries_in_one_line_are_changed_as_well() {
        let text = "known = [{case = \"a/b\", reason = \"x\"}, {case = \"c/d\", reason = \"y\"}]\n";
        let mut file = BaselineFile::read("b.toml", text).unwrap();
        file.drop_entries(&BTreeSet::from([0]));
        let text = file.to_string();
        assert!(!text.contains("a/b") && text.contains("c/d"), "{text}");
        let mut file = BaselineFile::read("b.toml", "known = []\n").unwrap();
        file.add(&New {
            case: "a/b".into(),
            requirement: Some("ids.echo".into()),
            reason: "\"quoted\" and \\ odd".into(),
            transport: Some(Transport::Mqtt),
            intermittent: true,
            unexercised: false,
            expires: None,
            firmware: None,
        });
        let text = file.to_string();
        let baseline = mcp_hil_core::baseline::Baseline::load("b.toml", &text).unwrap();
        assert_eq!(baseline.known[0].reason, "\"quoted\" and \\ odd");
        assert_eq!(baseline.known[0].transport, Some(Transport::Mqtt));
        assert!(baseline.known[0].review && baseline.known[0].intermittent);
    }
}
