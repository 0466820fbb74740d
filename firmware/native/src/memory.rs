//! The memory of the process: for a device without a defect as much as a chip has, so that what a chip
//! could not hold fails here too.

use std::alloc::System;
use std::sync::Once;

use cap::Cap;
use reference_device::Memory;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

/// What the image for an ESP32-C3 gives to the device and its network.
const CHIP: usize = 180 << 10;

/// What the host's libraries take beside that, for what a chip's network does in less: the WebSocket
/// client holds a message a second time when it hands it out, and asks for more than it needs.
const HOST: usize = 96 << 10;

/// The same for the MQTT client: it reads ten packets at a time, whatever their size, and works in a
/// thread with a runtime. A chip reads one; how it fares with that is shown on the emulated board.
const HOST_MQTT: usize = 1 << 20;

/// From here on there is no more memory than that. An allocation that cannot fail ends the process, as it
/// restarts a chip.
pub(crate) fn limit() {
    // It is more than what is in use.
    let _ = ALLOCATOR.set_limit(ALLOCATOR.allocated() + CHIP + HOST);
}

/// A process with a limit connects to a broker, for the first time.
pub(crate) fn allow_mqtt() {
    static ALLOWED: Once = Once::new();
    let limit = ALLOCATOR.limit();
    if limit < usize::MAX {
        ALLOWED.call_once(|| {
            // It is more than before.
            let _ = ALLOCATOR.set_limit(limit + HOST_MQTT);
        });
    }
}

/// What is left; `None` where there is no limit.
pub(crate) fn left() -> Option<Memory> {
    let limit = ALLOCATOR.limit();
    (limit < usize::MAX).then(|| Memory {
        free: ALLOCATOR.remaining(),
        lowest: limit.saturating_sub(ALLOCATOR.max_allocated()),
        stack: None,
    })
}
