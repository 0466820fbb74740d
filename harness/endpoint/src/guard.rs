//! Who is let in.

use std::{
    collections::BTreeSet,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

/// Most addresses that are remembered: a flood of requests is no reason to keep more.
const MAX_TOLD: usize = 256;

/// Who was told by HTTP where to dial and what to present there, by their addresses.
#[derive(Debug, Clone, Default)]
pub struct Told(Arc<Mutex<BTreeSet<IpAddr>>>);

impl Told {
    /// Takes note of one that was told.
    pub(super) fn add(&self, who: IpAddr) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MAX_TOLD {
            all.insert(who.to_canonical());
        }
    }

    /// Whether one was told.
    pub fn has(&self, who: IpAddr) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.contains(&who.to_canonical())
    }
}

/// What who dials must present, or be.
#[derive(Debug, Clone, Default)]
pub(super) struct Guard {
    /// The `Authorization` header; none lets everybody in.
    wanted: Option<Arc<str>>,
    /// Who is let in whatever it presents.
    told: Option<Told>,
}

impl Guard {
    /// Lets those in that present a token.
    pub(super) fn token(token: &str) -> Self {
        Self { wanted: Some(format!("Bearer {token}").into()), told: None }
    }

    /// Lets in those, too, that were told the token.
    pub(super) fn or_told(self, told: Told) -> Self {
        Self { told: Some(told), ..self }
    }

    /// Why one is not let in that presents this `Authorization`, in words without the token.
    pub(super) fn refuses(&self, who: IpAddr, presented: Option<&str>) -> Option<&'static str> {
        let wanted = self.wanted.as_deref()?;
        if self.told.as_ref().is_some_and(|told| told.has(who)) {
            return None;
        }
        match presented {
            Some(presented) if presented == wanted => None,
            None => Some("its handshake has no `Authorization: Bearer <token>`"),
            Some(presented) if !presented.starts_with("Bearer ") => {
                Some("its `Authorization` does not begin with `Bearer `")
            }
            Some(_) => Some("it presents a token other than the one it was given"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_need_the_token_and_who_was_told_it_is_known_by_its_address() {
        let [device, stranger] = ["192.168.1.20", "192.168.1.66"].map(|ip| ip.parse().unwrap());
        let told = Told::default();
        let guard = Guard::token("right").or_told(told.clone());
        assert!(guard.refuses(device, Some("Bearer wrong")).is_some());
        told.add("::ffff:192.168.1.20".parse().unwrap());
        for presented in [None, Some("right"), Some("Bearer wrong")] {
            assert_eq!(guard.refuses(device, presented), None);
            assert!(guard.refuses(stranger, presented).is_some());
            assert_eq!(Guard::default().refuses(stranger, presented), None);
        }
        assert_eq!(guard.refuses(stranger, Some("Bearer right")), None);
    }
}
