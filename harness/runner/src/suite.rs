//! The suite: catalogue and scenarios, built in and from folders of the user.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_hil_core::baseline::{Baseline, Known};
use mcp_hil_core::catalogue::{Catalogue, RuleSet};
use mcp_hil_core::problem::nearest;
use mcp_hil_core::transcript::{BRING_UP, CLOSE, REGRESSION, SCENARIO};
use mcp_hil_generate::{PROPERTIES, Property};
use mcp_hil_judge::compare::SAME_ANSWERS;
use mcp_hil_scenario::{Case, GivenIds};

use mcp_hil_record::error::UserError;

/// Catalogue and cases.
#[derive(Debug)]
pub struct Suite {
    /// The requirements.
    pub catalogue: Arc<Catalogue>,
    /// The rule sets in force.
    pub sets: Vec<RuleSet>,
    /// Their names.
    pub rules: Vec<&'static str>,
    /// All cases in force, in the order in which they run.
    pub cases: Vec<Case>,
}

/// The areas in the order in which they run: what later ones build on comes first, what may hurt
/// the device last.
const AREAS: [&str; 18] = [
    // What a device does in time shows on one that nothing odd was sent to.
    "linger",
    // Before any case tells a URL for pictures: a device keeps it until it is restarted.
    "vision",
    "initialize",
    "list",
    "jsonrpc",
    "ids",
    "call",
    "arguments",
    "errors",
    "notifications",
    "volume",
    "status",
    "envelope",
    "hello",
    "mqtt",
    "session",
    "robustness",
    // Some devices say hello, and open an audio channel, only once: the channel is closed before anything
    // else ends the connection.
    "channel",
];

impl Suite {
    /// Reads the built-in suite and the scenarios of a folder, if given. No rule sets mean the
    /// default ones.
    ///
    /// # Errors
    ///
    /// The first mistake in a file, or an unknown rule set.
    pub fn load(rules: &[String], folder: Option<&Path>) -> Result<Self, UserError> {
        let sets = rules.iter().map(|name| rule_set(name)).collect::<Result<Vec<_>, _>>()?;
        let sets = if sets.is_empty() { RuleSet::DEFAULT.to_vec() } else { sets };
        let files = mcp_hil_scenarios::requirements().iter().copied();
        let catalogue = Arc::new(Catalogue::load(files, sets.iter().copied())?);
        let mut cases = Vec::new();
        for (id, file, text) in mcp_hil_scenarios::scripts() {
            let file = format!("scenarios/{file}");
            cases.push(Case::load(id, &file, text, &catalogue)?);
        }
        if let Some(folder) = folder {
            let built_in = cases.len();
            read_folder(folder, folder, &catalogue, &mut cases)?;
            // All cases share one session unless they ask for their own.
            let mut ids = GivenIds::default();
            cases[..built_in].iter().for_each(|case| ids.enter(case));
            for case in &cases[built_in..] {
                ids.check(case)?;
            }
        }
        // A case whose requirements are all out of force would judge nothing.
        cases.retain(|case| {
            let slugs = case.requirements();
            slugs.is_empty() || slugs.iter().any(|slug| catalogue.active(slug.slug()).is_some())
        });
        cases.sort_by_key(|case| {
            let area = AREAS.iter().position(|area| *area == case.area()).unwrap_or(AREAS.len());
            (case.fresh, area)
        });
        let rules = RuleSet::ALL
            .iter()
            .filter(|(_, set)| sets.contains(set))
            .map(|(name, _)| *name)
            .collect();
        Ok(Self { catalogue, sets, rules, cases })
    }

    /// Puts the scenario files of a folder before all cases.
    ///
    /// # Errors
    ///
    /// The first mistake in a file.
    pub fn add_regressions(&mut self, folder: &Path) -> Result<(), UserError> {
        let mut files = Vec::new();
        let entries = std::fs::read_dir(folder).map_err(|error| {
            let what = format!("cannot read `{}`: {error}", folder.display());
            UserError::usage(what, "check `--regressions`")
        })?;
        for entry in entries {
            let path = entry.map(|entry| entry.path()).unwrap_or_default();
            let ending = path.extension().and_then(|ending| ending.to_str());
            if matches!(ending, Some("yaml" | "yml")) {
                files.push(path);
            }
        }
        files.sort();
        let cases = self.read_each(REGRESSION, &files)?;
        self.cases.splice(0..0, cases);
        Ok(())
    }

    /// The cases of scenario files.
    ///
    /// # Errors
    ///
    /// The first mistake in a file.
    pub fn read_files(&self, files: &[PathBuf]) -> Result<Vec<Case>, UserError> {
        self.read_each(SCENARIO, files)
    }

    fn read_each(&self, area: &str, files: &[PathBuf]) -> Result<Vec<Case>, UserError> {
        let mut cases: Vec<Case> = Vec::new();
        for path in files {
            let shown = path.display().to_string();
            let text = std::fs::read_to_string(path).map_err(|error| {
                UserError::usage(format!("cannot read `{shown}`: {error}"), "check the path")
            })?;
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            // Two folders may have files of one name.
            let names = (1..).map(|number| match number {
                1 => format!("{area}{stem}"),
                number => format!("{area}{stem}-{number}"),
            });
            let taken = |name: &String| cases.iter().any(|case| *case.id == **name);
            let id = names.into_iter().find(|name| !taken(name));
            let case = Case::load(&id.unwrap_or_default(), &shown, &text, &self.catalogue)?;
            GivenIds::reserved(&case)?;
            cases.push(case);
        }
        Ok(cases)
    }

    /// Refuses a baseline with a case that there is not: the entry would cover nothing, and nobody would be told.
    ///
    /// # Errors
    ///
    /// No case has the name, and none begins with it where it names an area.
    pub fn check_covered(&self, baseline: &Baseline, path: &Path) -> Result<(), UserError> {
        let properties = PROPERTIES.iter().map(|property| property.id);
        let built_in = [BRING_UP, CLOSE, SAME_ANSWERS].into_iter().chain(properties);
        let names: Vec<&str> = self.cases.iter().map(|case| &*case.id).chain(built_in).collect();
        // Those are named after files, which another run may have.
        let is_of_files = |case: &str| case.starts_with(REGRESSION) || case.starts_with(SCENARIO);
        let covers_none = |known: &&Known| {
            !is_of_files(&known.case) && !names.iter().any(|name| known.covers(name))
        };
        let Some(known) = baseline.known.iter().find(covers_none) else {
            return Ok(());
        };
        let what = format!("`{}`: no case `{}`", path.display(), known.case);
        Err(UserError::usage(what, &meant(&known.case, names)))
    }

    /// Refuses what is to be left out, and would leave nothing out.
    ///
    /// # Errors
    ///
    /// No case and no property is selected by it.
    pub fn check_excluded(&self, selector: &str) -> Result<(), UserError> {
        check_given("--exclude", selector)?;
        let mut properties = PROPERTIES.iter();
        if self.cases.iter().any(|case| selects(selector, case))
            || properties.any(|property| property.id.starts_with(selector))
        {
            return Ok(());
        }
        Err(UserError::usage(
            format!("`--exclude {selector}` selects no case"),
            &self.selector_meant(selector),
        ))
    }

    /// What somebody may have meant whose selector selects nothing.
    fn selector_meant(&self, selector: &str) -> String {
        let ids = self.cases.iter().map(|case| &*case.id);
        let properties = PROPERTIES.iter().map(|known| known.id);
        let requirements = self.catalogue.iter().map(|requirement| &*requirement.id);
        meant(selector, ids.chain(properties).chain(requirements))
    }

    /// The cases whose id is, or begins with, one of the selectors; all where there is none.
    ///
    /// # Errors
    ///
    /// A selector that selects nothing.
    pub fn select(&self, only: &[String]) -> Result<Vec<Case>, UserError> {
        for selector in only {
            check_given("--only", selector)?;
            if selector.starts_with("gateway/") || selector.starts_with("gateway.") {
                let what = format!("`--only {selector}` is about gateways, not devices");
                return Err(UserError::nothing_ran(what, "add `--sut gateway`"));
            }
            let property = |property: &Property| property.id.starts_with(selector.as_str());
            let built_in = [BRING_UP, CLOSE, SAME_ANSWERS].contains(&selector.as_str())
                || PROPERTIES.iter().any(property);
            if self.catalogue.get(selector).is_some()
                && !self.cases.iter().any(|case| selects(selector, case))
            {
                let what = format!(
                    "`{selector}` is judged on every transcript and has no case of its own"
                );
                return Err(UserError::nothing_ran(
                    what,
                    "run without `--only`, or with the cases that you want",
                ));
            }
            if !built_in && !self.cases.iter().any(|case| selects(selector, case)) {
                let what = format!("`--only {selector}` selects no case");
                return Err(UserError::nothing_ran(what, &self.selector_meant(selector)));
            }
        }
        let wanted =
            |case: &&Case| only.is_empty() || only.iter().any(|selector| selects(selector, case));
        Ok(self.cases.iter().filter(wanted).cloned().collect())
    }
}

/// What somebody may have meant who named what there is not.
fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("did you mean `{near}`? `mcp-hil list` shows all cases"),
        None => "`mcp-hil list` shows all cases".to_owned(),
    }
}

/// Refuses a selector without a letter, which all cases begin with.
fn check_given(option: &str, selector: &str) -> Result<(), UserError> {
    match selector.is_empty() {
        true => Err(UserError::usage(
            format!("`{option}` is empty"),
            "name a case or an area, or leave the option out",
        )),
        false => Ok(()),
    }
}

/// Whether a case is selected. A selector is a whole id, a prefix of one, or the slug of a requirement that the case names.
pub(crate) fn selects(selector: &str, case: &Case) -> bool {
    case.id.starts_with(selector) || case.requirements().iter().any(|one| one.slug() == selector)
}

/// The rule set of a name.
///
/// # Errors
///
/// There is none of that name; the message names all.
pub fn rule_set(name: &str) -> Result<RuleSet, UserError> {
    RuleSet::named(name).ok_or_else(|| {
        let known = RuleSet::ALL.map(|(name, _)| format!("`{name}`")).join(", ");
        let hint = match nearest(name, RuleSet::ALL.iter().map(|(name, _)| *name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "leave `--rules` out for the default".to_owned(),
        };
        UserError::usage(format!("unknown rule set `{name}`: expected one of {known}"), &hint)
    })
}

fn read_folder(
    root: &Path,
    folder: &Path,
    catalogue: &Catalogue,
    cases: &mut Vec<Case>,
) -> Result<(), UserError> {
    let refuse = |path: &Path, error: std::io::Error| {
        UserError::usage(
            format!("cannot read `{}`: {error}", path.display()),
            "check `--scenarios`",
        )
    };
    let mut paths = std::fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>())
        .map_err(|error| refuse(folder, error))?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read_folder(root, &path, catalogue, cases)?;
        } else if path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml") {
            let text = std::fs::read_to_string(&path).map_err(|error| refuse(&path, error))?;
            let id = path.strip_prefix(root).unwrap_or(&path).with_extension("");
            let id = id.to_string_lossy().replace('\\', "/");
            let id = if id.contains('/') { id } else { format!("own/{id}") };
            if cases.iter().any(|case| *case.id == *id) {
                return Err(UserError::usage(
                    format!("`{}`: there is already a case `{id}`", path.display()),
                    "rename the file",
                ));
            }
            cases.push(Case::load(&id, &path.display().to_string(), &text, catalogue)?);
        }
    }
    Ok(())
}
