//! Where the harness listens: an address that the device can dial.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use mcp_hil_endpoint::{EndpointError, Networks, networks};

use mcp_hil_args::RunArgs;
use mcp_hil_bench::dut::{BoardFile, Dut, DutFile, How};
use mcp_hil_record::error::UserError;

/// Where stock firmware of a local server is told to ask for its configuration.
const OTA_PORT: u16 = 8003;

/// Where devices dial that somebody else starts.
const WAIT_PORT: u16 = 8765;

/// Where a run listens, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listening {
    /// Where devices dial.
    pub dial: SocketAddr,
    /// Where they ask for their configuration.
    pub http: SocketAddr,
    /// Whether the first of these was asked for.
    pub dial_asked: bool,
    /// Whether the port of the second was asked for: otherwise any other will do when it is taken.
    pub http_asked: bool,
    /// Whether others than the device can reach it, so that who dials has to be the device: it presents
    /// the token of the run, or was told it here.
    pub exposed: bool,
    /// Which address a board is told, and why, for people.
    pub notice: Option<String>,
}

impl Listening {
    /// Any free ports that only this host reaches.
    pub(super) fn on_this_host() -> Self {
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            dial: any_port,
            http: any_port,
            dial_asked: false,
            http_asked: false,
            exposed: false,
            notice: None,
        }
    }

    /// What arguments say, else the device's file, else what the device can reach.
    ///
    /// # Errors
    ///
    /// An address was named that a board cannot dial, or this host has none that it could.
    pub(super) fn new(args: &RunArgs, dut: &Dut) -> Result<Self, UserError> {
        let file = dut.file.as_ref();
        let path = file.map_or("", |file| file.path.as_str());
        let asked = |option: &str, argument, member: Option<SocketAddr>| match (argument, member) {
            (Some(address), _) => Some((address, format!("`--{option}`"))),
            (None, Some(address)) => {
                let member = option.replace('-', "_");
                Some((address, format!("`{member}` in `{path}`")))
            }
            (None, None) => None,
        };
        let listen = asked("listen", args.listen, file.and_then(|file| file.listen));
        let http = asked("http-listen", args.http_listen, file.and_then(|file| file.http_listen));
        let waits = matches!(dut.how, How::Wait);
        let board = match &dut.how {
            How::Board(board) => Some(&board.file),
            _ => None,
        };
        let outside = board.is_some_and(|board| !board.is_on_this_host());
        if outside {
            for (address, by) in listen.iter().chain(&http) {
                check_reachable(*address, by)?;
            }
        }
        let (dial, notice) = match (&listen, board) {
            (Some((address, by)), Some(_)) => {
                let told = match address.ip().is_unspecified() {
                    true => {
                        format!(", which is given {}", mcp_hil_endpoint::dialable(*address).ip())
                    }
                    false => String::new(),
                };
                let at = address.ip();
                let notice = format!("listening on {at} for the board{told}, as {by} says");
                (*address, Some(notice))
            }
            (Some((address, _)), None) => (*address, None),
            (None, Some(board)) => {
                let reach = match outside {
                    true => reach(&networks()).map_err(|why| nowhere(&why, path))?,
                    false => of_this_host(board),
                };
                let address = SocketAddr::new(reach.listen.into(), 0);
                (address, Some(reach.notice(path)))
            }
            (None, None) => {
                let port = if waits { WAIT_PORT } else { 0 };
                (SocketAddr::from((Ipv4Addr::LOCALHOST, port)), None)
            }
        };
        // Boards are told once, in their flash, where to ask.
        let http_port = if waits || outside { OTA_PORT } else { 0 };
        let (dial_asked, http_asked) = (listen.is_some(), http.is_some());
        let http = http.map_or(SocketAddr::new(dial.ip(), http_port), |(address, _)| address);
        let exposed = board.is_some() && !dial.ip().is_loopback();
        Ok(Self { dial, http, dial_asked, http_asked, exposed, notice })
    }

    /// Whether it has a port that nobody asked for and that is the same in each run.
    pub(crate) fn has_fixed_port(&self) -> bool {
        let fixed = [(self.dial, self.dial_asked), (self.http, self.http_asked)];
        fixed.iter().any(|(address, asked)| !asked && address.port() != 0)
    }

    /// Takes ports so much above the fixed ones. Several devices listen side by side then, each where it did in the run
    /// before: a board is told its port in its flash, which is written anew where the port is another.
    pub(crate) fn move_up(&mut self, by: u16) {
        for (address, asked) in
            [(&mut self.dial, self.dial_asked), (&mut self.http, self.http_asked)]
        {
            if !asked && address.port() != 0 {
                address.set_port(address.port().saturating_add(by));
            }
        }
    }
}

/// An address that a board can dial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// Where to listen: an address of this host, or all.
    pub listen: Ipv4Addr,
    /// That, and the reason, for people.
    pub told: String,
}

impl Reach {
    fn notice(&self, file: &str) -> String {
        let told = &self.told;
        format!("{told}; set another with `listen` in `{file}` or `--listen`")
    }
}

/// What the user is told where nothing can be listened for. `option` names another address or port.
pub fn refused(error: &EndpointError, option: &str) -> UserError {
    let hint = match error {
        EndpointError::Listen { reason, .. } => match reason.kind() {
            ErrorKind::AddrInUse => format!(
                "another program, perhaps another run, is listening there; stop it, or choose \
                 another port with `{option}` (port 0 takes any free one)"
            ),
            ErrorKind::PermissionDenied => {
                format!("ports below 1024 need special rights; choose a higher one with `{option}`")
            }
            ErrorKind::AddrNotAvailable => {
                "no network interface of this machine has that address; `0.0.0.0` means all of them"
                    .to_owned()
            }
            _ => format!("choose another address with `{option}`"),
        },
        EndpointError::Broker { .. } => {
            "check `--mqtt-broker`, that the broker runs, and what credentials it requires; without \
             the option, the harness itself is the broker"
                .to_owned()
        }
    };
    UserError::bench(error.to_string(), &hint)
}

/// Where `serve` listens: as for the board of a file, or without one as for those that are declared in
/// `folder` or `attached`; else only for this host. With what people are told of it.
///
/// # Errors
///
/// An address was named that the board cannot dial, or this host has none that it could.
pub fn to_serve(
    bind: Option<IpAddr>,
    file: Option<&DutFile>,
    declared: &[DutFile],
    attached: bool,
) -> Result<(IpAddr, Option<String>), UserError> {
    let outside = |file: &DutFile| {
        let board = file.board.as_ref();
        board.is_some_and(|board| !board.is_on_this_host())
    };
    let path = file.map_or("", |file| file.path.as_str());
    let named = match (bind, file.and_then(|file| file.listen)) {
        (Some(ip), _) => Some((ip, "`--bind`".to_owned())),
        (None, Some(address)) => Some((address.ip(), format!("`listen` in `{path}`"))),
        (None, None) => None,
    };
    if let Some((ip, by)) = named {
        if file.is_some_and(outside) {
            check_reachable(SocketAddr::new(ip, 0), &by)?;
        }
        return Ok((ip, None));
    }
    let of_file = file.and_then(|file| file.board.as_ref());
    let found = match of_file {
        Some(board) if board.is_on_this_host() => Some(of_this_host(board)),
        Some(_) => Some(reach(&networks()).map_err(|why| nowhere(&why, path))?),
        // Without a network nobody else can dial, and what is on this host still can.
        None if attached || declared.iter().any(outside) => reach(&networks()).ok(),
        None => None,
    };
    Ok(match found {
        Some(found) => {
            (found.listen.into(), Some(format!("{}; set another with `--bind`", found.told)))
        }
        None => {
            let told = "only this host can connect; `--bind 0.0.0.0` admits others in this network";
            (Ipv4Addr::LOCALHOST.into(), Some(told.to_owned()))
        }
    })
}

/// A board at a port that a program of this host may have made.
fn of_this_host(board: &BoardFile) -> Reach {
    let port = board.port.as_deref().unwrap_or_else(|| "".as_ref());
    Reach {
        listen: Ipv4Addr::LOCALHOST,
        told: format!(
            "listening on 127.0.0.1 for the board: `{}` is not the port of a USB device, so the \
             board is assumed to be a program on this host",
            port.display()
        ),
    }
}

/// The address that boards can dial, or else why there is none.
///
/// A host that is in one network leaves no choice. In several, only who set up the bench knows which one
/// the boards are in: then all are listened to, and boards are told the address on the default route.
pub fn reach(networks: &Networks) -> Result<Reach, String> {
    let all = networks.interfaces.iter();
    let all: Vec<String> = all.map(|it| format!("{} {}", it.name, it.address)).collect();
    let all = all.join(", ");
    let only = |address: Ipv4Addr| Reach {
        listen: address,
        told: format!(
            "listening on {address} for the board, the only address of this host that others can reach"
        ),
    };
    match (networks.outward, &networks.interfaces[..]) {
        (Some(outward), others) if others.iter().all(|it| it.address == outward) => {
            Ok(only(outward))
        }
        (Some(outward), _) => Ok(Reach {
            listen: Ipv4Addr::UNSPECIFIED,
            told: format!(
                "listening on all interfaces for the board, because this host is in several \
                 networks ({all}): the board is given {outward}, the address on the default route, \
                 and nothing else can connect without the token"
            ),
        }),
        (None, [one]) => Ok(only(one.address)),
        (None, []) => Err("it has only a loopback address".to_owned()),
        (None, _) => Err(format!("it has no default route and is in several networks: {all}")),
    }
}

/// No address to tell a board.
fn nowhere(why: &str, file: &str) -> UserError {
    UserError::bench(
        format!("a board cannot connect to this host: {why}"),
        &format!(
            "connect to the board's network; or give the address of this host in it, with `listen \
             = \"ADDRESS:PORT\"` in `{file}` or `--listen ADDRESS:PORT`"
        ),
    )
}

/// Refuses addresses that no board can dial.
fn check_reachable(address: SocketAddr, by: &str) -> Result<(), UserError> {
    if !address.ip().is_loopback() {
        return Ok(());
    }
    let ip: IpAddr = address.ip();
    Err(UserError::usage(
        format!(
            "a board cannot connect to `{ip}`, which {by} gives: expected an address of this host \
             in the board's network"
        ),
        "leave it out to have an address chosen that the board can reach; `ip -brief address` shows all addresses",
    ))
}

#[cfg(test)]
mod tests {
    use mcp_hil_endpoint::Interface;

    use super::*;

    fn networks(outward: Option<&str>, interfaces: &[(&str, &str)]) -> Networks {
        let interfaces = interfaces.iter().map(|(name, address)| Interface {
            name: (*name).to_owned(),
            address: address.parse().unwrap(),
        });
        Networks {
            outward: outward.map(|address| address.parse().unwrap()),
            interfaces: interfaces.collect(),
        }
    }

    #[test]
    fn the_address_is_one_that_a_board_can_dial() {
        let lan = ("eth0", "192.168.1.5");
        let bench = ("wlan0", "10.42.0.1");
        for (outward, interfaces, listen, says) in [
            (Some("192.168.1.5"), &[lan][..], "192.168.1.5", "only address"),
            (Some("192.168.1.5"), &[], "192.168.1.5", "on 192.168.1.5"),
            (None, &[bench], "10.42.0.1", "on 10.42.0.1"),
            (
                Some("192.168.1.5"),
                &[lan, bench],
                "0.0.0.0",
                "(eth0 192.168.1.5, wlan0 10.42.0.1): the board is given 192.168.1.5",
            ),
        ] {
            let found = reach(&networks(outward, interfaces)).unwrap();
            assert_eq!(found.listen.to_string(), listen, "{found:?}");
            let notice = found.notice("desk.toml");
            assert!(notice.contains(says), "{notice}");
            assert!(notice.contains("`listen` in `desk.toml`"), "{notice}");
        }
        for (interfaces, says) in [(&[][..], "loopback"), (&[lan, bench], "wlan0 10.42.0.1")] {
            let why = reach(&networks(None, interfaces)).unwrap_err();
            assert!(why.contains(says), "{why}");
            let refusal = nowhere(&why, "desk.toml");
            assert_eq!(refusal.exit, mcp_hil_record::exit::BENCH);
            assert!(refusal.to_string().contains("--listen ADDRESS:PORT"), "{refusal}");
        }
    }

    #[test]
    fn what_is_served_follows_the_board_and_else_stays_on_this_host() {
        let file = |lines: &str| {
            let text = format!("name = \"desk\"\ntarget = \"board\"\n{lines}");
            DutFile::load("desk.toml", &text).unwrap()
        };
        let loopback: IpAddr = Ipv4Addr::LOCALHOST.into();
        let pty = file("[board]\nport = \"/dev/pts/7\"\n");
        let usb = file("listen = \"10.0.0.1:1\"\n[board]\nserial = \"F412FA001122\"\n");
        let (ip, told) = to_serve(None, Some(&pty), &[], true).unwrap();
        assert_eq!(ip, loopback);
        assert!(told.unwrap().contains("/dev/pts/7"));
        let (ip, told) = to_serve(None, Some(&usb), &[], false).unwrap();
        assert_eq!((ip.to_string(), told), ("10.0.0.1".to_owned(), None));
        let refusal = to_serve(Some(loopback), Some(&usb), &[], false).unwrap_err();
        assert!(refusal.to_string().contains("`--bind`"), "{refusal}");
        let (ip, told) = to_serve(None, None, &[pty], false).unwrap();
        assert_eq!(ip, loopback);
        assert!(told.unwrap().contains("`--bind 0.0.0.0`"));
        assert_eq!(to_serve(Some(loopback), None, &[usb], true).unwrap().0, loopback);
    }

    #[test]
    fn only_a_loopback_that_was_named_is_refused() {
        let refusal = check_reachable("127.0.0.1:1".parse().unwrap(), "`--listen`").unwrap_err();
        assert_eq!(refusal.exit, mcp_hil_record::exit::USAGE);
        assert!(refusal.to_string().contains("`--listen`"), "{refusal}");
        for address in ["192.168.1.5:8765", "0.0.0.0:0"] {
            assert!(check_reachable(address.parse().unwrap(), "").is_ok());
        }
    }

    #[test]
    fn a_port_that_is_not_to_be_had_comes_with_the_option_that_names_another() {
        let address: SocketAddr = "127.0.0.1:80".parse().unwrap();
        for (kind, hint) in [
            (ErrorKind::AddrInUse, "another port with `--ws-port`"),
            (ErrorKind::PermissionDenied, "a higher one with `--ws-port`"),
            (ErrorKind::AddrNotAvailable, "no network interface"),
            (ErrorKind::Other, "another address with `--ws-port`"),
        ] {
            let error = EndpointError::Listen { address, reason: kind.into() };
            let told = refused(&error, "--ws-port").hint.unwrap();
            assert!(told.contains(hint), "{told}");
        }
    }
}
