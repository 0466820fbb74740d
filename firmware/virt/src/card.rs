//! The virtio network card as a device of the network stack.

use alloc::alloc::{alloc_zeroed, dealloc};
use alloc::rc::Rc;
use core::alloc::Layout;
use core::cell::RefCell;
use core::ptr::NonNull;

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use virtio_drivers::device::net::{RxBuffer, VirtIONet};
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport};
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// The eight places for virtio cards on the board.
const FIRST_PLACE: usize = 0x1000_1000;
const PLACE_SIZE: usize = 0x1000;
const PLACES: usize = 8;

/// Frames that may wait in each direction.
const QUEUE: usize = 16;
/// Bytes of a frame with the header of the card.
const FRAME: usize = 2048;
/// Bytes of an Ethernet frame without its check sequence.
const ETHERNET_FRAME: usize = 1514;

type Driver = VirtIONet<Memory, MmioTransport<'static>, QUEUE>;

/// The card.
pub(crate) struct Card(Driver);

impl Card {
    /// The first network card of the board.
    pub(crate) fn find() -> Option<Card> {
        (0..PLACES).find_map(|place| {
            let header = FIRST_PLACE + place * PLACE_SIZE;
            let header =
                NonNull::new(core::ptr::with_exposed_provenance_mut::<VirtIOHeader>(header))?;
            // SAFETY: the board has its places there, and nothing else uses them.
            let transport = unsafe { MmioTransport::new(header, PLACE_SIZE) }.ok()?;
            if transport.device_type() != DeviceType::Network {
                return None;
            }
            VirtIONet::new(transport, FRAME).ok().map(Card)
        })
    }
}

impl Device for Card {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sender<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Sender<'_>)> {
        // First, so that what comes after the look is announced anew.
        self.0.ack_interrupt();
        let buffer = self.0.receive().ok()?;
        let card = RefCell::new(&mut self.0);
        let card = Rc::new(card);
        let received = Received { card: Rc::clone(&card), buffer };
        Some((received, Sender { card }))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sender<'_>> {
        let is_free = self.0.can_send();
        is_free.then(|| Sender { card: Rc::new(RefCell::new(&mut self.0)) })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = ETHERNET_FRAME;
        capabilities
    }
}

/// A frame that came.
pub(crate) struct Received<'a> {
    card: Shared<'a>,
    buffer: RxBuffer,
}

/// A place for a frame to be sent.
pub(crate) struct Sender<'a> {
    card: Shared<'a>,
}

/// Both are handed out together.
type Shared<'a> = Rc<RefCell<&'a mut Driver>>;

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        let result = read(self.buffer.packet());
        // A buffer that was just taken out finds its place.
        let _ = self.card.borrow_mut().recycle_rx_buffer(self.buffer);
        result
    }
}

impl TxToken for Sender<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let mut card = self.card.borrow_mut();
        let mut buffer = card.new_tx_buffer(length);
        let result = fill(buffer.packet_mut());
        // A frame that cannot be sent is lost, as on a cable.
        let _ = card.send(buffer);
        result
    }
}

/// Memory for the card: addresses are the same on both sides, and there is no cache between.
struct Memory;

fn pages(count: usize) -> Layout {
    Layout::from_size_align(count * PAGE_SIZE, PAGE_SIZE).expect("a few pages")
}

// SAFETY: what is given out is zeroed memory of the heap in whole pages, used by nobody else; there
// is no translation of addresses.
unsafe impl Hal for Memory {
    fn dma_alloc(count: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        // SAFETY: the size is not 0.
        let memory = unsafe { alloc_zeroed(pages(count)) };
        let memory = NonNull::new(memory).expect("memory for the network card");
        (memory.as_ptr().expose_provenance() as PhysAddr, memory)
    }

    unsafe fn dma_dealloc(_: PhysAddr, memory: NonNull<u8>, count: usize) -> i32 {
        // SAFETY: the caller gives back what `dma_alloc` gave out.
        unsafe { dealloc(memory.as_ptr(), pages(count)) };
        0
    }

    unsafe fn mmio_phys_to_virt(address: PhysAddr, _: usize) -> NonNull<u8> {
        NonNull::new(core::ptr::with_exposed_provenance_mut(address as usize))
            .expect("registers are not at 0")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.cast::<u8>().as_ptr().expose_provenance() as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
