//! The requirements by name, as the compiler knows them.

use std::fmt::{self, Display, Formatter};

include!(concat!(env!("OUT_DIR"), "/requirement_id.rs"));

/// Slugs that have another name today, which people's files may still have.
const OLD_NAMES: [(&str, RequirementId); 1] = [("session.redial", RequirementId::SessionReconnect)];

impl RequirementId {
    /// All requirements, in the order of their slugs.
    pub const ALL: &'static [Self] = &ALL;

    /// The slug: `area.name`.
    pub const fn slug(self) -> &'static str {
        SLUGS[self as usize]
    }

    /// The area: what stands before the point in the slug.
    pub fn area(self) -> &'static str {
        self.slug().split('.').next().unwrap_or_default()
    }

    /// Whether it is about the life of the device: a crash, a reset, a lost connection.
    pub fn is_liveness(self) -> bool {
        is_liveness(self.slug())
    }

    /// The slug that a requirement has today, for one that may be an old one or of nothing that this program knows.
    pub fn todays(slug: &str) -> &str {
        match Self::of(slug) {
            Some(id) => id.slug(),
            None => slug,
        }
    }

    /// The requirement of a slug, which may be an old one, if there is one.
    pub fn of(slug: &str) -> Option<Self> {
        match SLUGS.binary_search(&slug) {
            Ok(at) => Some(ALL[at]),
            Err(_) => OLD_NAMES.iter().find(|(old, _)| *old == slug).map(|(_, id)| *id),
        }
    }
}

/// Whether a slug, which this program need not know, is of a requirement about the life of the device: a crash, a
/// reset, a lost connection.
pub fn is_liveness(slug: &str) -> bool {
    slug.starts_with("liveness.")
}

impl Display for RequirementId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slug_names_its_requirement() {
        for id in RequirementId::ALL {
            assert_eq!(RequirementId::of(id.slug()), Some(*id));
        }
        assert_eq!(RequirementId::IdsEcho.slug(), "ids.echo");
        assert_eq!(RequirementId::of("ids.ecko"), None);
        assert_eq!(RequirementId::of("session.redial"), Some(RequirementId::SessionReconnect));
    }
}
