//! Which device it says it is, from one connection to the next.

use std::collections::BTreeMap;

use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::transcript::Party;

use super::sink::{Sink, evidence};

/// The headers by which a device says which one it is.
const IDENTITY: [&str; 2] = ["device-id", "client-id"];

/// What the device said on its first connection since it was started, as far as that is known. Across a start it may be
/// another one: what has no flash memory draws a new Client-Id.
#[derive(Debug, Default)]
pub(super) struct Identity {
    first: [Option<String>; 2],
    /// The latest connection ended as it does when the device starts again without a word.
    may_have_started: bool,
}

impl Identity {
    /// The device was started, or taken away, or told to start again.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// The connection ended.
    pub(super) fn left(&mut self, by: Party, orderly: bool) {
        self.may_have_started |= by != Party::Harness && !orderly;
    }

    /// The device connected, and shows headers.
    pub(super) fn connected(
        &mut self,
        headers: &BTreeMap<String, String>,
        seq: u64,
        sink: &mut Sink,
    ) {
        let [_, client] = &mut self.first;
        if std::mem::take(&mut self.may_have_started) {
            // The other one is that of its hardware.
            *client = None;
        }
        for (first, name) in self.first.iter_mut().zip(IDENTITY) {
            let Some(now) = headers.get(name).filter(|now| !now.is_empty()) else { continue };
            let Some(first) = first else {
                *first = Some(now.clone());
                continue;
            };
            sink.test_once(Id::HelloSameDevice, first == now, || {
                let expected = format!("header {name}: {first}, as on the first connection");
                evidence(expected, now.clone(), seq)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// What happens between two connections of which each has another id.
    #[rstest]
    #[case::closed_by_the_harness(Some((Party::Harness, false)), 1, 1)]
    #[case::left_with_a_word(Some((Party::Device, true)), 1, 1)]
    #[case::left_without_one(Some((Party::Device, false)), 1, 0)]
    #[case::started(None, 0, 0)]
    fn it_is_the_device_of_the_first_connection(
        #[case] left: Option<(Party, bool)>,
        #[case] by_device_id: usize,
        #[case] by_client_id: usize,
    ) {
        for (name, found) in [("device-id", by_device_id), ("client-id", by_client_id)] {
            let (mut identity, mut sink) = (Identity::default(), Sink::default());
            let headers = |id: &str| BTreeMap::from([(name.to_owned(), id.to_owned())]);
            identity.connected(&headers("aa"), 1, &mut sink);
            match left {
                Some((by, orderly)) => identity.left(by, orderly),
                None => identity.forget(),
            }
            identity.connected(&headers("AB"), 2, &mut sink);
            assert_eq!(sink.found.len(), found, "{name}");
        }
    }

    #[test]
    fn what_stays_from_the_second_connection_on_is_told() {
        let (mut identity, mut sink) = (Identity::default(), Sink::default());
        // A server looks a device up by the very text.
        for (seq, (id, found)) in [("aa", 0), ("aa", 0), ("AA", 1)].into_iter().enumerate() {
            let headers = BTreeMap::from([("client-id".into(), id.into())]);
            identity.connected(&headers, seq as u64, &mut sink);
            assert_eq!(sink.found.len(), found);
            identity.left(Party::Harness, false);
        }
    }
}
