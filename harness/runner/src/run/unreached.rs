//! A device that never connected: whether the device shows why itself, and what people can do about it.

use mcp_hil_boards::Target;
use mcp_hil_core::catalogue::RequirementId as Id;
use mcp_hil_core::transcript::BRING_UP;
use mcp_hil_core::transport::Transport;
use mcp_hil_core::verdict::Outcome;

use super::RunError;
use super::dut_run::DutRun;
use super::session::Session;

/// How many refused connections are told when no device connects.
const REFUSED_TOLD: usize = 5;

/// How many of the last lines of the console are told then.
const LINES_TOLD: usize = 8;

/// What the host kit says of an address that it cannot dial: it tells why nobody came, however much was said after it.
const NO_TLS: &str = "TLS is not part of the host build";

/// How many of the last things that were done to a board are told then.
const STEPS_TOLD: usize = 5;

impl DutRun<'_, '_> {
    /// Reports that the device did not connect, where its own doing shows: it was turned away, it panics, or its program
    /// crashes.
    ///
    /// # Errors
    ///
    /// Nothing shows that it is the device's doing.
    pub(super) fn not_connected(
        &mut self,
        session: &mut Session,
        url: &str,
    ) -> Result<(), RunError> {
        session.suspect_bench();
        let crashes = matches!(&session.target, Target::Process(it) if it.has_crashed());
        let unreached = self.no_connection(session, url);
        let outcome = session.end_case(None);
        let mut found = outcome.judgements.iter();
        // A boot that is begun again and again may be that of an empty flash; only an application panics.
        let panics = outcome.trouble.is_none()
            && found.any(|it| {
                it.requirement == Id::LivenessNoPanic && matches!(it.outcome, Outcome::Broken(_))
            });
        match session.connection.refused {
            Some(why) => self.give_up(why),
            None if crashes && outcome.trouble.is_none() => {
                self.give_up("the device crashes before it connects");
            }
            None if panics => self.give_up("the device panics before it connects"),
            None => return Err(unreached),
        }
        let report = self.blank(BRING_UP, "The device connects and answers", None);
        self.case_reports.finish(report, outcome, &self.plan.policy(), self.reporters);
        Ok(())
    }

    fn no_connection(&self, session: &mut Session, url: &str) -> RunError {
        let seconds = self.plan.connect_deadline.as_secs_f64();
        let mut more = match session.target {
            // It has no console here.
            Target::Wait => String::new(),
            _ => console(&session.judge.console_lines().collect::<Vec<_>>()),
        };
        let reasons = refusals(session);
        for (refused, times) in reasons.iter().take(REFUSED_TOLD) {
            more.push('\n');
            more.push_str(refused);
            if *times > 1 {
                more.push_str(&format!(" ({times} times)"));
            }
        }
        let gone = session.bench.gone.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        let what = match session.target.is_running() {
            // Not that of a board, which has its own words: the network, or the broker.
            _ if let Some(what) = &session.bench.trouble => what.clone(),
            Some(false) => format!("the device's process ended before it connected{gone}"),
            _ => format!("no device connected to `{url}` within {seconds} s{gone}"),
        };
        let done = &session.bench.done;
        if session.target.board().is_some() && !done.is_empty() {
            let last = &done[done.len().saturating_sub(STEPS_TOLD)..];
            more.push_str(&format!("\nwhat the bench did: {}", last.join("; ")));
        }
        session.transcript.recorder.hide(&mut more);
        let lines: Vec<&str> = session.judge.console_lines().collect();
        let mut how = self.plan.dut.how_to_connect(self.transport, &lines).to_owned();
        if session.terms.bootstrapped {
            let (told, other) = match self.transport {
                Transport::WebSocket => ("`websocket` section", "MQTT needs `--transport mqtt`"),
                Transport::Mqtt => ("`mqtt` section", "WebSocket needs `--transport websocket`"),
            };
            how.push_str(&format!(
                "; it has asked for its configuration and got a {told}: a device that speaks {other}"
            ));
        }
        if session.terms.exposed && self.transport == Transport::WebSocket && !reasons.is_empty() {
            how.push_str(
                "; a token that is built into a device is the right one with `--token`, or MCP_HIL_TOKEN",
            );
        }
        let more = if more.is_empty() { String::new() } else { format!("; {}", more.trim_start()) };
        RunError::NoConnection(format!(
            "{what}{more}\n\nhint: {how}; `--connect-deadline` gives it more time"
        ))
    }
}

/// What the console showed last, and before that why the device cannot dial its address.
fn console(lines: &[&str]) -> String {
    let (before, last) = lines.split_at(lines.len().saturating_sub(LINES_TOLD));
    if last.is_empty() {
        return "its console showed nothing".to_owned();
    }
    let ended = format!("its console ended with:\n  {}", last.join("\n  "));
    match before.iter().rfind(|line| line.contains(NO_TLS)) {
        Some(line) if !last.iter().any(|line| line.contains(NO_TLS)) => {
            format!("its console said:\n  {line}\n{ended}")
        }
        _ => ended,
    }
}

/// Who connected, and was not let in or spoke another protocol: it may have been the device. Each reason with how often
/// it was told.
fn refusals(session: &mut Session) -> Vec<(String, usize)> {
    let mut reasons: Vec<(String, usize)> = Vec::new();
    let refused = session.ports.endpoint.take_refused();
    for refused in refused.into_iter().chain(session.ports.http.take_refused()) {
        // The port is another one each time; the reason is what counts.
        let why = refused.split_once(" refused: ").map(|(_, why)| why);
        match reasons.iter_mut().find(|(told, _)| why.is_some_and(|why| told.ends_with(why))) {
            Some((_, times)) => *times += 1,
            None => reasons.push((refused, 1)),
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_an_address_cannot_be_dialled_is_told_however_long_ago_it_was_said() {
        let tls = "E (5) transport: TLS is not part of the host build: cannot connect to a.b:443";
        let later = ["I (6) x: more"; LINES_TOLD];
        let told = console(&[&["I (4) x: first", tls][..], &later].concat());
        assert!(
            told.starts_with(&format!("its console said:\n  {tls}\nits console ended")),
            "{told}"
        );
        assert!(!told.contains("first"), "{told}");
        // Once is enough.
        assert_eq!(console(&[tls, tls]).matches("said:").count(), 0);
        let plain = console(&[&["I (4) x: first"][..], &later].concat());
        assert!(plain.starts_with("its console ended with:\n  I (6)"), "{plain}");
        assert_eq!(console(&[]), "its console showed nothing");
    }
}
