//! What is going to run: read from arguments and files, complete before anything starts.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::catalogue::Catalogue;
use mcp_hil_core::generate::{PROPERTIES, Property};
use mcp_hil_core::problem::Problem;
use mcp_hil_core::scenario::Case;
use mcp_hil_core::transcript::{PROPERTY, Transport};
use mcp_hil_rig::{Broker, Configuration, MqttTerms};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::backtrace::{Symbols, is_program};
use crate::cli::RunArgs;
use crate::dut::board::check_reachable;
use crate::dut::wokwi::TOKEN_VARIABLE;
use crate::dut::{AUTO, Asked, Difference, Dut, How, choose};
use crate::event::Basis;
use crate::exit;
use crate::merge::basis;
use crate::random::Random;
use crate::run::{Ruling, Secret};
use crate::snapshots::Setup as Snapshots;
use crate::suite::Suite;

/// A plan that cannot be made: what is wrong, and the exit code that says so.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// What failed, expected and got, and a hint.
    pub text: String,
    /// The exit code.
    pub exit: u8,
}

impl Refusal {
    /// The command line or a file is wrong.
    pub fn usage(what: impl Into<String>, hint: &str) -> Self {
        Self {
            text: format!("{}\n\nhint: {hint}", what.into()),
            exit: exit::USAGE,
        }
    }

    /// The bench is not ready.
    pub fn bench(what: impl Into<String>, hint: &str) -> Self {
        Self {
            text: format!("{}\n\nhint: {hint}", what.into()),
            exit: exit::BENCH,
        }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self {
            text: problem.to_string(),
            exit: exit::USAGE,
        }
    }
}

/// Shortest token that can be told from other text.
pub(crate) const SHORTEST_TOKEN: usize = 8;

/// The keep-alive that a device is told, in seconds: short, so that a run sees it kept.
pub(crate) const KEEP_ALIVE_S: u16 = 2;

/// What is going to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The device.
    pub dut: Dut,
    /// The transports, in the order in which they run.
    pub transports: Vec<Transport>,
    /// What an MQTT device is told.
    pub mqtt: MqttPlan,
    /// The cases, in the order in which they run.
    pub cases: Vec<Case>,
    /// What is generated after them.
    pub generation: Generation,
    /// Whether all cases of the suite were selected, and are carried out here.
    pub whole_suite: bool,
    /// What the verdicts stand on.
    pub basis: Basis,
    /// The requirements.
    pub catalogue: Arc<Catalogue>,
    /// Names of the rule sets in force.
    pub rules: Vec<&'static str>,
    /// Whether broken SHOULDs fail.
    pub strict: bool,
    /// Known failures.
    pub baseline: Option<Baseline>,
    /// What is to become of answers that people review.
    pub snapshots: Option<Snapshots>,
    /// The program of the device, or why it cannot be read; `None` when none was given.
    pub symbols: Option<Result<Arc<Symbols>, String>>,
    /// Seed of whatever is drawn by chance.
    pub seed: u64,
    /// Where the endpoint listens.
    pub listen: SocketAddr,
    /// Where devices ask for their configuration.
    pub http_listen: SocketAddr,
    /// Whether that port was asked for: otherwise any other will do when it is taken.
    pub http_listen_asked: bool,
    /// The token that the device must present; `None` when it was given none.
    pub token: Option<String>,
    /// The token that a device gets with its configuration.
    configured_token: String,
    /// The tokens that pictures must come with, one after the other.
    pub vision_tokens: [String; 2],
    /// How long an answer is waited for.
    pub deadline: Duration,
    /// How long the device's connection is waited for.
    pub connect_deadline: Duration,
    /// How long it may stay away after a drop, when that was given.
    redial_deadline: Option<Duration>,
    /// Name of the run.
    pub run: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// The day, `YYYY-MM-DD`.
    pub today: String,
    /// The run's folder.
    pub folder: PathBuf,
    /// Arguments that a repro command must repeat.
    repro_arguments: String,
}

impl Plan {
    /// Makes a plan of the arguments. Reads files; starts nothing but a build of the reference
    /// device where that is the device.
    ///
    /// # Errors
    ///
    /// The first mistake in arguments or files.
    pub fn new(args: &RunArgs) -> Result<Self, Refusal> {
        let (suite, mut cases, mut generation) = selection(args)?;
        let whole_suite = args.only.is_empty() && args.scenario.is_empty();
        let baseline = args.baseline.as_deref().map(read_baseline).transpose()?;
        if let (Some(baseline), Some(path)) = (&baseline, &args.baseline) {
            check_slugs(baseline, path, &suite.catalogue)?;
        }
        let difference = Difference::asked(args.mutant.as_deref(), args.variant.as_deref());
        let asked = Asked {
            difference: difference.as_ref(),
            firmware: args.firmware.as_deref(),
        };
        let dut = if args.dut == AUTO {
            choose(&args.prefer, &asked, &mut |line| eprintln!("{line}"))?
        } else {
            Dut::find(&args.dut, &asked)?
        };
        let symbols = program(args, &dut).map(|path| Symbols::read(&path).map(Arc::new));
        let basis = basis(
            args,
            &suite.catalogue,
            &cases,
            &generation,
            baseline.as_ref(),
            &dut,
        )?;
        if let Some(shard) = basis.shard {
            shard.keep(&mut cases, &mut generation);
        }
        let seed = args.seed.unwrap_or_else(Random::seed);
        let waits = matches!(dut.how, How::Wait);
        if args
            .token
            .as_ref()
            .is_some_and(|token| token.len() < SHORTEST_TOKEN)
        {
            return Err(Refusal::usage(
                format!("`--token`: expected at least {SHORTEST_TOKEN} characters"),
                "the token is struck out of everything that is recorded; a short one would take other text with it",
            ));
        }
        let token = match (&args.token, waits) {
            (Some(token), _) => Some(token.clone()),
            // Whoever starts the device cannot know a token that was made up here.
            (None, true) => None,
            (None, false) => Some(Random::new(Random::seed().rotate_left(17) ^ seed).uuid()),
        };
        let snapshots = Snapshots::new(
            args.snapshots,
            &args.snapshots_dir,
            &dut,
            &cases,
            // Other rule sets leave cases out.
            whole_suite && args.rules.is_empty() && basis.shard.is_none(),
        )?;
        let started = now();
        let (run, folder) = make_folder(&args.out, &started.replace(':', ""), &dut.name)?;
        let board = match &dut.how {
            How::Board(board) => Some(&board.file),
            _ => None,
        };
        // Boards are told once, in their flash, where to ask.
        let stays = waits || board.is_some_and(|board| !board.is_at_path());
        let default_port = if waits { 8765 } else { 0 };
        let connect = args
            .connect_deadline
            .map_or_else(|| dut.patience(), Duration::from_secs_f64);
        let listen = args
            .listen
            .unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], default_port)));
        if let Some(board) = board {
            check_reachable(board, listen)?;
        }
        let http_port = if stays { 8003 } else { 0 };
        let http_listen = args
            .http_listen
            .unwrap_or_else(|| SocketAddr::new(listen.ip(), http_port));
        let mut random = Random::new(Random::seed().rotate_left(43) ^ seed);
        let configured_token = token.clone().unwrap_or_else(|| random.uuid());
        let transports = transports(args, &dut)?;
        let mqtt = MqttPlan::new(args, &dut, token.as_deref(), seed, &transports)?;
        Ok(Self {
            transports,
            mqtt,
            redial_deadline: args.redial_deadline.map(Duration::from_secs_f64),
            dut,
            cases,
            generation,
            whole_suite: whole_suite && basis.shard.is_none(),
            basis,
            catalogue: suite.catalogue,
            rules: suite.rules,
            strict: args.strict,
            baseline,
            snapshots,
            symbols,
            seed,
            listen,
            http_listen,
            http_listen_asked: args.http_listen.is_some(),
            vision_tokens: [random.uuid(), random.uuid()],
            configured_token,
            token,
            deadline: Duration::from_secs_f64(args.deadline),
            connect_deadline: connect,
            run,
            today: started.chars().take(10).collect(),
            started,
            folder,
            repro_arguments: args.repro_arguments(),
        })
    }

    /// The same for the twin of the device, if it has one: a program on this host, that dials in here and
    /// wears nothing.
    pub(crate) fn for_twin(&self) -> Option<Self> {
        let dut = self.dut.twin.as_deref()?.clone();
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut plan = Self {
            connect_deadline: dut.patience(),
            dut,
            listen: any_port,
            http_listen: any_port,
            http_listen_asked: false,
            token: Some(self.configured_token.clone()),
            folder: self.folder.join("twin"),
            ..self.clone()
        };
        plan.mqtt.broker = None;
        plan.mqtt.told = true;
        plan.generation.budget = None;
        Some(plan)
    }

    /// The folder of what is recorded over one transport: the run's own, unless there are two.
    pub fn lane_folder(&self, transport: Transport) -> PathBuf {
        self.folder.join(self.lane_path(transport, ""))
    }

    /// The path of one of its files, relative to the run's folder.
    pub fn lane_path(&self, transport: Transport, file: &str) -> String {
        match self.transports.len() {
            1 => file.to_owned(),
            _ => format!("{}/{file}", transport.name()),
        }
    }

    /// What turns judgements into verdicts in this run.
    pub fn ruling(&self) -> Ruling<'_> {
        Ruling {
            catalogue: &self.catalogue,
            strict: self.strict,
            baseline: self.baseline.as_ref(),
            today: &self.today,
            firmware: None,
            symbols: self.symbols.as_ref().and_then(|it| it.as_deref().ok()),
        }
    }

    /// How long the device may take to connect again by itself after a drop. Stock devices try
    /// again after ten seconds over MQTT and at last after sixty (device-protocol 3.1); over
    /// WebSocket those that come back by themselves do so soon.
    pub fn redial_deadline(&self, transport: Transport) -> Duration {
        self.redial_deadline.unwrap_or(match transport {
            Transport::WebSocket => Duration::from_secs(3),
            Transport::Mqtt => Duration::from_secs(65),
        })
    }

    /// What must never reach a file.
    pub fn secrets(&self) -> Vec<Secret> {
        let secret = |value: &str, mark| Secret {
            value: value.to_owned(),
            mark,
        };
        let mut secrets = vec![
            secret(&self.configured_token, "${MCP_HIL_WS_TOKEN}"),
            secret(&self.mqtt.password, "${MCP_HIL_MQTT_PASSWORD}"),
            secret(&self.vision_tokens[0], "${MCP_HIL_VISION_TOKEN}"),
            secret(&self.vision_tokens[1], "${MCP_HIL_VISION_OTHER_TOKEN}"),
        ];
        let network = self.dut.network_password();
        secrets.extend(network.map(|value| secret(&value, "${WIFI_PASSWORD}")));
        // A device inherits it, and may print it.
        let cloud = std::env::var(TOKEN_VARIABLE).unwrap_or_default();
        if cloud.len() >= SHORTEST_TOKEN {
            secrets.push(secret(&cloud, "${WOKWI_CLI_TOKEN}"));
        }
        secrets
    }

    /// The configuration that a device gets when it asks for it.
    pub fn configuration(&self, transport: Transport, dial: &str) -> Configuration {
        match transport {
            Transport::WebSocket => Configuration::WebSocket {
                url: dial.to_owned(),
                token: self.configured_token.clone(),
            },
            Transport::Mqtt => Configuration::Mqtt {
                endpoint: dial.to_owned(),
                client_id: Some(self.mqtt.client_id.clone()),
                username: self.mqtt.username.clone(),
                password: self.mqtt.password.clone(),
                publish_topic: self.mqtt.publish_topic.clone(),
                subscribe_topic: self.mqtt.subscribe_topic.clone(),
                keepalive: KEEP_ALIVE_S,
            },
        }
    }

    /// The command that compares the transports again.
    pub fn repro_both(&self) -> String {
        format!(
            "mcp-hil run --dut {} --transport both{}",
            self.dut.spec(),
            self.repro_arguments
        )
    }

    /// The command that carries out a scenario file.
    pub fn repro_file(&self, file: &str, transport: Transport) -> String {
        self.command(transport, &format!("--scenario {}", quote(file)))
    }

    /// The command that runs a case again.
    pub fn repro(&self, case: &str, transport: Transport) -> String {
        if !case.starts_with(PROPERTY) {
            return self.command(transport, &format!("--only {case}"));
        }
        let (inputs, seed) = (self.generation.inputs, self.seed);
        self.command(
            transport,
            &format!("--only {case} --cases {inputs} --seed {seed}"),
        )
    }

    fn command(&self, transport: Transport, what: &str) -> String {
        let over = match transport {
            Transport::WebSocket => "",
            Transport::Mqtt => " --transport mqtt",
        };
        format!(
            "mcp-hil run --dut {}{over} {what}{}",
            self.dut.spec(),
            self.repro_arguments
        )
    }
}

/// The ids of the cases that arguments select, in the order in which they run. Starts and builds nothing.
///
/// # Errors
///
/// The first mistake in arguments or files.
pub fn selected(args: &RunArgs) -> Result<Vec<String>, Refusal> {
    let (_, cases, generation) = selection(args)?;
    let properties = generation.properties.iter().map(|property| property.id);
    let ids = cases.iter().map(|case| &*case.id).chain(properties);
    Ok(ids.map(str::to_owned).collect())
}

/// The suite, and what of it is selected.
fn selection(args: &RunArgs) -> Result<(Suite, Vec<Case>, Generation), Refusal> {
    let mut suite = Suite::load(&args.rules, args.scenarios.as_deref())?;
    let regressions = args.regressions_folder();
    let cases = match &args.scenario[..] {
        [] => {
            if let Some(folder) = regressions.as_deref().filter(|_| args.tries_regressions()) {
                suite.add_regressions(folder)?;
            }
            suite.select(&args.only)?
        }
        files => suite.read_files(files)?,
    };
    let generation = Generation::new(args, regressions)?;
    Ok((suite, cases, generation))
}

/// A word for a shell, in quotes where it needs them.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// What is generated in a run, and within which bounds.
#[derive(Debug, Clone)]
pub struct Generation {
    /// The properties, in the order in which they run.
    pub properties: Vec<&'static Property>,
    /// How many inputs each of them gets.
    pub inputs: u32,
    /// How long all of them may take.
    pub max_time: Duration,
    /// Most calls with effects.
    pub budget: Option<u64>,
    /// Where the scenario files of failures are copied to.
    pub keep: Option<PathBuf>,
}

impl Generation {
    fn new(args: &RunArgs, regressions: Option<PathBuf>) -> Result<Self, Refusal> {
        let chosen = |property: &&Property| {
            let by = |selector: &String| property.id.starts_with(selector.as_str());
            args.scenario.is_empty() && (args.only.is_empty() || args.only.iter().any(by))
        };
        let mut properties: Vec<&Property> = PROPERTIES.iter().filter(chosen).collect();
        if args.cases == 0 {
            if !properties.is_empty() && !args.only.is_empty() {
                return Err(Refusal {
                    exit: exit::NOTHING_RAN,
                    ..Refusal::usage(
                        format!(
                            "`--only {}` with `--cases 0`: no inputs are generated",
                            properties[0].id
                        ),
                        "leave `--cases` out",
                    )
                });
            }
            properties.clear();
        }
        Ok(Self {
            properties,
            inputs: args.cases,
            max_time: args.max_time,
            budget: args.budget,
            keep: regressions.filter(|_| args.keep_failures),
        })
    }
}

/// The time as reports write it: RFC 3339, UTC, whole seconds.
pub(crate) fn now() -> String {
    OffsetDateTime::now_utc()
        .replace_nanosecond(0)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
        .format(&Rfc3339)
        .unwrap_or_default()
}

/// What an MQTT device is told, and what it is held to.
#[derive(Debug, Clone)]
pub struct MqttPlan {
    /// Its client id.
    pub client_id: String,
    /// Its user name.
    pub username: String,
    /// Its password.
    pub password: String,
    /// Where it publishes. Stock servers name it so.
    pub publish_topic: String,
    /// Where it may subscribe; stock devices do not.
    pub subscribe_topic: String,
    /// The ordinary broker between, if one stands there.
    pub broker: Option<Broker>,
    /// Whether the device was told all that: nobody told a device that somebody else starts.
    told: bool,
    /// Whether it must present a password.
    guarded: bool,
}

impl MqttPlan {
    fn new(
        args: &RunArgs,
        dut: &Dut,
        token: Option<&str>,
        seed: u64,
        transports: &[Transport],
    ) -> Result<Self, Refusal> {
        let mut random = Random::new(Random::seed().rotate_left(31) ^ seed);
        let (device, password) = (random.uuid(), random.uuid());
        let file = dut.file.as_ref().map(|file| file.mqtt.clone());
        let file = file.unwrap_or_default();
        let waits = matches!(dut.how, How::Wait);
        // Nobody has told a device that somebody else starts, but for what its file says.
        let told = !waits || file.client_id.is_some();
        let publish_topic = file.publish_topic.unwrap_or_else(|| "device-server".into());
        let subscribe_topic = file
            .subscribe_topic
            .unwrap_or_else(|| format!("devices/p2p/{}", &device[..8]));
        let client_id = file
            .client_id
            .unwrap_or_else(|| format!("mcp-hil@@@{}@@@{device}", &device[..8]));
        let address = args.mqtt_broker.clone().or(file.broker);
        if args.mqtt_broker.is_some() && !transports.contains(&Transport::Mqtt) {
            return Err(Refusal::usage(
                "`--mqtt-broker` without MQTT: expected `--transport mqtt` or `both` beside it",
                "add `--transport mqtt`",
            ));
        }
        let at_broker = |username: String| {
            let password = std::env::var("MCP_HIL_MQTT_BROKER_PASSWORD").unwrap_or_default();
            (username, password)
        };
        let credentials = file.username.map(at_broker);
        let broker = match address {
            None => None,
            Some(address) => {
                let parts = address.rsplit_once(':');
                let parsed = parts.and_then(|(host, port)| Some((host, port.parse().ok()?)));
                let Some((host, port)) = parsed.filter(|(host, _)| !host.is_empty()) else {
                    return Err(Refusal::usage(
                        format!("the MQTT broker `{address}`: expected `host:port`"),
                        "for example `--mqtt-broker 127.0.0.1:1883`",
                    ));
                };
                Some(Broker {
                    host: host.to_owned(),
                    port,
                    credentials: credentials.clone(),
                    publish_topic: publish_topic.clone(),
                    subscribe_topic: subscribe_topic.clone(),
                    client_id: format!("mcp-hil-{}", &device[..8]),
                })
            }
        };
        let (username, password) = match (credentials, token) {
            (Some(credentials), _) => credentials,
            // Whoever starts the device by hand gives the token as its password.
            (None, Some(token)) if waits => ("mcp-hil".to_owned(), token.to_owned()),
            (None, _) => ("mcp-hil".to_owned(), password),
        };
        Ok(Self {
            client_id,
            username,
            password,
            publish_topic,
            subscribe_topic,
            broker,
            told,
            guarded: !waits || token.is_some(),
        })
    }

    /// What the endpoint holds devices to.
    pub fn terms(&self) -> MqttTerms {
        MqttTerms {
            credentials: self
                .guarded
                .then(|| (self.username.clone(), self.password.clone())),
            client_id: self.told.then(|| self.client_id.clone()),
            publish_topic: self.told.then(|| self.publish_topic.clone()),
            push_topic: None,
        }
    }
}

/// The transports of a run: those asked for, else those that the device's file names.
/// The device's program with its debug information: the one that is named, or what is to be flashed
/// when that is one.
fn program(args: &RunArgs, dut: &Dut) -> Option<PathBuf> {
    let file = dut.file.as_ref();
    let board = file.and_then(|file| file.board.as_ref());
    let named = args.elf.as_ref();
    let named = named.or_else(|| board.and_then(|board| board.elf.as_ref()));
    let flashed = || {
        let image = args.firmware.as_ref();
        let image = image.or_else(|| file.and_then(|file| file.firmware.as_ref()));
        image.filter(|path| is_program(path))
    };
    named.or_else(flashed).cloned()
}

fn transports(args: &RunArgs, dut: &Dut) -> Result<Vec<Transport>, Refusal> {
    let file = dut.file.as_ref();
    let named = file.map(|file| &file.transports[..]).unwrap_or_default();
    let Some(asked) = args.transport else {
        return Ok(match named {
            [] => vec![Transport::WebSocket],
            named => named.to_vec(),
        });
    };
    let asked = asked.list();
    match asked.iter().find(|asked| !named.contains(asked)) {
        Some(foreign) if !named.is_empty() => Err(Refusal::usage(
            format!(
                "`--transport {}`: the file of `{}` does not name it in `transports`",
                foreign.name(),
                dut.name
            ),
            "add it there when the device speaks it",
        )),
        _ => Ok(asked),
    }
}

/// Refuses a baseline with a requirement that there is not: the entry would cover nothing, and nobody would
/// be told.
fn check_slugs(baseline: &Baseline, path: &Path, catalogue: &Catalogue) -> Result<(), Refusal> {
    let mut slugs = baseline
        .known
        .iter()
        .filter_map(|known| known.requirement.as_deref());
    if let Some(slug) = slugs.find(|slug| catalogue.get(slug).is_none()) {
        let what = format!("`{}`: unknown requirement `{slug}`", path.display());
        return Err(match catalogue.nearest(slug) {
            Some(near) => Refusal::usage(what, &format!("did you mean `{near}`?")),
            None => Refusal::usage(what, "`mcp-hil list --requirements` has all of them"),
        });
    }
    Ok(())
}

/// Reads a baseline file.
pub(crate) fn read_baseline(path: &Path) -> Result<Baseline, Refusal> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Refusal::usage(
            format!("cannot read the baseline `{name}`: {error}"),
            "check the path",
        )
    })?;
    Ok(Baseline::load(&name, &text)?)
}

/// Makes the folder of a run, and the link `latest` to it.
pub(crate) fn make_folder(
    out: &Path,
    stamp: &str,
    dut: &str,
) -> Result<(String, PathBuf), Refusal> {
    let refuse = |path: &Path, error: &std::io::Error| {
        Refusal::bench(
            format!("cannot make the run's folder `{}`: {error}", path.display()),
            "choose another place with `--out`",
        )
    };
    std::fs::create_dir_all(out).map_err(|error| refuse(out, &error))?;
    let names = (1..).map(|n| match n {
        1 => format!("{stamp}-{dut}"),
        n => format!("{stamp}-{dut}-{n}"),
    });
    for name in names {
        let folder = out.join(&name);
        match std::fs::create_dir(&folder) {
            Ok(()) => {
                link_latest(out, &name);
                return Ok((name, folder));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(refuse(&folder, &error)),
        }
    }
    unreachable!("there are more numbers than folders")
}

/// Points `latest` at the run. Where links cannot be made there is none, and nothing is lost.
fn link_latest(out: &Path, name: &str) {
    let link = out.join("latest");
    if link
        .symlink_metadata()
        .is_ok_and(|there| there.is_symlink())
    {
        let _ = std::fs::remove_file(&link);
    }
    #[cfg(unix)]
    let _ = std::os::unix::fs::symlink(name, &link);
}
