//! Checks on `tools/list`: each page, each listing as a whole, and listings against each other.

use mcp_hil_core::catalogue::RequirementId as Id;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Map, Value};

use super::boot_log::BootLog;
use super::handshake::LinkState;
use super::log::{CaseLog, Reply};
use super::pending::Open;
use super::sink::{Sink, evidence};
use super::status;
use super::tool::judge_tool;
use mcp_hil_core::capability::{HARMLESS, SET_VOLUME, STATUS_TOOL};
use mcp_hil_core::limits::{MAX_PAGE_BYTES, MAX_PAGES};
use mcp_hil_core::obligation::Owes;
use mcp_hil_core::step::{self, StepKind};
use mcp_hil_core::transcript::{Mark, What};
use mcp_hil_core::verdict::Evidence;
use mcp_hil_core::wire::{Inbound, Payload};

/// Requirements about the tools of a list.
const OF_TOOLS: [Id; 5] = [
    Id::ListToolName,
    Id::ListDescription,
    Id::ListInputSchema,
    Id::ListSchemaValid,
    Id::ListRequiredDeclared,
];

/// Well-known tools that stock firmware shows with `withUserTools` only.
const USER_ONLY: [&str; 2] = ["self.get_system_info", "self.screen.get_info"];

/// How a device tells that its list is another one now.
const LIST_CHANGED: &str = "notifications/tools/list_changed";

/// What the listings of a session have shown.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// Names of the last complete list without user-only tools.
    ordinary: Option<Vec<String>>,
    /// The same with them.
    with_user: Option<Vec<String>>,
    /// The schema of each tool of a complete list, as it was last shown.
    schemas: BTreeMap<String, Value>,
    boot: BootLog,
    /// Tools that were judged, by their whole text: a fence may list them a thousand times.
    judged: HashSet<String>,
    /// Names of all tools that were ever listed.
    listed: HashSet<String>,
    /// Whether calls of tools that nobody knows are refused, as far as that was seen: else a success does not show that
    /// there is such a tool.
    refuses_unknown: Option<bool>,
    /// Each `nextCursor` of a page.
    cursors: BTreeSet<String>,
    /// The device has told that its list changed.
    tells_changes: bool,
    /// A list had other tools than before, whether told or not.
    has_changed: bool,
}

/// A walk over the pages.
struct Listing {
    step: String,
    with_user: bool,
    /// The flag that was sent, where it is no boolean.
    odd_flag: Option<Value>,
    from_start: bool,
    empty_cursor: bool,
    complete: bool,
    tools: Vec<Value>,
    /// Each `nextCursor`.
    cursors: Vec<String>,
    /// Where it was asked for.
    began: u64,
    seq: u64,
}

impl Listing {
    /// The names of its tools.
    fn names(&self) -> Vec<String> {
        let name = |tool: &Value| Some(tool.get("name")?.as_str()?.to_owned());
        self.tools.iter().filter_map(name).collect()
    }

    /// Whether it is the whole list, asked for as usual, with or without the tools for users.
    fn is_plain(&self, with_user: bool) -> bool {
        let is_usual = self.odd_flag.is_none() && !self.empty_cursor && self.from_start;
        is_usual && self.complete && self.with_user == with_user
    }
}

impl Lists {
    /// Takes a console line.
    pub(crate) fn console_line(&mut self, seq: u64, line: &str) {
        self.boot.line(seq, line);
    }

    /// Whether the console has shown a whole boot, with the tools that it adds.
    pub(crate) fn saw_boot(&self) -> bool {
        self.boot.ever_complete
    }

    /// Whether the device has told that its list changed.
    pub(crate) fn tells_changes(&self) -> bool {
        self.tells_changes
    }

    /// The schemas of the tools that were listed.
    pub(crate) fn schemas(&self) -> &BTreeMap<String, Value> {
        &self.schemas
    }

    /// Judges an answer to `tools/list` or `tools/call` on this link.
    pub(crate) fn answered(
        &mut self,
        seq: u64,
        payload: &Map<String, Value>,
        open: &Open,
        link: &LinkState,
        sink: &mut Sink,
    ) {
        let result = payload.get("result");
        match (open.duty.method.as_deref(), result) {
            (Some("tools/list"), Some(result)) => self.page(seq, result, open, sink),
            (Some("tools/call"), _) => {
                let early = payload.contains_key("error") && !link.is_initialized(open.seq);
                // One that requires something is another tool of that name.
                let required =
                    self.schemas.get(STATUS_TOOL).and_then(|schema| schema.get("required"));
                let is_plain = required.and_then(Value::as_array).is_none_or(Vec::is_empty);
                if self.listed.contains(STATUS_TOOL) && is_plain && !early {
                    let has_volume = self.listed.contains(SET_VOLUME);
                    status::judge_reading(seq, payload, open, has_volume, sink);
                }
                self.callable(seq, result, open, sink);
            }
            _ => {}
        }
    }

    /// A well-known tool that could be called must be in the list.
    fn callable(&mut self, seq: u64, result: Option<&Value>, open: &Open, sink: &mut Sink) {
        let done = result.is_some_and(|result| result.get("isError") != Some(&Value::Bool(true)));
        let known = self.with_user.as_ref().or(self.ordinary.as_ref());
        let (Some(tool), Some(known)) = (&open.duty.tool, known) else {
            return;
        };
        // A cursor need not name a tool.
        sink.held(Id::ListCursorListed);
        if self.cursors.contains(tool) && done && self.refuses_unknown == Some(true) {
            let is_there = known.contains(tool) || self.listed.contains(tool);
            sink.test(Id::ListCursorListed, is_there || self.may_hide(tool, known), || {
                evidence(
                    format!(
                        "`{tool}` on a page, because a nextCursor names it and it can be called"
                    ),
                    format!("pages without it, of {} tools", known.len()),
                    seq,
                )
            });
            return;
        }
        if !HARMLESS.contains(&tool.as_str()) {
            if !self.listed.contains(tool) && open.duty.owes == Owes::Answer {
                self.refuses_unknown = Some(!done && self.refuses_unknown != Some(false));
            }
        } else if done && self.refuses_unknown == Some(true) && !self.may_hide(tool, known) {
            sink.test(Id::ListCallableListed, known.contains(tool), || {
                evidence(
                    format!("`{tool}`, which can be called, in the list"),
                    format!("{} tools without it", known.len()),
                    seq,
                )
            });
        }
    }

    /// Whether a tool may be in no list: `withUserTools` is an extension, and who does not know it has no list to show a
    /// tool for users in.
    fn may_hide(&self, tool: &str, longest: &[String]) -> bool {
        let told = matches!(self.boot.tools.get(tool), Some((_, true)));
        (told || USER_ONLY.contains(&tool)) && !self.shows_more(longest)
    }

    /// Whether a list with `withUserTools` has more than the ordinary one.
    fn shows_more(&self, names: &[String]) -> bool {
        let ordinary = self.ordinary.as_deref().unwrap_or_default();
        names.iter().any(|name| !ordinary.contains(name))
    }

    /// Judges the listings of a case as wholes.
    pub(crate) fn end_case(&mut self, log: &CaseLog, sink: &mut Sink) {
        let mut changes = self.changes(log).into_iter().peekable();
        let all = listings(log, sink);
        for (at, listing) in all.iter().enumerate() {
            let mut is_mixed = false;
            while let Some(at) = changes.next_if(|at| *at < listing.seq) {
                self.forget();
                is_mixed = at > listing.began;
            }
            sink.step = Some(listing.step.as_str().into());
            let names = listing.names();
            let unique: BTreeSet<&String> = names.iter().collect();
            sink.test(Id::ListNameUnique, unique.len() == names.len(), || {
                let twice =
                    names.iter().find(|name| names.iter().filter(|n| n == name).count() > 1);
                evidence("each tool once across all pages", format!("{twice:?} twice"), listing.seq)
            });
            if !(listing.complete && listing.from_start) || is_mixed {
                continue;
            }
            if listing.odd_flag.is_some() {
                self.judge_odd_flag(listing, sink);
                continue;
            }
            if listing.empty_cursor {
                let next = all[at + 1..].iter().find(|next| next.is_plain(listing.with_user));
                self.judge_empty_cursor(listing, &names, next, sink);
                continue;
            }
            let changed = self.changed_schema(listing);
            let (earlier, kind) = if listing.with_user {
                (&mut self.with_user, "with user-only tools")
            } else {
                (&mut self.ordinary, "of ordinary tools")
            };
            let before = earlier.replace(names.clone());
            let is_same = before.as_ref().is_none_or(|before| *before == names);
            self.has_changed |= before.as_ref().is_some_and(|before| set(before) != set(&names));
            if before.is_some() || changed.is_some() {
                sink.test(Id::ListStable, is_same && changed.is_none(), || {
                    let (expected, received) = match (changed, before) {
                        (_, Some(before)) if !is_same => (
                            format!("the same list {kind} as before: {} tools", before.len()),
                            difference(&before, &names),
                        ),
                        (changed, _) => changed.unwrap_or_default(),
                    };
                    evidence(expected, received, listing.seq)
                });
            }
            sink.held(Id::ListCallableListed);
            if listing.tools.is_empty() {
                // Nothing to break them with.
                for requirement in OF_TOOLS {
                    sink.held(requirement);
                }
            }
            self.judge_against_others(listing, &names, sink);
        }
        if changes.next().is_some() {
            self.forget();
        }
        sink.step = None;
    }

    /// Where in a case the list became another one: where the device told so (MCP 2024-11-05, server/tools, "List
    /// Changed Notification"). Who has ever done so may also begin with its first list again after a restart.
    fn changes(&mut self, log: &CaseLog) -> Vec<u64> {
        let mut changes = Vec::new();
        for logged in &log.entries {
            let told = matches!(
                logged.inbound.as_ref().and_then(Inbound::payload),
                Some(Payload::Notification(message)) if message.get("method") == Some(&LIST_CHANGED.into())
            );
            self.tells_changes |= told;
            if told || self.tells_changes && matches!(logged.entry.what, What::LinkUp { .. }) {
                changes.push(logged.entry.seq);
            }
        }
        changes
    }

    /// Forgets the lists that later ones are compared with.
    fn forget(&mut self) {
        (self.ordinary, self.with_user) = (None, None);
        self.schemas.clear();
    }

    /// The first tool whose schema is another than when it was listed before: what it was, and what it is.
    fn changed_schema(&mut self, listing: &Listing) -> Option<(String, String)> {
        let mut changed = None;
        for tool in &listing.tools {
            let name = tool.get("name").and_then(Value::as_str);
            let (Some(name), Some(schema)) = (name, tool.get("inputSchema")) else {
                continue;
            };
            let before = self.schemas.insert(name.to_owned(), schema.clone());
            if let Some(before) = before.filter(|before| before != schema && changed.is_none()) {
                changed = Some((
                    format!("`{name}` with the inputSchema that it had before: {before}"),
                    schema.to_string(),
                ));
            }
        }
        changed
    }

    fn page(&mut self, seq: u64, result: &Value, open: &Open, sink: &mut Sink) {
        let proof = |expected: &str, received: String| Evidence {
            sent: Some(open.text.to_string()),
            ..evidence(expected, received, seq)
        };
        let bytes = result.to_string().len();
        sink.test(Id::ListPageSize, bytes <= MAX_PAGE_BYTES, || {
            proof(&format!("at most {MAX_PAGE_BYTES} bytes in a page"), format!("{bytes} bytes"))
        });
        let cursor = result.get("nextCursor");
        sink.test(
            Id::ListNextCursorString,
            cursor.is_none_or(|cursor| cursor.is_string() || cursor.is_null()),
            || {
                proof(
                    "nextCursor as a string",
                    format!("nextCursor {}", cursor.unwrap_or(&Value::Null)),
                )
            },
        );
        sink.test(Id::ListNextCursorNotNull, cursor.is_none_or(|cursor| !cursor.is_null()), || {
            proof("no nextCursor on the last page", "nextCursor null".to_owned())
        });
        if self.cursors.len() < MAX_PAGES {
            self.cursors.extend(cursor.and_then(Value::as_str).map(str::to_owned));
        }
        let tools = result.get("tools").and_then(Value::as_array);
        sink.test(Id::ListToolsArray, tools.is_some(), || {
            proof("result.tools as an array", result.to_string())
        });
        for tool in tools.into_iter().flatten() {
            if self.judged.insert(tool.to_string()) {
                let name = tool.get("name").and_then(Value::as_str);
                self.listed.extend(name.map(str::to_owned));
                judge_tool(seq, tool, sink);
            }
        }
    }

    fn judge_against_others(&self, listing: &Listing, names: &[String], sink: &mut Sink) {
        self.judge_against_boot_log(listing, names, sink);
        self.judge_cursors(listing, sink);
        if listing.with_user {
            self.judge_against_ordinary(listing, names, sink);
            return;
        }
        let for_users_only = |tool: &&Value| audience(tool) == Some(&Value::from(vec!["user"]));
        let shown = listing.tools.iter().find(for_users_only);
        sink.test(Id::ListUserToolsHidden, shown.is_none(), || {
            let received = shown.map(Value::to_string).unwrap_or_default();
            evidence("no user-only tool without withUserTools", received, listing.seq)
        });
    }

    /// Judges a list that was requested with a flag that is no boolean: only `true` shows the tools for users.
    fn judge_odd_flag(&self, listing: &Listing, sink: &mut Sink) {
        let Some(ordinary) = &self.ordinary else {
            return;
        };
        let is_hidden = |tool: &&Value| {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            !ordinary.iter().any(|known| known == name)
        };
        let shown = listing.tools.iter().find(is_hidden);
        sink.test(Id::ListUserToolsFlag, shown.is_none(), || {
            let flag = listing.odd_flag.as_ref().unwrap_or(&Value::Null);
            let name = shown.map_or(&Value::Null, |tool| &tool["name"]);
            let received = format!("{name}, for withUserTools {flag}");
            evidence("no further tool than in the ordinary list", received, listing.seq)
        });
    }

    /// Judges a list whose first page was asked for by an empty cursor: it has the tools of the one without a cursor, before
    /// it or behind it: a list may have changed in between, and not be told of.
    fn judge_empty_cursor(
        &self,
        listing: &Listing,
        names: &[String],
        next: Option<&Listing>,
        sink: &mut Sink,
    ) {
        let plain = if listing.with_user { &self.with_user } else { &self.ordinary };
        let Some(plain) = plain else { return };
        let is_same = |other: &[String]| set(other) == set(names);
        let is_kept = is_same(plain) || next.is_some_and(|next| is_same(&next.names()));
        sink.test(Id::ListCursorEmpty, is_kept, || {
            let expected = format!("the list without a cursor: {} tools", plain.len());
            evidence(expected, difference(plain, names), listing.seq)
        });
    }

    fn judge_against_boot_log(&self, listing: &Listing, names: &[String], sink: &mut Sink) {
        let seq = listing.seq;
        if self.tells_changes || self.has_changed {
            return;
        }
        for (tool, (added, user_only)) in &self.boot.tools {
            // What was added since could not be in the list.
            let is_shown = listing.with_user && self.shows_more(names);
            if *user_only && !is_shown || *added > listing.began {
                continue;
            }
            sink.test(Id::ListConsoleInventory, names.contains(tool), || {
                evidence(
                    format!("`{tool}` in the list, because it is in the boot log"),
                    format!("{} tools without it", names.len()),
                    seq,
                )
            });
        }
        if !self.boot.complete || self.boot.garbled {
            return;
        }
        // A console shows other names as it can.
        let is_plain =
            |name: &&String| name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        let unknown =
            names.iter().filter(is_plain).find(|name| !self.boot.tools.contains_key(*name));
        sink.test(Id::ListConsoleComplete, unknown.is_none(), || {
            evidence(
                format!(
                    "`{}` among the {} tools that the boot log adds, because it is in the list",
                    unknown.map_or("", String::as_str),
                    self.boot.tools.len()
                ),
                "a boot log without it",
                seq,
            )
        });
        let is_for_users = |name: &&String| matches!(self.boot.tools.get(*name), Some((_, true)));
        let shown = names.iter().find(is_for_users).filter(|_| !listing.with_user);
        sink.test(Id::ListConsoleUserOnly, shown.is_none(), || {
            evidence(
                "no tool without withUserTools that the boot log marks `[user]`",
                format!("`{}`", shown.map_or("", String::as_str)),
                seq,
            )
        });
    }

    /// Judges the cursors that name a tool of the boot log, once it is known which tools are hidden.
    fn judge_cursors(&self, listing: &Listing, sink: &mut Sink) {
        // A cursor need not name a tool.
        sink.held(Id::ListCursorTool);
        let Some(longest) = &self.with_user else { return };
        for cursor in &listing.cursors {
            let is_due =
                self.boot.tools.get(cursor).is_some_and(|(added, _)| *added < listing.began);
            if is_due && !self.may_hide(cursor, longest) {
                sink.test(Id::ListCursorTool, self.listed.contains(cursor), || {
                    evidence(
                        format!(
                            "`{cursor}` on a page, because a nextCursor and the boot log name it"
                        ),
                        format!("pages without it, of {} tools", listing.tools.len()),
                        listing.seq,
                    )
                });
            }
        }
    }

    /// Judges a list with user-only tools against the one without them.
    fn judge_against_ordinary(&self, listing: &Listing, names: &[String], sink: &mut Sink) {
        let Some(ordinary) = &self.ordinary else {
            return;
        };
        let missing = ordinary.iter().find(|tool| !names.contains(tool));
        sink.test(Id::ListUserToolsSuperset, missing.is_none(), || {
            let expected = "every ordinary tool in the list with withUserTools";
            let missing = missing.map_or("", String::as_str);
            evidence(expected, format!("`{missing}` missing"), listing.seq)
        });
        let hidden = |tool: &&Value| {
            let name = tool.get("name").and_then(Value::as_str);
            name.is_some_and(|name| !ordinary.iter().any(|known| known == name))
        };
        let for_users = |tool: &&Value| {
            let audience = audience(tool).and_then(Value::as_array);
            audience.is_some_and(|who| who.iter().any(|one| one == "user"))
        };
        let mut extra = listing.tools.iter().filter(hidden).peekable();
        if extra.peek().is_some() {
            let unmarked = extra.find(|tool| !for_users(tool));
            sink.test(Id::ListUserToolsMarked, unmarked.is_none(), || {
                let received = unmarked.map(Value::to_string).unwrap_or_default();
                evidence("annotations.audience [\"user\"]", received, listing.seq)
            });
        }
    }
}

/// Puts the listings of a case together from their pages, and judges their ends.
fn listings(log: &CaseLog, sink: &mut Sink) -> Vec<Listing> {
    let mut found: Vec<Listing> = Vec::new();
    for logged in &log.entries {
        let (What::Sent { frame, .. }, Some(step)) = (&logged.entry.what, &logged.entry.step)
        else {
            continue;
        };
        let (base, Some(StepKind::Page(page))) = step::parts(step) else {
            continue;
        };
        // A hello may go out on the way, and a page that was refused for its rate is asked for again.
        if log.sent(step).is_none_or(|sent| sent.entry.seq != logged.entry.seq) {
            continue;
        }
        if page == 0 {
            let params = serde_json::from_str::<Value>(&frame.display()).unwrap_or_default();
            let params = &params["payload"]["params"];
            found.push(Listing {
                step: base.to_owned(),
                with_user: params["withUserTools"] == Value::Bool(true),
                odd_flag: params.get("withUserTools").filter(|flag| !flag.is_boolean()).cloned(),
                from_start: params.get("cursor").is_none_or(|cursor| cursor == ""),
                empty_cursor: params.get("cursor").is_some(),
                complete: false,
                tools: Vec::new(),
                cursors: Vec::new(),
                began: logged.entry.seq,
                seq: logged.entry.seq,
            });
        }
        let (Some(listing), Reply::Answer(answer, payload)) = (found.last_mut(), log.reply(step))
        else {
            continue;
        };
        let Some(result) = payload.get("result") else {
            sink.step = Some(step.clone());
            sink.test(Id::ListTerminates, page == 0, || {
                let received = Value::Object(payload.clone()).to_string();
                evidence("the page of the nextCursor before it", received, answer.entry.seq)
            });
            continue;
        };
        let tools = result.get("tools").and_then(Value::as_array);
        listing.tools.extend(tools.into_iter().flatten().cloned());
        listing.seq = answer.entry.seq;
        let next = result.get("nextCursor").and_then(Value::as_str).unwrap_or_default();
        if next.is_empty() {
            listing.complete = tools.is_some();
        } else {
            sink.test(Id::ListPageNotEmpty, tools.is_some_and(|tools| !tools.is_empty()), || {
                evidence("a tool on a page with a nextCursor", "none", answer.entry.seq)
            });
            listing.cursors.push(next.to_owned());
        }
    }
    for listing in &found {
        if listing.complete {
            sink.held(Id::ListTerminates);
        }
    }
    for logged in &log.entries {
        if let What::Mark { mark: Mark::ListEnded { why } } = &logged.entry.what {
            sink.step = logged.entry.step.clone();
            sink.test(Id::ListTerminates, false, || {
                evidence(
                    format!("a last page after fewer than {MAX_PAGES} pages, no repeated cursor"),
                    why.clone(),
                    logged.entry.seq,
                )
            });
        }
    }
    found
}

/// Who a tool is for, as its annotations say.
fn audience(tool: &Value) -> Option<&Value> {
    tool.get("annotations")?.get("audience")
}

/// Names, in whatever order they were listed.
fn set(names: &[String]) -> BTreeSet<&String> {
    names.iter().collect()
}

fn difference(before: &[String], now: &[String]) -> String {
    let lost: Vec<&String> = before.iter().filter(|name| !now.contains(name)).collect();
    let new: Vec<&String> = now.iter().filter(|name| !before.contains(name)).collect();
    if lost.is_empty() && new.is_empty() {
        "the same tools in a different order".to_owned()
    } else {
        format!("{} tools; missing {lost:?}, new {new:?}", now.len())
    }
}
