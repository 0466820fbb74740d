//! The network on silicon: Wi-Fi as a station.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use esp_hal::peripherals::{FROM_CPU_INTR0, TIMG0, WIFI};
use esp_hal::ram;
use esp_hal::time::{Duration, Instant};
use esp_hal::timer::timg::TimerGroup;
use esp_println::println;
use esp_radio::wifi::sta::StationConfig;
use esp_radio::wifi::{
    AuthenticationMethodConfig, Config, Interface, WifiController, WifiRxToken, WifiTxToken,
};
use esp_rtos::CurrentThreadHandle;
use reference_nvs::Network;
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};

/// Bytes of an Ethernet frame without its check sequence: the radio's default (its option
/// `wifi_mtu`). It takes no longer ones.
const FRAME: usize = 1492;

/// How long a network may take to let the chip in.
const JOIN: Duration = Duration::from_secs(15);
/// From one attempt to the next.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest time between two looks at the radio.
const LOOK: Duration = Duration::from_millis(1);
/// The same while a network is waited for.
const JOIN_LOOK: Duration = Duration::from_millis(10);

/// What the network takes of the chip.
pub(crate) struct Parts {
    pub(crate) timers: TIMG0<'static>,
    pub(crate) interrupt: FROM_CPU_INTR0<'static>,
    pub(crate) radio: WIFI<'static>,
}

/// What keeps the network up: it joins again when it was put out.
pub(crate) struct Link {
    /// Until it is switched off.
    controller: Option<WifiController<'static>>,
    networks: Vec<Network>,
    /// The network that let the chip in last.
    current: usize,
}

/// Memory: what the bootloader leaves, and some more.
pub(crate) fn prepare() {
    esp_alloc::heap_allocator!(#[ram(reclaimed)] size: RECLAIMED);
    esp_alloc::heap_allocator!(size: MEMORY);
}

/// What the bootloader used and leaves behind. The radio takes 47 KiB when it starts, first of all from
/// here; the largest message, 64 KiB in one piece, does not fit beside that.
const RECLAIMED: usize = 64 << 10;

/// The rest of the heap, out of which the largest message comes: with what the radio leaves of the other
/// part it is what the image without a radio has. Beside it there must be room for the radio's own
/// variables and for a stack. An ESP32 and an ESP32-S2 have no more than this to give: there messages of
/// more than some 30 KiB are refused.
const MEMORY: usize =
    if cfg!(any(feature = "esp32", feature = "esp32s2")) { 48 << 10 } else { 160 << 10 };

/// Starts the radio and joins a network.
pub(crate) fn start(
    parts: Parts,
    networks: Vec<Network>,
    _mac: [u8; 6],
) -> Result<(Radio, Link), String> {
    if networks.is_empty() {
        return Err("no network is known: expected `ssid` and `password` in the NVS partition, \
             namespace `wifi`, or in the line `config {...}`"
            .into());
    }
    esp_rtos::start(TimerGroup::new(parts.timers).timer0, parts.interrupt);
    let controller = WifiController::new(parts.radio, Default::default())
        .map_err(|error| format!("the radio does not start: {error:?}"))?;
    let mut link = Link { controller: Some(controller), networks, current: 0 };
    while !link.join() {
        CurrentThreadHandle::get().delay(PAUSE);
    }
    Ok((Radio(Interface::station()), link))
}

impl Link {
    /// Tries the networks in turn, beginning with the one that worked last.
    fn join(&mut self) -> bool {
        let Some(controller) = &mut self.controller else {
            return false;
        };
        for number in 0..self.networks.len() {
            let index = (self.current + number) % self.networks.len();
            let network = &self.networks[index];
            let now = now_ms();
            println!("I ({now}) WifiStation: Connecting to {}", network.ssid);
            match join(controller, network) {
                Ok(()) => {
                    self.current = index;
                    let now = now_ms();
                    println!("I ({now}) WifiStation: Connected to {}", network.ssid);
                    return true;
                }
                Err(error) => {
                    let now = now_ms();
                    println!("W ({now}) WifiStation: {}: {error}", network.ssid);
                }
            }
        }
        false
    }

    /// Leaves the network without a word.
    pub(crate) fn off(&mut self) {
        self.controller = None;
    }

    /// Lets the radio work, and joins again when the network is gone.
    pub(crate) fn idle(&mut self, ms: u64) {
        let thread = CurrentThreadHandle::get();
        let is_out = self.controller.as_ref().is_some_and(|controller| !controller.is_connected());
        if is_out && !self.join() {
            thread.delay(PAUSE);
        }
        thread.delay(Duration::from_millis(ms).min(LOOK));
    }
}

fn join(controller: &mut WifiController<'static>, network: &Network) -> Result<(), String> {
    let told = |error| format!("{error:?}");
    let authentication = if network.password.is_empty() {
        AuthenticationMethodConfig::Open
    } else {
        let password = network.password.as_str().try_into().map_err(told)?;
        AuthenticationMethodConfig::Wpa2Personal(password)
    };
    let station = StationConfig::default()
        .with_ssid(network.ssid.as_str().try_into().map_err(told)?)
        .with_authentication(authentication);
    controller.set_config(&Config::Station(station)).map_err(told)?;
    let mut joining = pin!(controller.connect_async());
    let mut context = Context::from_waker(Waker::noop());
    let begin = Instant::now();
    while begin.elapsed() < JOIN {
        if let Poll::Ready(joined) = joining.as_mut().poll(&mut context) {
            return joined.map(drop).map_err(|error| format!("{error:?}"));
        }
        CurrentThreadHandle::get().delay(JOIN_LOOK);
    }
    Err("no answer".into())
}

fn now_ms() -> u64 {
    Instant::now().duration_since_epoch().as_millis()
}

/// The radio as a device of the network stack.
pub(crate) struct Radio(Interface);

impl Device for Radio {
    type RxToken<'a> = Received;
    type TxToken<'a> = Sender;

    fn receive(&mut self, _: smoltcp::time::Instant) -> Option<(Received, Sender)> {
        let (received, sender) = self.0.receive()?;
        Some((Received(received), Sender(sender)))
    }

    fn transmit(&mut self, _: smoltcp::time::Instant) -> Option<Sender> {
        self.0.transmit().map(Sender)
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME;
        capabilities
    }
}

/// A frame that came.
pub(crate) struct Received(WifiRxToken);

/// A place for a frame to be sent.
pub(crate) struct Sender(WifiTxToken);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        self.0.consume_token(|frame| read(frame))
    }
}

impl TxToken for Sender {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        self.0.consume_token(length, fill)
    }
}
