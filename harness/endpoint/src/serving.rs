//! A task that serves a port, and its end: when that is awaited, the port is free again.
//!
//! Aborting a task only asks for its end. The socket stays open until the runtime gets to it, and who
//! binds the same port in the meantime is told that another program has it.

use std::future::Future;

use tokio::{sync::oneshot, task::JoinHandle};

/// A task that owns a socket. It ends with this value, soon after; [`end`](Self::end) waits for it.
#[derive(Debug)]
pub(crate) struct Serving {
    /// The task sees that this is dropped.
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// What tells such a task to stop.
#[derive(Debug)]
pub(crate) struct Stop(oneshot::Receiver<()>);

impl Serving {
    /// Starts one. It has to return as soon as [`Stop::wanted`] does, with its socket closed. Must be
    /// called inside a tokio runtime.
    pub(crate) fn start<F>(serve: impl FnOnce(Stop) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (stop, wanted) = oneshot::channel();
        Self { stop, task: tokio::spawn(serve(Stop(wanted))) }
    }

    /// Ends it. Its socket is closed when this returns.
    pub(crate) async fn end(self) {
        drop(self.stop);
        // One that panicked has ended, too.
        let _ = self.task.await;
    }
}

impl Stop {
    /// Ready when the task is to stop. Cancel-safe, and not to be asked again after that.
    pub(crate) async fn wanted(&mut self) {
        // Nobody sends: the other side is dropped.
        let _ = (&mut self.0).await;
    }
}
