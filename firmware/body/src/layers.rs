//! One layer over another: a device with a defect that also lives as some real device does.

use crate::defect::Defect;
use crate::hooks::Flow;
use crate::platform::LinkOptions;
use crate::prelude::*;

/// One hook that is two, the first of them first. With `-> Flow`, what that drops the second does not see.
macro_rules! joined {
    ($first:expr, $then:expr, |$($argument:ident),+| -> Flow) => {
        both($first, $then, |mut first, mut then| {
            Box::new(move |$($argument),+| match first($($argument),+) {
                Flow::Pass => then($($argument),+),
                Flow::Drop => Flow::Drop,
            })
        })
    };
    ($first:expr, $then:expr, |$($argument:ident),+|) => {
        both($first, $then, |mut first, mut then| {
            Box::new(move |$($argument),+| {
                first($($argument),+);
                then($($argument),+);
            })
        })
    };
}

impl Defect {
    /// This layer around another one. It stands nearer to the server: what arrives passes it first, and what is
    /// sent passes it last. What one of the two drops the other does not see.
    #[must_use]
    pub fn over(self, inner: Defect) -> Defect {
        Defect {
            setup: joined!(inner.setup, self.setup, |device|),
            headers: joined!(inner.headers, self.headers, |headers|),
            plan: joined!(inner.plan, self.plan, |plan|),
            publication: joined!(inner.publication, self.publication, |publication|),
            datagram: joined!(inner.datagram, self.datagram, |bytes| -> Flow),
            http: joined!(inner.http, self.http, |request| -> Flow),
            inbound: joined!(self.inbound, inner.inbound, |inbound, hands| -> Flow),
            binary: joined!(self.binary, inner.binary, |frame, hands|),
            outbound: joined!(inner.outbound, self.outbound, |outbound, hands| -> Flow),
            console: joined!(inner.console, self.console, |line| -> Flow),
            disconnected: joined!(inner.disconnected, self.disconnected, |hands|),
            wake: joined!(inner.wake, self.wake, |hands|),
            link: LinkOptions {
                drop_pongs: self.link.drop_pongs || inner.link.drop_pongs,
                drop_long_pongs: self.link.drop_long_pongs || inner.link.drop_long_pongs,
                ten_pongs: self.link.ten_pongs || inner.link.ten_pongs,
                drop_empty_pongs: self.link.drop_empty_pongs || inner.link.drop_empty_pongs,
                drop_binary_pongs: self.link.drop_binary_pongs || inner.link.drop_binary_pongs,
                cut_pongs: self.link.cut_pongs || inner.link.cut_pongs,
                loses_pinged: self.link.loses_pinged || inner.link.loses_pinged,
                loses_emptied: self.link.loses_emptied || inner.link.loses_emptied,
                loses_empty_end: self.link.loses_empty_end || inner.link.loses_empty_end,
                ends_at_binary_pieces: self.link.ends_at_binary_pieces
                    || inner.link.ends_at_binary_pieces,
                loses_split: self.link.loses_split || inner.link.loses_split,
                drop_inner_pongs: self.link.drop_inner_pongs || inner.link.drop_inner_pongs,
                watch_fragments: self.link.watch_fragments || inner.link.watch_fragments,
                drop_closes: self.link.drop_closes || inner.link.drop_closes,
                lingers: self.link.lingers || inner.link.lingers,
                ends_at_pong: self.link.ends_at_pong || inner.link.ends_at_pong,
                ends_at_reason: self.link.ends_at_reason || inner.link.ends_at_reason,
                ends_at_bare: self.link.ends_at_bare || inner.link.ends_at_bare,
                takes_any_text: self.link.takes_any_text || inner.link.takes_any_text,
                wide_lengths: self.link.wide_lengths || inner.link.wide_lengths,
                same_mask: self.link.same_mask || inner.link.same_mask,
                counted_masks: self.link.counted_masks || inner.link.counted_masks,
                close_code: self.link.close_code.or(inner.link.close_code),
                keeps_rest: self.link.keeps_rest || inner.link.keeps_rest,
                refuses_as_error: self.link.refuses_as_error || inner.link.refuses_as_error,
                refuses_silently: self.link.refuses_silently || inner.link.refuses_silently,
                talks_on: self.link.talks_on || inner.link.talks_on,
                hostless: self.link.hostless || inner.link.hostless,
                pathless: self.link.pathless || inner.link.pathless,
                unfinished: self.link.unfinished || inner.link.unfinished,
                forgets_rest: self.link.forgets_rest || inner.link.forgets_rest,
                takes_reserved_bits: self.link.takes_reserved_bits
                    || inner.link.takes_reserved_bits,
                takes_unknown_opcodes: self.link.takes_unknown_opcodes
                    || inner.link.takes_unknown_opcodes,
                takes_continuations: self.link.takes_continuations
                    || inner.link.takes_continuations,
                takes_between: self.link.takes_between || inner.link.takes_between,
                takes_not_utf8: self.link.takes_not_utf8 || inner.link.takes_not_utf8,
                takes_cut_pings: self.link.takes_cut_pings || inner.link.takes_cut_pings,
                keeps_pieces: self.link.keeps_pieces || inner.link.keeps_pieces,
            },
            boot_ms: self.boot_ms + inner.boot_ms,
        }
    }
}

/// One hook of two, or the one that is there.
fn both<T: ?Sized>(
    first: Option<Box<T>>,
    then: Option<Box<T>>,
    join: impl FnOnce(Box<T>, Box<T>) -> Box<T>,
) -> Option<Box<T>> {
    match (first, then) {
        (Some(first), Some(then)) => Some(join(first, then)),
        (first, then) => first.or(then),
    }
}
