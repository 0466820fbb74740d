//! The bytes of one run's console: from a pipe, or over a TCP connection that the program makes.

use std::{
    io::{self, Write as _},
    net::{Ipv4Addr, TcpListener},
    os::fd::{AsFd, BorrowedFd},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use tokio::{
    net::{TcpStream, unix::pipe},
    sync::Notify,
    task::JoinHandle,
};

use super::console::Console;
use crate::lines::Lines;

/// How much of the console is read at once.
const CHUNK: usize = 16 * 1024;

/// How often that is done for lines that were written before now: a pipe holds no more.
const CHUNKS_OF_A_PIPE: usize = 8;

/// Where the bytes come from.
#[derive(Debug)]
pub(super) enum Source {
    Pipe(pipe::Receiver),
    Connection(TcpStream),
}

impl Source {
    async fn readable(&self) -> io::Result<()> {
        match self {
            Self::Pipe(pipe) => pipe.readable().await,
            Self::Connection(stream) => stream.readable().await,
        }
    }

    fn try_read(&self, chunk: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.try_read(chunk),
            Self::Connection(stream) => stream.try_read(chunk),
        }
    }
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Pipe(pipe) => pipe.as_fd(),
            Self::Connection(stream) => stream.as_fd(),
        }
    }
}

/// The bytes of one run. Two read them: who follows it, and who wants all that was written until now.
#[derive(Debug)]
pub(super) struct Output {
    source: Source,
    /// Locked from the reading of bytes until their lines are in the console, for the order of them.
    lines: Mutex<Lines>,
    /// The line that asks for input, and who is to be told of it.
    prompt: Option<(String, Notify)>,
}

impl Output {
    pub(super) fn new(source: Source, prompt: Option<String>) -> Self {
        Self {
            source,
            lines: Mutex::default(),
            prompt: prompt.map(|prompt| (prompt, Notify::new())),
        }
    }

    /// Waits for bytes and takes them; `false` when there will be no more. Cancel-safe.
    pub(super) async fn follow(&self, console: &Console) -> bool {
        if self.source.readable().await.is_err() {
            return false;
        }
        match self.take(console, |chunk| self.source.try_read(chunk)) {
            Ok(1..) => true,
            // It was read by who could not wait.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
            Ok(0) | Err(_) => false,
        }
    }

    /// Takes what is there, without waiting.
    pub(super) fn catch_up(&self, console: &Console) {
        for _ in 0..CHUNKS_OF_A_PIPE {
            // The runtime learns of new bytes only when it looks, and asking it would tell nothing of
            // those that have just come: the kernel knows.
            let read = |chunk: &mut [u8]| Ok(nix::unistd::read(&self.source, chunk)?);
            if !matches!(self.take(console, read), Ok(1..)) {
                break;
            }
        }
    }

    /// Hands out the last line, when it did not end.
    pub(super) fn finish(&self, console: &Console) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.finish(|line| console.line(line));
    }

    /// Waits for the line that asks for input.
    async fn prompted(&self) {
        match &self.prompt {
            Some((_, came)) => came.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Reads in one way or the other, and gives how many bytes that were.
    fn take(
        &self,
        console: &Console,
        read: impl FnOnce(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<usize> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let mut chunk = [0; CHUNK];
        let length = read(&mut chunk)?;
        lines.push(&chunk[..length], |line| {
            if let Some((prompt, came)) = &self.prompt
                && line.holds(prompt)
            {
                came.notify_one();
            }
            console.line(line);
        });
        Ok(length)
    }
}

/// A console that comes over a TCP connection: the program dials it, so that no port is guessed and no
/// line is lost.
#[derive(Debug)]
pub(super) struct Dialled {
    listener: TcpListener,
    pub(super) port: u16,
}

impl Dialled {
    pub(super) fn bind() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// Waits for the program in a task of its own, and follows its console to the end of the connection.
    /// `input` goes out at each line that holds `prompt`: a chip that was reset asks again. Without one
    /// it goes out at once.
    pub(super) fn follow(
        self,
        console: Arc<Console>,
        input: String,
        prompt: Option<String>,
    ) -> io::Result<Connection> {
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let output = Arc::new(OnceLock::new());
        let slot = Arc::clone(&output);
        let task = tokio::spawn(async move {
            let Ok((stream, _)) = listener.accept().await else {
                return;
            };
            drop(listener);
            // Small writes in both directions: without this each exchange takes 44 ms.
            let _ = stream.set_nodelay(true);
            let at_once = prompt.is_none();
            let output = slot.get_or_init(|| Output::new(Source::Connection(stream), prompt));
            if at_once {
                output.write(&input).await;
            }
            loop {
                tokio::select! {
                    more = output.follow(&console) => match more {
                        true => tokio::task::yield_now().await,
                        false => break,
                    },
                    () = output.prompted() => output.write(&input).await,
                }
            }
            output.finish(&console);
        });
        Ok(Connection { output, task })
    }
}

impl Output {
    /// Writes to the other side; what it does not take is lost, as on a serial line.
    async fn write(&self, text: &str) {
        let Source::Connection(stream) = &self.source else {
            return;
        };
        let mut rest = text.as_bytes();
        while !rest.is_empty() && stream.writable().await.is_ok() {
            match stream.try_write(rest) {
                Ok(length) => rest = &rest[length..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }
}

/// The connection of one run; its end is this value's end.
#[derive(Debug)]
pub(super) struct Connection {
    output: Arc<OnceLock<Output>>,
    /// Who follows it.
    pub(super) task: JoinHandle<()>,
}

impl Connection {
    /// Its bytes, once the program has dialled.
    pub(super) fn output(&self) -> Arc<OnceLock<Output>> {
        Arc::clone(&self.output)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A pipe that holds `input` and then ends.
pub(super) fn filled_pipe(input: &str) -> io::Result<io::PipeReader> {
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(input.as_bytes())?;
    Ok(reader)
}
