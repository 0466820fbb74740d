//! How samples are damaged, and how long that goes on.

use std::cell::Cell;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestRunner};

/// How long all targets go on, in seconds; without it, each tries a few hundred inputs.
const SECONDS: &str = "MCP_HIL_FUZZ";

/// How many inputs a target tries at a time.
const INPUTS: u32 = 256;

/// How many targets there are, which share the time.
const TARGETS: u32 = 13;

/// Far longer than reading anything takes, on the slowest machine: what takes this long takes too long.
const LONGEST: Duration = Duration::from_secs(10);

/// What parsers stumble over.
const ODD: [&[u8]; 20] = [
    b"\0",
    b"\xff",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"-",
    b"1e999",
    b"\\ud800",
    b"\r\n",
    b"\n",
    b": ",
    b"null",
    b"99999999999999999999",
    b"\xe2\x80\xae",
    b"---",
    b"&a [*a,*a,*a]",
    b"%s%n",
];

/// A piece of damage.
#[derive(Debug, Clone)]
enum Damage {
    Cut(Index, u16),
    Repeat(Index, u8, u16),
    Swap(Index, Index, u16),
    Put(Index, usize, u16),
    Bytes(Index, Vec<u8>),
    Flip(Index, u8),
    End(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u16>()).prop_map(|(at, length)| Damage::Cut(at, length)),
        (at(), any::<u8>(), 1..400_u16)
            .prop_map(|(at, length, times)| Damage::Repeat(at, length, times)),
        (at(), at(), any::<u16>())
            .prop_map(|(one, other, length)| Damage::Swap(one, other, length)),
        (at(), 0..ODD.len(), prop_oneof![Just(1), 1..2_000_u16])
            .prop_map(|(at, odd, times)| Damage::Put(at, odd, times)),
        (at(), vec(any::<u8>(), 0..40)).prop_map(|(at, bytes)| Damage::Bytes(at, bytes)),
        (at(), any::<u8>()).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        at().prop_map(Damage::End),
    ]
}

/// Does it to some bytes; `other` is another sample.
fn inflict(bytes: &mut Vec<u8>, damage: &Damage, other: &[u8]) {
    let place = |at: &Index| at.index(bytes.len() + 1);
    match damage {
        Damage::Cut(at, length) => {
            let from = place(at);
            let to = (from + usize::from(*length) % 200).min(bytes.len());
            bytes.drain(from..to);
        }
        Damage::Repeat(at, length, times) => {
            let from = place(at);
            let piece = bytes[from..(from + usize::from(*length)).min(bytes.len())].to_vec();
            bytes.splice(from..from, piece.repeat((*times).into()));
        }
        Damage::Swap(one, two, length) => {
            let (from, in_other) = (place(one), two.index(other.len() + 1));
            let length = usize::from(*length) % 1_000;
            let piece = other[in_other..(in_other + length).min(other.len())].to_vec();
            let to = (from + length).min(bytes.len());
            bytes.splice(from..to, piece);
        }
        Damage::Put(at, odd, times) => {
            let from = place(at);
            bytes.splice(from..from, ODD[*odd].repeat((*times).into()));
        }
        Damage::Bytes(at, more) => {
            let from = place(at);
            bytes.splice(from..from, more.iter().copied());
        }
        Damage::Flip(at, bits) if !bytes.is_empty() => {
            let from = at.index(bytes.len());
            bytes[from] ^= bits;
        }
        Damage::Flip(..) => {}
        Damage::End(at) => bytes.truncate(place(at)),
    }
}

/// Damaged samples.
fn damaged(samples: &[Vec<u8>]) -> impl Strategy<Value = Vec<u8>> + use<> {
    let samples = samples.to_vec();
    (any::<Index>(), any::<Index>(), vec(damage(), 1..6)).prop_map(move |(one, other, all)| {
        let (mut bytes, other) = (one.get(&samples).clone(), other.get(&samples));
        all.iter().for_each(|damage| inflict(&mut bytes, damage, other));
        bytes
    })
}

/// Gives inputs to a target until the time is over, or a few hundred. Prints how many there were, and how long the
/// slowest took.
pub(crate) fn tried<T: std::fmt::Debug>(
    name: &str,
    inputs: impl Strategy<Value = T>,
    target: impl Fn(&T),
) {
    let seconds = std::env::var(SECONDS).ok().map(|text| text.parse::<f64>().expect(SECONDS));
    let time = seconds.map(|seconds| Duration::from_secs_f64(seconds) / TARGETS);
    // A runner counts what it has tried, and tries no more than that: each time it is another one, of another seed.
    let runner = |round: u64| {
        let persistence = FileFailurePersistence::WithSource("proptest-regressions");
        let config = Config::default();
        TestRunner::new(Config {
            cases: INPUTS,
            failure_persistence: Some(Box::new(persistence)),
            source_file: Some(file!()),
            max_shrink_iters: 2_000,
            rng_seed: match config.rng_seed {
                RngSeed::Fixed(seed) => RngSeed::Fixed(seed.wrapping_add(round)),
                RngSeed::Random => RngSeed::Random,
            },
            ..config
        })
    };
    let (began, number, slowest) = (Instant::now(), Cell::new(0_u64), Cell::new(Duration::ZERO));
    for round in 0.. {
        let done = runner(round).run(&inputs, |input| {
            let at = Instant::now();
            target(&input);
            number.set(number.get() + 1);
            slowest.set(slowest.get().max(at.elapsed()));
            prop_assert!(at.elapsed() < LONGEST, "took {:?}", at.elapsed());
            Ok(())
        });
        if let Err(error) = done {
            panic!("{name}: {error}");
        }
        assert!(number.get() >= (round + 1) * u64::from(INPUTS), "{name}: the round tried nothing");
        if time.is_none_or(|time| began.elapsed() >= time) {
            break;
        }
    }
    println!("{name}: {} inputs, the slowest took {:?}", number.get(), slowest.get());
}

/// Gives damaged samples to a reader of bytes.
pub(crate) fn fuzz(name: &str, samples: &[Vec<u8>], target: impl Fn(&[u8])) {
    tried(name, damaged(samples), |bytes| target(bytes));
}

/// Gives damaged samples to a reader of texts; what is no text becomes one.
pub(crate) fn fuzz_text(name: &str, samples: &[Vec<u8>], target: impl Fn(&str)) {
    fuzz(name, samples, |bytes| target(&String::from_utf8_lossy(bytes)));
}
