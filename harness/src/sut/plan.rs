//! What is going to be tried on a gateway: addresses, rows, rules.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::catalogue::{Catalogue, RuleSet};
use mcp_hil_core::check::gateway::Row;
use mcp_hil_core::problem::nearest;

use super::{GATEWAY, case_id, catalogue, table};
use crate::cli::RunArgs;
use crate::exit;
use crate::mqtt::Server;
use crate::plan::{Refusal, make_folder, now, read_baseline};
use crate::run::Ruling;

/// The topic that devices publish to, unless the gateway's address names another.
const DEVICE_TOPIC: &str = "device-server";

/// The topic on which the device listens: gateways push to the MAC address of the client id.
const DEVICE_LISTENS: &str = "devices/p2p/02_00_00_4d_43_50";

/// Where controls go, and where answers come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The broker, or the gateway itself.
    pub server: Server,
    /// The topic of controls.
    pub topic: String,
    /// The topic of answers.
    pub reply: String,
    /// The password, which is never written.
    pub password: Option<String>,
}

/// Where the device dials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// The gateway listens for WebSocket devices.
    WebSocket(String),
    /// Over MQTT, the gateway being the broker, or a broker standing between.
    Mqtt {
        /// The broker, or the gateway itself.
        server: Server,
        /// The topic that the device publishes to.
        topic: String,
        /// The topic that it subscribes to.
        listens: String,
    },
}

impl Output {
    /// The transport's name.
    pub fn transport(&self) -> &'static str {
        match self {
            Self::WebSocket(_) => "websocket",
            Self::Mqtt { .. } => "mqtt",
        }
    }
}

/// What is going to run.
#[derive(Debug)]
pub struct GatewayPlan {
    /// The caller's side.
    pub input: Input,
    /// The device's side.
    pub output: Output,
    /// How the gateway is started, if the harness does it.
    pub command: Option<String>,
    /// Both addresses as they were given, for the started gateway; without password.
    pub addresses: (String, String),
    /// The token that the device presents.
    pub token: Option<String>,
    /// The rows.
    pub rows: Vec<Row>,
    /// Whether all rows were selected.
    pub whole: bool,
    /// The requirements for gateways.
    pub catalogue: Arc<Catalogue>,
    /// Names of the rule sets in force.
    pub rules: Vec<&'static str>,
    /// Whether broken SHOULDs fail.
    pub strict: bool,
    /// Known failures.
    pub baseline: Option<Baseline>,
    /// How long a call or an answer is waited for.
    pub deadline: Duration,
    /// How long the gateway is waited for.
    pub connect_deadline: Duration,
    /// Name of the run.
    pub run: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// The run's folder.
    pub folder: PathBuf,
    today: String,
    repro_arguments: String,
}

impl GatewayPlan {
    /// Makes a plan of the arguments.
    ///
    /// # Errors
    ///
    /// The first mistake in arguments or files.
    pub fn new(args: &RunArgs) -> Result<Self, Refusal> {
        let need = |name: &str, value: &Option<String>, example: &str| {
            value.clone().ok_or_else(|| {
                Refusal::usage(
                    format!("`--sut gateway` without `{name}`"),
                    &format!("for example `{name} {example}`"),
                )
            })
        };
        let (input, shown_in) = read_input(&need(
            "--gateway-in",
            &args.gateway_in,
            "mqtt://127.0.0.1:1884/device_control",
        )?)?;
        let (output, shown_out) = read_output(&need(
            "--gateway-out",
            &args.gateway_out,
            "ws://127.0.0.1:8765/xiaozhi/v1/",
        )?)?;
        for (name, given) in [
            ("--mutant", args.mutant.is_some()),
            ("--variant", args.variant.is_some()),
            ("--scenarios", args.scenarios.is_some()),
            ("--listen", args.listen.is_some()),
            ("--http-listen", args.http_listen.is_some()),
            ("--transport", args.transport.is_some()),
            ("--mqtt-broker", args.mqtt_broker.is_some()),
            ("--redial-deadline", args.redial_deadline.is_some()),
            ("--shard", args.shard.is_some()),
        ] {
            if given {
                return Err(Refusal::usage(
                    format!("`{name}` with `--sut gateway`: it is about devices"),
                    "leave one of them out",
                ));
            }
        }
        let sets = if args.rules.is_empty() {
            RuleSet::DEFAULT.to_vec()
        } else {
            args.rules
                .iter()
                .map(|name| crate::suite::rule_set(name))
                .collect::<Result<_, _>>()?
        };
        let rows = select(&args.only)?;
        let baseline = args.baseline.as_deref().map(read_baseline).transpose()?;
        let started = now();
        let (run, folder) = make_folder(&args.out, &started.replace(':', ""), GATEWAY)?;
        let repro_arguments = format!(
            " --gateway-in '{shown_in}' --gateway-out '{shown_out}'{}{}",
            args.gateway_cmd.as_ref().map_or(String::new(), |command| {
                format!(" --gateway-cmd '{}'", command.replace('\'', r"'\''"))
            }),
            args.repro_arguments()
        );
        Ok(Self {
            input,
            output,
            command: args.gateway_cmd.clone(),
            addresses: (shown_in, shown_out),
            token: args.token.clone(),
            rows,
            whole: args.only.is_empty(),
            catalogue: Arc::new(catalogue(&sets)?),
            rules: RuleSet::ALL
                .iter()
                .filter(|(_, set)| sets.contains(set))
                .map(|(name, _)| *name)
                .collect(),
            strict: args.strict,
            baseline,
            deadline: Duration::from_secs_f64(args.deadline),
            connect_deadline: Duration::from_secs_f64(args.connect_deadline.unwrap_or(20.0)),
            run,
            today: started.chars().take(10).collect(),
            started,
            folder,
            repro_arguments,
        })
    }

    /// What turns judgements into verdicts in this run.
    pub fn ruling(&self) -> Ruling<'_> {
        Ruling {
            catalogue: &self.catalogue,
            strict: self.strict,
            baseline: self.baseline.as_ref(),
            today: &self.today,
            firmware: None,
            symbols: None,
        }
    }

    /// The command that runs a case again.
    pub fn repro(&self, case: &str) -> String {
        format!(
            "mcp-hil run --sut gateway{} --only {case}",
            self.repro_arguments
        )
    }

    /// What is told when a good control never made a call.
    pub fn no_call(&self, instead: String) -> String {
        format!(
            "no call came out for a control on `{}` at `{}` within {} s: {instead}\n\nhint: check \
             the topic in `--gateway-in`, and that the gateway reaches the device that dials \
             `--gateway-out`; `--connect-deadline` gives it more time",
            self.input.topic,
            self.input.server,
            self.connect_deadline.as_secs_f64(),
        )
    }
}

/// The rows whose case or requirement is selected; all where nothing is.
fn select(only: &[String]) -> Result<Vec<Row>, Refusal> {
    let rows = table().rows.clone();
    let selects = |selector: &String, row: &Row| {
        case_id(&row.name).starts_with(selector.as_str()) || row.requirement == selector
    };
    for selector in only {
        if !rows.iter().any(|row| selects(selector, row)) {
            let ids: Vec<String> = rows.iter().map(|row| case_id(&row.name)).collect();
            let hint = match nearest(selector, ids.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the cases of gateways begin with `{GATEWAY}/`"),
            };
            return Err(Refusal {
                exit: exit::NOTHING_RAN,
                ..Refusal::usage(format!("`--only {selector}` selects no case"), &hint)
            });
        }
    }
    let wanted = |row: &Row| only.is_empty() || only.iter().any(|one| selects(one, row));
    Ok(rows.into_iter().filter(wanted).collect())
}

/// The parts of an address: server with login, path without its slash, query.
struct Parts {
    server: Server,
    path: String,
    query: Vec<(String, String)>,
    shown: String,
}

fn parts(name: &str, text: &str, scheme: &str) -> Result<Parts, Refusal> {
    let wrong = |why: &str| {
        Refusal::usage(
            format!("`{name}`: {why}"),
            &format!("the form is `{scheme}host:port/path`"),
        )
    };
    let rest = text
        .strip_prefix(scheme)
        .ok_or_else(|| wrong(&format!("expected an address that begins with `{scheme}`")))?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (server, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (login, address) = match server.rsplit_once('@') {
        Some((login, address)) => {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            (Some((user.to_owned(), password.to_owned())), address)
        }
        None => (None, server),
    };
    let mut server = Server::parse(address).map_err(|why| wrong(&why))?;
    let user = login
        .as_ref()
        .map_or(String::new(), |(user, _)| format!("{user}@"));
    let mark = if query.is_empty() { "" } else { "?" };
    let shown = format!("{scheme}{user}{server}/{path}{mark}{query}");
    server.login = login;
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (name.to_owned(), value.to_owned())
    };
    Ok(Parts {
        server,
        path: path.to_owned(),
        query: query
            .split('&')
            .filter(|q| !q.is_empty())
            .map(pair)
            .collect(),
        shown,
    })
}

fn option(name: &str, query: &[(String, String)], known: &str) -> Result<Option<String>, Refusal> {
    match query {
        [] => Ok(None),
        [(option, value)] if option == known && !value.is_empty() => Ok(Some(value.clone())),
        [(option, _), ..] => Err(Refusal::usage(
            format!("`{name}`: unknown or empty option `{option}`"),
            &format!("the only one is `?{known}=TOPIC`"),
        )),
    }
}

fn read_input(text: &str) -> Result<(Input, String), Refusal> {
    let name = "--gateway-in";
    let parts = parts(name, text, "mqtt://")?;
    if parts.path.is_empty() || parts.path.contains(['+', '#']) {
        return Err(Refusal::usage(
            format!("`{name}`: expected the topic of controls after the address"),
            "for example `mqtt://127.0.0.1:1884/device_control`",
        ));
    }
    let reply = option(name, &parts.query, "reply")?;
    let input = Input {
        reply: reply.unwrap_or_else(|| format!("{}/reply", parts.path)),
        password: parts
            .server
            .login
            .as_ref()
            .map(|(_, password)| password.clone()),
        server: parts.server,
        topic: parts.path,
    };
    Ok((input, parts.shown))
}

fn read_output(text: &str) -> Result<(Output, String), Refusal> {
    let name = "--gateway-out";
    if text.starts_with("ws://") {
        let parts = parts(name, text, "ws://")?;
        return Ok((Output::WebSocket(text.to_owned()), parts.shown));
    }
    if !text.starts_with("mqtt://") {
        return Err(Refusal::usage(
            format!("`{name}`: expected an address that begins with `ws://` or `mqtt://`"),
            "for example `ws://127.0.0.1:8765/xiaozhi/v1/`",
        ));
    }
    let parts = parts(name, text, "mqtt://")?;
    let listens = option(name, &parts.query, "listens")?;
    let output = Output::Mqtt {
        server: parts.server,
        topic: if parts.path.is_empty() {
            DEVICE_TOPIC.into()
        } else {
            parts.path
        },
        listens: listens.unwrap_or_else(|| DEVICE_LISTENS.into()),
    };
    Ok((output, parts.shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_the_password() {
        let (input, shown) =
            read_input("mqtt://me:secret@[::1]:1884/a/control?reply=a/answers").unwrap();
        assert_eq!(shown, "mqtt://me@[::1]:1884/a/control?reply=a/answers");
        assert_eq!(
            (input.topic.as_str(), input.reply.as_str()),
            ("a/control", "a/answers")
        );
        assert!(!format!("{:?}", input.server).contains("secret"));
        let (input, _) = read_input("mqtt://h:1/c").unwrap();
        assert_eq!(input.reply, "c/reply");
        let (output, _) = read_output("mqtt://h:1").unwrap();
        let Output::Mqtt { topic, .. } = output else {
            panic!("{output:?}")
        };
        assert_eq!(topic, DEVICE_TOPIC);
        for wrong in [
            "",
            "h:1/c",
            "mqtt://h/c",
            "mqtt://h:1",
            "mqtt://h:1/c?x=1",
            "mqtt://h:1/+",
        ] {
            assert_eq!(read_input(wrong).unwrap_err().exit, exit::USAGE, "{wrong}");
        }
        for wrong in ["", "wss://h:1/", "ws://h/", "mqtt://h:1/t?reply=x"] {
            assert_eq!(read_output(wrong).unwrap_err().exit, exit::USAGE, "{wrong}");
        }
    }

    #[test]
    fn rows_are_selected_by_case_and_requirement() {
        assert!(select(&[]).unwrap().len() > 50);
        let zero = select(&["gateway.zero-kept".into()]).unwrap();
        assert!(zero.iter().all(|row| row.name.starts_with("zero-")));
        assert_eq!(select(&["gateway/answer-value".into()]).unwrap().len(), 1);
        let refusal = select(&["gateway/answer-valeu".into()]).unwrap_err();
        assert_eq!(refusal.exit, exit::NOTHING_RAN);
        assert!(
            refusal
                .text
                .contains("did you mean `gateway/answer-value`?")
        );
    }
}
