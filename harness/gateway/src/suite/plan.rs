//! What is going to be tried on a gateway: addresses, rows, rules.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mcp_hil_core::baseline::Baseline;
use mcp_hil_core::catalogue::{Catalogue, RuleSet};
use mcp_hil_core::problem::nearest;
use mcp_hil_judge::gateway::Row;
use percent_encoding::percent_decode_str;

use super::{case_id, catalogue, table};
use crate::mqtt::Server;
use mcp_hil_args::RunArgs;
use mcp_hil_record::error::UserError;
use mcp_hil_record::names::GATEWAY;
use mcp_hil_runner::plan::{make_folder, now, read_baseline};
use mcp_hil_runner::run::VerdictPolicy;

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
    pub fn new(args: &RunArgs) -> Result<Self, UserError> {
        let need = |name: &str, value: &Option<String>, example: &str| {
            value.clone().ok_or_else(|| {
                UserError::usage(
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
        refuse_options_of_devices(args)?;
        let sets = if args.rules.is_empty() {
            RuleSet::DEFAULT.to_vec()
        } else {
            args.rules
                .iter()
                .map(|name| mcp_hil_runner::suite::rule_set(name))
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
            deadline: args.deadline,
            connect_deadline: args.connect_deadline.unwrap_or(Duration::from_secs(20)),
            run,
            today: started.chars().take(10).collect(),
            started,
            folder,
            repro_arguments,
        })
    }

    /// What turns judgements into verdicts in this run.
    pub fn policy(&self) -> VerdictPolicy<'_> {
        VerdictPolicy {
            catalogue: &self.catalogue,
            strict: self.strict,
            baseline: self.baseline.as_ref(),
            today: &self.today,
            transport: None,
            firmware: None,
            symbols: None,
        }
    }

    /// The command that runs a case again.
    pub fn repro(&self, case: &str) -> String {
        format!("mcp-hil run --sut gateway{} --only {case}", self.repro_arguments)
    }

    /// What is told when a good control never made a call.
    pub fn no_call(&self, instead: String) -> String {
        format!(
            "no call was made for a control message on `{}` at `{}` within {} s: \
             {instead}\n\nhint: check the topic in `--gateway-in`, and that the gateway uses the \
             device that connects to `--gateway-out`; `--connect-deadline` gives it more time",
            self.input.topic,
            self.input.server,
            self.connect_deadline.as_secs_f64(),
        )
    }
}

/// Refuses options that mean nothing to a gateway, instead of leaving them without effect.
fn refuse_options_of_devices(args: &RunArgs) -> Result<(), UserError> {
    let options = [
        ("--mutant", args.mutant.is_some()),
        ("--variant", args.variant.is_some()),
        ("--scenarios", args.scenarios.is_some()),
        ("--fallback", args.fallback.is_some()),
        ("--listen", args.listen.is_some()),
        ("--http-listen", args.http_listen.is_some()),
        ("--transport", args.transport.is_some()),
        ("--mqtt-broker", args.mqtt_broker.is_some()),
        ("--reconnect-deadline", args.reconnect_deadline.is_some()),
        ("--shard", args.shard.is_some()),
    ];
    match options.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => Err(UserError::usage(
            format!("`{name}` with `--sut gateway`: this option is for devices"),
            "leave one of them out",
        )),
    }
}

/// The rows whose case or requirement is selected; all where nothing is.
fn select(only: &[String]) -> Result<Vec<Row>, UserError> {
    let rows = table().rows.clone();
    let selects = |selector: &String, row: &Row| {
        case_id(&row.name).starts_with(selector.as_str()) || row.requirement.slug() == selector
    };
    for selector in only {
        if !rows.iter().any(|row| selects(selector, row)) {
            let ids: Vec<String> = rows.iter().map(|row| case_id(&row.name)).collect();
            let hint = match nearest(selector, ids.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("gateway cases begin with `{GATEWAY}/`"),
            };
            return Err(UserError::nothing_ran(
                format!("`--only {selector}` selects no case"),
                &hint,
            ));
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

fn parts(name: &str, text: &str, scheme: &str) -> Result<Parts, UserError> {
    let wrong = |why: &str| {
        UserError::usage(
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
        Some((login, address)) => (Some(login.split_once(':').unwrap_or((login, ""))), address),
        None => (None, server),
    };
    let mut server = Server::parse(address).map_err(|why| wrong(&why))?;
    let user = login.map_or(String::new(), |(user, _)| format!("{user}@"));
    let mark = if query.is_empty() { "" } else { "?" };
    let shown = format!("{scheme}{user}{server}/{path}{mark}{query}");
    let decoded = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8();
        decoded.map(Cow::into_owned).map_err(|_| wrong("expected UTF-8 behind the percent signs"))
    };
    if let Some((user, password)) = login {
        server.login = Some((decoded(user)?, decoded(password)?));
    }
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok::<_, UserError>((decoded(name)?, decoded(value)?))
    };
    let query = query.split('&').filter(|q| !q.is_empty()).map(pair).collect::<Result<_, _>>()?;
    Ok(Parts { server, path: decoded(path)?, query, shown })
}

fn option(
    name: &str,
    query: &[(String, String)],
    known: &str,
) -> Result<Option<String>, UserError> {
    match query {
        [] => Ok(None),
        [(option, value)] if option == known && !value.is_empty() => Ok(Some(value.clone())),
        [(option, _), ..] => Err(UserError::usage(
            format!("`{name}`: unknown or empty option `{option}`"),
            &format!("the only option is `?{known}=TOPIC`"),
        )),
    }
}

fn read_input(text: &str) -> Result<(Input, String), UserError> {
    let name = "--gateway-in";
    let parts = parts(name, text, "mqtt://")?;
    if parts.path.is_empty() || parts.path.contains(['+', '#']) {
        return Err(UserError::usage(
            format!("`{name}`: expected the topic of control messages after the address"),
            "for example `mqtt://127.0.0.1:1884/device_control`",
        ));
    }
    let reply = option(name, &parts.query, "reply")?;
    let input = Input {
        reply: reply.unwrap_or_else(|| format!("{}/reply", parts.path)),
        password: parts.server.login.as_ref().map(|(_, password)| password.clone()),
        server: parts.server,
        topic: parts.path,
    };
    Ok((input, parts.shown))
}

fn read_output(text: &str) -> Result<(Output, String), UserError> {
    let name = "--gateway-out";
    if text.starts_with("ws://") {
        let parts = parts(name, text, "ws://")?;
        return Ok((Output::WebSocket(text.to_owned()), parts.shown));
    }
    if !text.starts_with("mqtt://") {
        return Err(UserError::usage(
            format!("`{name}`: expected an address that begins with `ws://` or `mqtt://`"),
            "for example `ws://127.0.0.1:8765/xiaozhi/v1/`",
        ));
    }
    let parts = parts(name, text, "mqtt://")?;
    let listens = option(name, &parts.query, "listens")?;
    let output = Output::Mqtt {
        server: parts.server,
        topic: if parts.path.is_empty() { DEVICE_TOPIC.into() } else { parts.path },
        listens: listens.unwrap_or_else(|| DEVICE_LISTENS.into()),
    };
    Ok((output, parts.shown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_record::exit;

    #[test]
    fn addresses_are_read_and_shown_without_the_password() {
        let (input, shown) =
            read_input("mqtt://me:secret@[::1]:1884/a/control?reply=a/answers").unwrap();
        assert_eq!(shown, "mqtt://me@[::1]:1884/a/control?reply=a/answers");
        assert_eq!((input.topic.as_str(), input.reply.as_str()), ("a/control", "a/answers"));
        assert!(!format!("{:?}", input.server).contains("secret"));
        let (input, _) = read_input("mqtt://h:1/c").unwrap();
        assert_eq!(input.reply, "c/reply");
        let (output, _) = read_output("mqtt://h:1").unwrap();
        let Output::Mqtt { topic, .. } = output else { panic!("{output:?}") };
        assert_eq!(topic, DEVICE_TOPIC);
        for wrong in ["", "h:1/c", "mqtt://h/c", "mqtt://h:1", "mqtt://h:1/c?x=1", "mqtt://h:1/+"] {
            assert_eq!(read_input(wrong).unwrap_err().exit, exit::USAGE, "{wrong}");
        }
        for wrong in ["", "wss://h:1/", "ws://h/", "mqtt://h:1/t?reply=x"] {
            assert_eq!(read_output(wrong).unwrap_err().exit, exit::USAGE, "{wrong}");
        }
    }

    #[test]
    fn what_is_percent_encoded_in_an_address_is_decoded() {
        let (input, shown) =
            read_input("mqtt://m%65:p%40ss%2Fw%3ard@h:1/a%20b?reply=c%26d").unwrap();
        assert_eq!(input.server.login, Some(("me".to_owned(), "p@ss/w:rd".to_owned())));
        assert_eq!((input.topic.as_str(), input.reply.as_str()), ("a b", "c&d"));
        assert_eq!(shown, "mqtt://m%65@h:1/a%20b?reply=c%26d");
        let refused = read_input("mqtt://u:%ff@h:1/c").unwrap_err();
        assert!(refused.to_string().contains("UTF-8"), "{refused}");
    }

    #[test]
    fn rows_are_selected_by_case_and_requirement() {
        assert!(select(&[]).unwrap().len() > 50);
        let zero = select(&["gateway.zero-kept".into()]).unwrap();
        assert!(zero.iter().all(|row| row.name.starts_with("zero-")));
        assert_eq!(select(&["gateway/answer-value".into()]).unwrap().len(), 1);
        let refusal = select(&["gateway/answer-valeu".into()]).unwrap_err();
        assert_eq!(refusal.exit, exit::NOTHING_RAN);
        assert!(refusal.to_string().contains("did you mean `gateway/answer-value`?"));
    }
}
