//! Carrying out the rows of the table: controls go in, calls come out and are answered, and a good
//! control after each row shows that what came before it is through.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_hil_core::transcript::{BRING_UP, Entry, Mark, Role, What};
use mcp_hil_core::wire::Frame;
use mcp_hil_judge::check::CaseOutcome;
use mcp_hil_judge::gateway::{Came, FENCES, GatewayJudge, Row, Table, is_fence, request_id_of};
use serde_json::Value;
use tokio::sync::watch;

use super::{case_id, device};
use mcp_hil_runner::run::{Recorder, RunError};

/// How often a gateway that is not ready yet is asked again.
const NOT_READY: Duration = Duration::from_millis(250);

/// How long is waited for the calls of controls that came too early.
const STRAGGLERS: Duration = Duration::from_secs(1);

/// How long answers without request id are waited for: no good control can tell them apart.
const ANONYMOUS: Duration = Duration::from_millis(300);

/// The first number of the request ids of good controls; rows use smaller ones.
const FENCE_IDS: u64 = 500_000;

/// How many rows in a row may find no gateway before the rest is given up.
const DEAD_ROWS: usize = 3;

/// Both ends of a gateway.
pub trait Bench {
    /// Sends a control as a caller. An error says in words why the gateway is gone.
    fn control(&mut self, text: &str) -> impl Future<Output = Result<(), String>>;

    /// Sends a message as the device.
    fn device(&mut self, text: &str) -> impl Future<Output = Result<(), String>>;

    /// What comes next. Must be cancel-safe.
    fn next(&mut self) -> impl Future<Output = Heard>;

    /// Connects again what was lost, within the time.
    fn again(&mut self, wait: Duration) -> impl Future<Output = Result<(), String>>;

    /// Ends all.
    fn close(&mut self) -> impl Future<Output = ()>;
}

/// What came from the gateway, or about it.
#[derive(Debug)]
pub enum Heard {
    /// A message to the device.
    Device(Frame),
    /// An answer to the caller.
    Reply(String),
    /// A line that the gateway printed.
    Line(String),
    /// One of the connections is gone, in words.
    Gone(String),
}

/// How a row ended.
#[derive(Debug)]
pub enum End {
    /// It was judged.
    Judged(CaseOutcome),
    /// The gateway is gone, for the reason.
    Dead(String),
    /// The user stopped the run.
    Interrupted,
}

/// How the gateway answers callers, as its first answer showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// With request ids.
    Named,
    /// Without request ids.
    Anonymous,
    /// It does not answer callers.
    None,
}

/// Most entries of a row; a gateway that sends more is left. No good one comes near.
const MAX_ENTRIES: usize = 5_000;

/// What is waited for.
#[derive(Debug, Clone, PartialEq)]
enum Until {
    /// So many calls of the fence.
    Fences(usize),
    /// The answer with the request id.
    Reply(Value),
    /// Nothing; the time only.
    Time,
}

/// A run with one gateway.
#[derive(Debug)]
pub struct Conversation<B> {
    bench: B,
    judge: GatewayJudge,
    table: Arc<Table>,
    recorder: Recorder,
    began: Instant,
    deadline: Duration,
    connect_deadline: Duration,
    interrupt: watch::Receiver<bool>,
    case: Arc<str>,
    seq: u64,
    entries: Vec<Entry>,
    /// Good controls of the run.
    fences: u64,
    /// Calls of good controls in the case.
    fence_calls: usize,
    answers: Answers,
    gone: Option<String>,
    dead: usize,
    /// The latest answer to a caller, for people who ask why no call came.
    last_reply: Option<String>,
}

impl<B: Bench> Conversation<B> {
    /// A run at its beginning; the gateway is connected.
    pub fn new(
        bench: B,
        table: Arc<Table>,
        recorder: Recorder,
        deadline: Duration,
        connect_deadline: Duration,
        interrupt: watch::Receiver<bool>,
    ) -> Self {
        Self {
            bench,
            judge: GatewayJudge::new(table.clone()),
            table,
            recorder,
            began: Instant::now(),
            deadline,
            connect_deadline,
            interrupt,
            case: BRING_UP.into(),
            seq: 0,
            entries: Vec::new(),
            fences: 0,
            fence_calls: 0,
            answers: Answers::Named,
            gone: None,
            dead: 0,
            last_reply: None,
        }
    }

    /// Whether the user stopped the run.
    pub fn is_interrupted(&self) -> bool {
        *self.interrupt.borrow()
    }

    /// What was seen instead of a call.
    pub fn why_silent(&self) -> String {
        match (&self.gone, &self.last_reply) {
            (Some(why), _) => why.clone(),
            (None, Some(reply)) => format!("it answered the caller: {reply}"),
            (None, None) => "nothing was returned".into(),
        }
    }

    /// Ends it; what could not be written is told.
    pub async fn close(&mut self) -> Option<RunError> {
        self.bench.close().await;
        self.recorder.flush();
        self.recorder.take_failure()
    }

    /// Waits until a good control makes its call, then judges one. `None` when none ever does.
    pub async fn bring_up(&mut self) -> Option<CaseOutcome> {
        self.begin_case(BRING_UP);
        if !self.is_ready(self.connect_deadline).await {
            return None;
        }
        let request_id = self.fence(FENCES[0]).await;
        if !self.wait(&Until::Fences(1), Instant::now() + self.deadline).await {
            return None;
        }
        let began = self.entries.len();
        let named = self.wait(&Until::Reply(request_id), Instant::now() + self.deadline).await;
        let any =
            self.entries[began..].iter().any(|entry| matches!(&entry.what, What::Reply { .. }));
        self.answers = match (named, any) {
            (true, _) => Answers::Named,
            (false, true) => Answers::Anonymous,
            (false, false) => Answers::None,
        };
        let case = self.case.clone();
        // In its file before anybody is told what it came to.
        self.recorder.flush();
        Some(self.judge.judge(&case, None, &self.entries))
    }

    /// Sends good controls until one makes its call; false when none does within the time. What
    /// happens until then is not judged: a gateway has to get to know its device first.
    async fn is_ready(&mut self, wait: Duration) -> bool {
        let until = Instant::now() + wait;
        let mut asked = 0;
        loop {
            self.fence("ready").await;
            asked += 1;
            let called = Until::Fences(1);
            if self.wait(&called, Instant::now() + NOT_READY).await {
                break;
            }
            if self.gone.is_some() || self.is_interrupted() || Instant::now() >= until {
                return false;
            }
        }
        // Controls that it kept in the meantime are not charged to what follows.
        self.wait(&Until::Fences(asked), Instant::now() + STRAGGLERS).await;
        let mark = Mark::SecondAttempt;
        self.enter(None, What::Mark { mark });
        self.fence_calls = 0;
        true
    }

    /// Carries out a row and judges it.
    pub async fn row(&mut self, row: &Row) -> End {
        if let Some(why) = &self.gone
            && self.dead >= DEAD_ROWS
        {
            return End::Dead(why.clone());
        }
        self.begin_case(&case_id(&row.name));
        if self.gone.is_some() {
            let wait = self.connect_deadline.min(self.deadline);
            let mut back = self.bench.again(wait).await;
            if back.is_ok() {
                self.gone = None;
                if !self.is_ready(self.connect_deadline).await {
                    back = Err("it is running again, but makes no calls".into());
                }
            }
            if self.is_interrupted() {
                return End::Interrupted;
            }
            if let Err(why) = back {
                self.gone = Some(why.clone());
                self.dead += 1;
                return End::Dead(format!("the gateway is gone: {why}"));
            }
        }
        for (at, text) in row.send.iter().enumerate() {
            self.control(&at.to_string(), text).await;
        }
        let mut request_id = self.fence(FENCES[0]).await;
        self.settle(1, &request_id).await;
        let wants_reply = row.reply.is_some() && self.answers != Answers::None;
        let last = row.send.last().and_then(|text| request_id_of(text));
        let missing = self.calls() < row.calls.len()
            || wants_reply && last.is_some_and(|id| !self.has_reply(&id));
        if missing && self.fence_calls == 1 {
            // What comes late may be on its way: once more round.
            request_id = self.fence(FENCES[1]).await;
            self.settle(2, &request_id).await;
        }
        if self.is_interrupted() {
            return End::Interrupted;
        }
        let fences = self.entries.iter().filter(|entry| sends_fence(entry)).count();
        if self.fence_calls < fences {
            let waited_ms = u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX);
            let mark = Mark::NoAnswer { waited_ms };
            self.enter(Some(FENCES[0]), What::Mark { mark });
            self.gone.get_or_insert_with(|| "it no longer makes calls".into());
            self.dead += 1;
        } else {
            self.dead = 0;
        }
        let case = self.case.clone();
        self.recorder.flush();
        End::Judged(self.judge.judge(&case, Some(row), &self.entries))
    }

    /// Waits for the call of the good control, and for its answer where answers have names.
    async fn settle(&mut self, fences: usize, request_id: &Value) {
        let until = Instant::now() + self.deadline;
        if !self.wait(&Until::Fences(fences), until).await {
            return;
        }
        match self.answers {
            Answers::Named => {
                let id = Until::Reply(request_id.clone());
                self.wait(&id, Instant::now() + self.deadline).await;
            }
            Answers::Anonymous => {
                self.wait(&Until::Time, Instant::now() + ANONYMOUS).await;
            }
            Answers::None => {}
        }
    }

    /// How many calls came out beside those of the good controls.
    fn calls(&self) -> usize {
        let all = self.judged().iter().filter_map(|entry| match &entry.what {
            What::Received { frame } => Came::read(entry.seq, frame),
            _ => None,
        });
        all.count().saturating_sub(self.fence_calls)
    }

    /// The entries since the gateway was ready.
    fn judged(&self) -> &[Entry] {
        let ready = |entry: &Entry| matches!(&entry.what, What::Mark { mark: Mark::SecondAttempt });
        let begin = self.entries.iter().rposition(ready);
        &self.entries[begin.unwrap_or(0)..]
    }

    fn has_reply(&self, request_id: &Value) -> bool {
        self.entries.iter().any(|entry| match &entry.what {
            What::Reply { text } => request_id_of(text).as_ref() == Some(request_id),
            _ => false,
        })
    }

    /// Sends a good control and returns its request id.
    async fn fence(&mut self, step: &str) -> Value {
        self.fences += 1;
        let request_id = format!("req_{}", FENCE_IDS + self.fences);
        let text = self.table.fence.control(&request_id);
        self.control(step, &text).await;
        request_id.into()
    }

    async fn control(&mut self, step: &str, text: &str) {
        self.enter(Some(step), What::Control { text: text.into() });
        if let Err(why) = self.bench.control(text).await {
            self.gone.get_or_insert(why);
        }
    }

    /// Takes in what comes until it is there; whether it came.
    async fn wait(&mut self, wanted: &Until, until: Instant) -> bool {
        loop {
            let there = match wanted {
                Until::Fences(count) => self.fence_calls >= *count,
                Until::Reply(id) => self.has_reply(id),
                Until::Time => false,
            };
            if there || self.gone.is_some() || self.is_interrupted() {
                return there;
            }
            let came = tokio::select! {
                // What is there is taken in before the time is looked at.
                biased;
                came = self.bench.next() => came,
                () = tokio::time::sleep_until(until.into()) => return false,
                _ = self.interrupt.changed() => continue,
            };
            self.take(came).await;
        }
    }

    async fn take(&mut self, came: Heard) {
        if self.entries.len() >= MAX_ENTRIES {
            let why = format!("it sends endlessly: more than {MAX_ENTRIES} messages in a row");
            self.gone.get_or_insert(why);
            return;
        }
        match came {
            Heard::Device(frame) => {
                let answer = device::answer(&frame, self.table.level);
                let call = Came::read(self.seq, &frame);
                if call.is_some_and(|came| came.call.equals(&self.table.fence.call)) {
                    self.fence_calls += 1;
                }
                self.enter(None, What::Received { frame });
                if let Some(answer) = answer {
                    let sent = self.bench.device(&answer).await;
                    let frame = Frame::Text(answer);
                    let role = Role::Stimulus;
                    self.enter(None, What::Sent { role, frame });
                    if let Err(why) = sent {
                        self.gone.get_or_insert(why);
                    }
                }
            }
            Heard::Reply(text) => {
                self.last_reply = Some(text.clone());
                self.enter(None, What::Reply { text });
            }
            Heard::Line(line) => self.enter(None, What::Console { line }),
            Heard::Gone(why) => {
                self.gone.get_or_insert(why);
            }
        }
    }

    fn begin_case(&mut self, case: &str) {
        self.case = case.into();
        self.entries.clear();
        self.fence_calls = 0;
        self.recorder.begin_case(case);
    }

    fn enter(&mut self, step: Option<&str>, what: What) {
        let mut entry = Entry {
            seq: self.seq,
            at_us: u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            case: self.case.clone(),
            step: step.map(Arc::from),
            what,
        };
        self.seq += 1;
        self.recorder.scrub(&mut entry);
        self.recorder.write(&entry);
        self.entries.push(entry);
    }
}

fn sends_fence(entry: &Entry) -> bool {
    matches!(&entry.what, What::Control { .. }) && entry.step.as_deref().is_some_and(is_fence)
}
