//! The tools of a device: their declaration, their listing in pages, their lookup.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::arguments::Arguments;
use crate::board::Board;
use crate::effects::Effects;
use crate::json;
use crate::property::Property;
use crate::rpc::RpcError;

/// Largest result of `tools/list` in bytes. The protocol gateway closes the connection of a device
/// whose packet exceeds 8192 bytes; the difference is room for the envelope.
pub(crate) const PAGE_LIMIT: usize = 8000;

/// A tool that could not do what it was asked for, although the call was legal. Becomes a result
/// with `isError` true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFailure(pub String);

/// What a tool does. The text goes into the result.
pub type Handler = fn(&mut Board, &Arguments, &mut Effects) -> Result<String, ToolFailure>;

/// One tool.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Exact name, as called.
    pub name: &'static str,
    /// What it does, for a language model.
    pub description: &'static str,
    /// Its arguments.
    pub properties: &'static [Property],
    /// Listed for people only (`withUserTools`); it can be called all the same.
    pub user_only: bool,
    /// What it does.
    pub handler: Handler,
}

impl Tool {
    fn to_json(self) -> String {
        let mut out = String::with_capacity(512);
        out.push_str("{\"name\":");
        json::push_string(&mut out, self.name);
        out.push_str(",\"description\":");
        json::push_string(&mut out, self.description);
        out.push_str(",\"inputSchema\":{\"type\":\"object\",\"properties\":{");
        for (index, property) in self.properties.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            property.push_schema(&mut out);
        }
        out.push('}');
        let mut required = self.properties.iter().filter(|property| property.default().is_none());
        if let Some(first) = required.next() {
            out.push_str(",\"required\":[");
            json::push_string(&mut out, first.name);
            for property in required {
                out.push(',');
                json::push_string(&mut out, property.name);
            }
            out.push(']');
        }
        out.push('}');
        if self.user_only {
            out.push_str(",\"annotations\":{\"audience\":[\"user\"]}");
        }
        out.push('}');
        out
    }
}

/// Why a tool was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterError {
    /// There is a tool of this name.
    Duplicate(&'static str),
    /// The tool alone does not fit in a page.
    TooLarge(&'static str),
}

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegisterError::Duplicate(name) => write!(f, "Tool {name} already added"),
            RegisterError::TooLarge(name) => {
                write!(f, "tools/list: Failed to add tool {name} because of payload size limit")
            }
        }
    }
}

/// All tools, in the order of registration.
#[derive(Clone, Debug)]
pub struct Registry {
    entries: Vec<Entry>,
    /// Largest result of `tools/list` in bytes.
    page_limit: usize,
}

impl Default for Registry {
    fn default() -> Self {
        Registry { entries: Vec::new(), page_limit: PAGE_LIMIT }
    }
}

#[derive(Clone, Debug)]
struct Entry {
    tool: Tool,
    /// The tool in `tools/list`, written once: listing is then copying.
    json: String,
}

impl Registry {
    /// Adds a tool at the end.
    pub fn add(&mut self, tool: Tool) -> Result<(), RegisterError> {
        if self.find(tool.name).is_some() {
            return Err(RegisterError::Duplicate(tool.name));
        }
        let json = tool.to_json();
        if PAGE_HEAD.len() + json.len() + next_cursor_length(tool.name) > PAGE_LIMIT {
            return Err(RegisterError::TooLarge(tool.name));
        }
        self.entries.push(Entry { tool, json });
        Ok(())
    }

    /// Takes out the tools that are not to be kept, as for a board without the parts.
    pub fn retain(&mut self, mut keep: impl FnMut(&Tool) -> bool) {
        self.entries.retain(|entry| keep(&entry.tool));
    }

    /// Lists in smaller pages, of at most `bytes` bytes; a page has one tool at least.
    pub fn limit_pages(&mut self, bytes: usize) {
        self.page_limit = bytes.min(PAGE_LIMIT);
    }

    /// The tool of exactly this name.
    pub fn find(&self, name: &str) -> Option<&Tool> {
        self.tools().find(|tool| tool.name == name)
    }

    /// All tools in order, user-only tools included.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.entries.iter().map(|entry| &entry.tool)
    }

    /// The result of `tools/list`: a page of limited size that begins with the tool that `cursor`
    /// names.
    pub(crate) fn page(&self, cursor: &str, with_user_tools: bool) -> Result<String, RpcError> {
        let mut visible =
            self.entries.iter().filter(|entry| with_user_tools || !entry.tool.user_only).peekable();
        if !cursor.is_empty() {
            while visible.next_if(|entry| entry.tool.name != cursor).is_some() {}
            if visible.peek().is_none() {
                return Err(RpcError::invalid_params(alloc::format!("Unknown cursor: {cursor}")));
            }
        }
        let mut out = String::with_capacity(PAGE_LIMIT);
        out.push_str(PAGE_HEAD);
        let mut first = true;
        while let Some(entry) = visible.next() {
            if !first {
                out.push(',');
            }
            first = false;
            out.push_str(&entry.json);
            let mut ahead = visible.clone();
            let Some(next) = ahead.next() else { break };
            // The next tool must leave room for the cursor that would have to follow it.
            let after =
                ahead.next().map_or("]}".len(), |after| next_cursor_length(after.tool.name));
            if out.len() + 1 + next.json.len() + after > self.page_limit {
                out.push_str("],\"nextCursor\":");
                json::push_string(&mut out, next.tool.name);
                out.push('}');
                return Ok(out);
            }
        }
        out.push_str("]}");
        Ok(out)
    }
}

const PAGE_HEAD: &str = "{\"tools\":[";

/// Bytes after the last tool of a page that names the next one. Tool names are plain ASCII, so
/// that escaping does not lengthen them.
fn next_cursor_length(name: &str) -> usize {
    "],\"nextCursor\":\"\"}".len() + name.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;
    use alloc::collections::BTreeSet;
    use alloc::string::ToString;
    use alloc::vec;

    fn page(registry: &Registry, cursor: &str, users: bool) -> (Vec<String>, Option<String>) {
        let text = registry.page(cursor, users).expect("a page");
        assert!(text.len() <= PAGE_LIMIT, "{} bytes", text.len());
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let names = value["tools"].as_array().expect("tools").iter();
        let names = names.map(|tool| tool["name"].as_str().expect("name").to_string()).collect();
        (names, value["nextCursor"].as_str().map(ToString::to_string))
    }

    fn walk(registry: &Registry, users: bool) -> Vec<Vec<String>> {
        let mut pages = vec![];
        let mut cursor = String::new();
        loop {
            let (names, next) = page(registry, &cursor, users);
            pages.push(names);
            match next {
                Some(next) => cursor = next,
                None => return pages,
            }
        }
    }

    #[test]
    fn the_pages_hold_every_tool_once_and_in_order() {
        let registry = tools::registry();
        for users in [false, true] {
            let pages = walk(&registry, users);
            let total: usize = registry.entries.iter().map(|entry| entry.json.len() + 1).sum();
            assert!(pages.len() >= 3, "{} pages, {total} bytes in all", pages.len());
            let listed: Vec<_> = pages.concat();
            let expected: Vec<_> = registry
                .tools()
                .filter(|tool| users || !tool.user_only)
                .map(|tool| tool.name.to_string())
                .collect();
            assert_eq!(listed, expected);
            assert_eq!(listed.iter().collect::<BTreeSet<_>>().len(), listed.len());
        }
    }

    #[test]
    fn pages_are_filled_as_far_as_they_go() {
        let registry = tools::registry();
        let text = registry.page("", false).expect("a page");
        let longest = registry.entries.iter().map(|entry| entry.json.len()).max().expect("tools");
        assert!(
            text.len() + longest + 64 > PAGE_LIMIT,
            "{} bytes, longest tool {longest}",
            text.len()
        );
    }

    #[test]
    fn smaller_pages_hold_the_same_tools() {
        let mut registry = tools::registry();
        let all = walk(&registry, true).concat();
        registry.limit_pages(0);
        let pages = walk(&registry, true);
        assert!(pages.iter().all(|page| page.len() == 1));
        assert_eq!(pages.concat(), all);
    }

    #[test]
    fn a_board_with_few_parts_has_few_tools() {
        let mut registry = tools::registry();
        registry.retain(|tool| tool.name == "self.get_device_status");
        assert_eq!(walk(&registry, true), [["self.get_device_status"]]);
        assert!(registry.find("self.reboot").is_none());
        registry.retain(|_| false);
        assert_eq!(walk(&registry, true), [[""; 0]]);
    }

    #[test]
    fn an_unknown_cursor_is_invalid_params() {
        let registry = tools::registry();
        for cursor in ["no such tool", "self.reboot", "SELF.GET_DEVICE_STATUS"] {
            assert_eq!(registry.page(cursor, false).expect_err(cursor).code, -32602);
        }
        assert!(registry.page("self.reboot", true).is_ok());
    }

    #[test]
    fn a_name_can_be_taken_once() {
        let mut registry = tools::registry();
        let again = *registry.find("self.reboot").expect("a tool");
        assert_eq!(registry.add(again), Err(RegisterError::Duplicate("self.reboot")));
    }

    #[test]
    fn descriptions_fit_the_style_of_the_family() {
        for tool in tools::registry().tools() {
            assert!(!tool.description.is_empty(), "{}", tool.name);
            assert!(tool.name.is_ascii() && tool.name.starts_with("self."), "{}", tool.name);
        }
    }
}
