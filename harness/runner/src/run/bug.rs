//! A bug of this program in the middle of a run: no device is blamed for it, and the reports are written.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

/// Carries something out. A panic on the way ends it, and comes back as its message.
///
/// # Errors
///
/// The message of the panic.
pub(super) async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = Box::pin(work);
    // What it has left half done is used no more, but for what is told of the cases before.
    std::future::poll_fn(move |context| {
        let polled = AssertUnwindSafe(|| work.as_mut().poll(context));
        match catch_unwind(polled) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
            Err(panic) => Poll::Ready(Err(message(&*panic))),
        }
    })
    .await
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|&text| text.to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a message".to_owned())
}

/// Panics in the case that MCP_HIL_BUG names: so the project's own tests put a bug in. Released programs do not.
pub(super) fn put_in(case: &str) {
    let wanted = || std::env::var("MCP_HIL_BUG").is_ok_and(|wanted| wanted == case);
    assert!(!(cfg!(debug_assertions) && wanted()), "a bug was put in");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_comes_back_as_its_message() {
        assert_eq!(caught(async { 7 }).await, Ok(7));
        let breaks = async {
            tokio::task::yield_now().await;
            let number: Result<u8, _> = "x".parse::<u8>();
            number.expect("a number")
        };
        let message = caught(breaks).await.unwrap_err();
        assert!(message.starts_with("a number: "), "{message}");
    }
}
