//! Getting a file over HTTP that must have a certain hash.

use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use mcp_hil_core::wire::{from_hex, to_hex};
use sha2::Digest;
use ureq::Agent;

use super::not_writable;
use mcp_hil_record::error::UserError;

/// Most bytes that an archive may have; those of the pinned release have less than 20 MiB.
const LARGEST: u64 = 512 * 1024 * 1024;

/// How long a connection may take to stand, and a server to say anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes that are read at a time.
const PIECE: usize = 64 * 1024;

/// A SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sha256([u8; 32]);

impl FromStr for Sha256 {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        from_hex(text).and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(())
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_hex(&self.0))
    }
}

/// Downloads a file and checks its hash.
pub(super) fn download(url: &str, expected: &Sha256, to: &Path) -> Result<(), UserError> {
    let failed = |why: String| {
        UserError::bench(
            format!("cannot download `{url}`: {why}"),
            "is there a network, and a proxy in HTTPS_PROXY if one is needed? `--url` can name a \
             mirror of the same file",
        )
    };
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .timeout_per_read(Some(PATIENCE))
        .user_agent(mcp_hil_record::TOOL.replace(' ', "/"))
        .build()
        .into();
    let response = agent.get(url).call().map_err(|error| failed(error.to_string()))?;
    let status = response.status();
    if !status.is_success() {
        return Err(failed(format!("expected status 200, got {status}")));
    }
    let mut body = response.into_body();
    let announced = body.content_length();
    let mut file = File::create(to).map_err(|error| not_writable(to, &error))?;
    let mut hasher = sha2::Sha256::new();
    let (mut piece, mut got) = (vec![0; PIECE], 0_u64);
    let mut reader = body.with_config().limit(LARGEST).reader();
    loop {
        let read = reader.read(&mut piece).map_err(|error| {
            let whole = announced.map_or(String::new(), |whole| format!(" of {whole}"));
            failed(format!("it was interrupted after {got}{whole} bytes: {error}"))
        })?;
        if read == 0 {
            break;
        }
        got += read as u64;
        hasher.update(&piece[..read]);
        file.write_all(&piece[..read]).map_err(|error| not_writable(to, &error))?;
    }
    if let Some(whole) = announced.filter(|whole| *whole != got) {
        return Err(failed(format!("it was interrupted after {got} of {whole} bytes")));
    }
    let found = Sha256(hasher.finalize().into());
    if found != *expected {
        return Err(UserError::bench(
            format!(
                "`{url}` is not the expected file: expected SHA-256\n  {expected}, got\n  {found}, \
                 in {got} bytes"
            ),
            "it was changed on the way, or it is a different release: give the hash that its \
             publisher states with `--sha256`",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_64_digits() {
        let text = "00ff".repeat(16);
        assert_eq!(text.parse::<Sha256>().unwrap().to_string(), text);
        assert_eq!(text.to_uppercase().parse(), text.parse::<Sha256>());
        for wrong in ["", "00", &"0g".repeat(32), &"+f".repeat(32), &"ä".repeat(32)] {
            assert_eq!(wrong.parse::<Sha256>(), Err(()), "{wrong}");
        }
    }

    #[test]
    fn every_pinned_hash_is_one() {
        for (.., hash) in super::super::PINNED {
            assert_eq!(hash.parse::<Sha256>().unwrap().to_string(), hash);
        }
    }
}
