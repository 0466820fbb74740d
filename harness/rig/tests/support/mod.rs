//! What the tests of the endpoint and of its links share.

use std::time::Duration;

use mcp_hil_core::wire::Frame;
use mcp_hil_rig::{Endpoint, Link, LinkLost};
use tokio::time::timeout;

/// Tests fail by this, and never hang.
pub(crate) const LATEST: Duration = Duration::from_secs(20);

pub(crate) async fn endpoint() -> Endpoint {
    Endpoint::bind("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap()
}

pub(crate) async fn accept(endpoint: &mut Endpoint) -> Link {
    timeout(LATEST, endpoint.accept()).await.expect("a link")
}

pub(crate) async fn recv(link: &mut Link) -> Result<Frame, LinkLost> {
    timeout(LATEST, link.recv()).await.expect("an end")
}
