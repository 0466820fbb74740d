//! A board that a test plays, as long as the test holds it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::{Arc, Mutex};

use super::Place;

/// What takes orders.
pub(crate) trait Obeys: Send + 'static {
    /// Carries one out.
    fn obey(&mut self, order: &str);
}

/// Takes the lines that commands write into the pipe `orders`, until it is dropped: a device that outlived its
/// test would dial a port that another test has got.
#[must_use]
pub(crate) struct Held<B: Obeys>(Arc<Mutex<Option<B>>>);

impl<B: Obeys> Held<B> {
    /// Makes the pipe, and lets the board listen to it.
    pub(crate) fn new(place: &Place, board: B) -> Self {
        let pipe = place.path("orders");
        let mode = nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR;
        nix::unistd::mkfifo(&pipe, mode).unwrap();
        // Each command opens it for itself. Without a writer of its own, what comes between the end of one
        // command and the next opening would be lost.
        let orders = File::options().read(true).write(true).open(pipe).unwrap();
        let held = Arc::new(Mutex::new(Some(board)));
        let obeying = held.clone();
        std::thread::spawn(move || {
            for order in BufReader::new(orders).lines().map_while(Result::ok) {
                if let Some(board) = obeying.lock().unwrap().as_mut() {
                    board.obey(&order);
                }
            }
        });
        Self(held)
    }
}

impl<B: Obeys> Drop for Held<B> {
    fn drop(&mut self) {
        // One that broke down in an order has told why.
        if let Ok(mut board) = self.0.lock() {
            board.take();
        }
    }
}
