//! Floods of HTTP/2 frames: the known ways to make a server work or hold memory for nothing.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::Scale;
use crate::client::Client;
use crate::frames::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, Heard, Hears, PING, RST_STREAM, SETTINGS,
    Session, WHOLE, WINDOW_UPDATE, frame, get,
};
use crate::machine;
use crate::program::{Program, until};
use crate::upstream::{Keep, Upstream};
use crate::verdict::Verdict;
use crate::victim::{self, Victim};

/// How much the gateway may grow, in kilobytes.
const GROWTH: u64 = 20 * 1024;
/// How long an attacker is silent before it takes a connection for one that stays open.
const SILENCE: Duration = Duration::from_secs(4);
/// Spans with and spans without an attack.
const SPANS: usize = 3;
/// A request that is answered at once.
const SHORT: &str = "/attack/short";
/// A request whose answer is a megabyte.
const LARGE: &str = "/attack/large";
/// A request that the upstream holds until it is given up.
const HELD: &str = "/attack/held";

/// What a flood did and was told.
pub(crate) struct Told {
    frames: usize,
    streams: u64,
    heard: Heard,
}

/// How a flood has to end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// The connection is closed.
    Closed,
    /// So many streams are refused.
    Refused(u64),
    /// All streams were asked for in earnest before they were given up, and each is charged.
    Charged,
}

#[derive(Clone, Copy)]
pub(crate) struct Flood {
    pub(crate) name: &'static str,
    end: End,
    attack: fn(SocketAddr, Scale) -> std::io::Result<Told>,
}

pub(crate) fn all() -> Vec<Flood> {
    let flood = |name, end, attack| Flood { name, end, attack };
    vec![
        flood("rapid reset", End::Closed, rapid_reset),
        flood("patient reset", End::Charged, patient_reset),
        flood("made you reset: window 0", End::Closed, |a, s| {
            made_you_reset(a, s, |id| frame(WINDOW_UPDATE, 0, id, &[0; 4]))
        }),
        flood("made you reset: window 2^31", End::Closed, |a, s| {
            made_you_reset(a, s, |id| frame(WINDOW_UPDATE, 0, id, &[0x7f, 0xff, 0xff, 0xff]))
        }),
        flood("made you reset: late data", End::Closed, |a, s| {
            made_you_reset(a, s, |id| frame(DATA, 0, id, b"x"))
        }),
        flood("continuations", End::Closed, continuations),
        flood("empty data", End::Closed, empty_data),
        flood("settings", End::Closed, |a, s| {
            control(a, s, Hears::All, &frame(SETTINGS, 0, 0, &[]))
        }),
        flood("pings", End::Closed, |a, s| control(a, s, Hears::All, &frame(PING, 0, 0, &[0; 8]))),
        flood("pings, answers unread", End::Closed, |a, s| {
            control(a, s, Hears::Nothing, &frame(PING, 0, 0, &[0; 8]))
        }),
        flood("priorities", End::Closed, |a, s| {
            control(a, s, Hears::All, &frame(2, 0, 1, &[0; 5]))
        }),
        flood("unknown frames", End::Closed, |a, s| {
            control(a, s, Hears::All, &frame(0x77, 0, 1, &[0; 3]))
        }),
        flood("hpack bomb", End::Closed, hpack_bomb),
        flood("window never opened", End::Closed, shut_window),
        flood("streams above 100", End::Refused(30), |a, _| many_streams(a, 130)),
        flood("streams far above 100", End::Closed, |a, _| many_streams(a, 300)),
    ]
}

/// Runs a flood again and again, as a process of its own.
pub(crate) fn besiege(name: &str, address: SocketAddr, lasting: Duration) {
    let flood = all().into_iter().find(|flood| flood.name == name).unwrap();
    let began = Instant::now();
    while began.elapsed() < lasting {
        // A connection that is refused is what the attacker deserves.
        let _ = (flood.attack)(address, Scale::Full);
    }
}

impl Flood {
    pub(crate) fn judged(&self, scale: Scale) -> Verdict {
        let mut verdict = Verdict::default();
        let upstream = upstream();
        let config = upstream.config()
            + "[server.timeouts]\nwrite = \"1s\"\n[[limit]]\nname = \"streams\"\nalgorithm = \"fixed-window\"\n\
               rate = \"10000000 per 30 days\"\nwhen = { path = \"/attack/*\" }\n";
        let gateway = Program::serve(&config);
        let quiet = Victim::during(gateway.address, Duration::from_millis(200));
        verdict.demand(quiet.errors == 0, "no errors before the attack");
        // Whatever a first connection of this kind allocates for good is no growth.
        let _ = (self.attack)(gateway.address, Scale::Quick);
        settled(&upstream);

        let before = remaining(gateway.address);
        let asked = asked(&upstream);
        machine::forget_peak(gateway.id());
        let held = machine::resident(gateway.id());
        let victim = Victim::start(gateway.address);
        let told = (self.attack)(gateway.address, scale).expect("a connection");
        let hurt = victim.stop();
        settled(&upstream);
        let grown = machine::peak(gateway.id()).saturating_sub(held);
        // One is the question itself.
        let charged = (before - remaining(gateway.address)) - 1;
        let seen = self::asked(&upstream) - asked - 1;

        verdict.fact(format!("{} frames taken, {} streams opened", told.frames, told.streams));
        verdict.fact(format!("{seen} asked of the upstream, {charged} charged"));
        verdict.demand(charged >= seen, "a charge for each stream that reached the upstream");
        self.judge_end(&told, charged, &mut verdict);
        verdict.fact(format!("+{:.1} MiB", grown as f64 / 1024.0));
        verdict.demand(grown <= GROWTH, "at most 20 MiB more");
        verdict.demand(hurt.errors == 0, format!("no errors beside it, but {}", hurt.errors));
        if scale == Scale::Full {
            self.siege(gateway.address, &mut verdict);
            let grown = machine::peak(gateway.id()).saturating_sub(held);
            verdict.fact(format!("+{:.1} MiB in all", grown as f64 / 1024.0));
            verdict.demand(grown <= GROWTH, "at most 20 MiB more");
        }
        verdict
    }

    fn judge_end(&self, told: &Told, charged: u64, verdict: &mut Verdict) {
        let heard = &told.heard;
        match (self.end, heard.closed) {
            (End::Closed, Some(after)) => {
                let why = heard
                    .goodbye
                    .map_or("without a word".to_owned(), |why| format!("by code {why}"));
                verdict.fact(format!("closed {why} {} ms after the last frame", after.as_millis()));
            }
            (End::Closed, None) => verdict.demand(false, "the connection is closed"),
            (End::Refused(refused), _) => {
                let resets: u64 = heard.resets.values().sum();
                verdict.fact(format!("{resets} refused"));
                verdict.demand(resets == refused, format!("{refused} refused"));
                verdict.demand(charged == told.streams - refused, "the others charged");
            }
            (End::Charged, _) => {
                verdict
                    .demand(charged == told.streams, "each stream charged, and nothing given back");
            }
        }
    }

    /// The flood on two connections over and over, from processes that have less right to the
    /// machine than the gateway and its client; in turn with spans in which such processes take their
    /// share of it for nothing, as attackers elsewhere would not.
    fn siege(&self, address: SocketAddr, verdict: &mut Verdict) {
        // A little more, so that the span is whole.
        let span = victim::SPAN + Duration::from_millis(100);
        let seconds = (span.as_secs() + 1).to_string();
        let idler = ["--idler", &seconds];
        let attacker = ["--attacker", self.name, &address.to_string(), &seconds];
        let (mut quiet, mut hurt) = (Vec::new(), Vec::new());
        for _ in 0..SPANS {
            quiet.push(victim::beside(2, &idler, address, span));
            hurt.push(victim::beside(2, &attacker, address, span));
        }
        // Told, not judged: two of them, with the client and the upstream, ask two cores for more time
        // than there is.
        victim::tell(&quiet, &hurt, verdict);
    }
}

/// Answers by path; the victim and who counts charges are answered at once.
fn upstream() -> Upstream {
    let large =
        [b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n".to_vec(), vec![b'x'; 1 << 20]]
            .concat();
    Upstream::with(move |seen, stream| {
        let answer: &[u8] = match seen.what().trim_start_matches("GET ") {
            HELD => {
                // Until who asked has gone.
                let _ = stream.read(&mut [0]);
                return Keep::Closed;
            }
            LARGE => &large,
            _ => b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        };
        if stream.write_all(answer).is_ok() { Keep::Open } else { Keep::Closed }
    })
}

/// What is left of the budget that streams are charged to.
fn remaining(address: SocketAddr) -> u64 {
    let answer = Client::ask(address, "GET /attack/count HTTP/1.1\r\nHost: h\r\n\r\n");
    answer.header("x-ratelimit-remaining").unwrap().parse().unwrap()
}

/// How many requests under the limit the upstream has seen.
fn asked(upstream: &Upstream) -> u64 {
    let asked = upstream.asked();
    asked.iter().filter(|what| what.contains("/attack/")).count() as u64
}

/// Waits until nothing that was begun comes to the upstream any more.
fn settled(upstream: &Upstream) {
    let mut last = (Instant::now(), asked(upstream));
    until("the upstream is left alone", || {
        let now = asked(upstream);
        if now != last.1 {
            last = (Instant::now(), now);
        }
        (last.0.elapsed() > Duration::from_millis(200)).then_some(())
    });
}

fn session(address: SocketAddr) -> std::io::Result<Session> {
    Session::open(address, &[], Hears::All, SILENCE)
}

/// One that is expected to stay open.
fn lasting(address: SocketAddr) -> std::io::Result<Session> {
    Session::open(address, &[], Hears::All, Duration::from_secs(1))
}

fn ids(streams: u32) -> impl Iterator<Item = u32> {
    (0..streams).map(|nth| nth * 2 + 1)
}

fn cancel(id: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, id, &8u32.to_be_bytes())
}

fn rapid_reset(address: SocketAddr, scale: Scale) -> std::io::Result<Told> {
    pairs(address, scale, cancel)
}

/// The client breaks a rule in each stream, so that it is the server who resets it.
fn made_you_reset(
    address: SocketAddr,
    scale: Scale,
    broken: fn(u32) -> Vec<u8>,
) -> std::io::Result<Told> {
    pairs(address, scale, broken)
}

/// Requests, and behind each the frame that ends it.
fn pairs(address: SocketAddr, scale: Scale, ending: fn(u32) -> Vec<u8>) -> std::io::Result<Told> {
    let mut session = session(address)?;
    let pair = |id: &u32| {
        let head = frame(HEADERS, WHOLE, *id, &get(SHORT));
        session.send(&[head, ending(*id)].concat())
    };
    let streams = ids(scale.of(1_000, 3_000)).take_while(pair).count();
    Ok(Told { frames: streams * 2, streams: streams as u64, heard: session.end() })
}

/// Each stream is given up once the upstream works for it: no reset is rapid, all are expensive.
fn patient_reset(address: SocketAddr, scale: Scale) -> std::io::Result<Told> {
    let mut session = lasting(address)?;
    let (rounds, at_once) = (scale.of(3, 30), 50u32);
    let mut streams = 0;
    for round in 0..rounds {
        let ids: Vec<u32> = ids(at_once).map(|id| id + round * at_once * 2).collect();
        for id in &ids {
            session.send(&frame(HEADERS, WHOLE, *id, &get(HELD)));
            streams += 1;
        }
        // Long enough to be looked at and sent on; who counts charges finds out.
        std::thread::sleep(Duration::from_millis(300));
        for id in &ids {
            session.send(&cancel(*id));
        }
    }
    Ok(Told { frames: streams * 2, streams: streams as u64, heard: session.end() })
}

fn continuations(address: SocketAddr, scale: Scale) -> std::io::Result<Told> {
    let mut session = session(address)?;
    session.send(&frame(HEADERS, END_STREAM, 1, &get(SHORT)));
    // Each a header of its own, never indexed: what is bounded must not be the table.
    let part = frame(CONTINUATION, 0, 1, &[0x10, 1, b'x', 1, b'y'].repeat(20));
    let frames = session.flood(&part, scale.of(20_000, 100_000));
    Ok(Told { frames, streams: 1, heard: session.end() })
}

fn empty_data(address: SocketAddr, scale: Scale) -> std::io::Result<Told> {
    let mut session = session(address)?;
    session.send(&frame(HEADERS, END_HEADERS, 1, &get(SHORT)));
    let frames = session.flood(&frame(DATA, 0, 1, &[]), scale.of(100_000, 1_000_000));
    Ok(Told { frames, streams: 1, heard: session.end() })
}

/// Frames that ask for nothing.
fn control(address: SocketAddr, scale: Scale, hears: Hears, frame: &[u8]) -> std::io::Result<Told> {
    let mut session = Session::open(address, &[], hears, SILENCE)?;
    let frames = session.flood(frame, scale.of(100_000, 1_000_000));
    Ok(Told { frames, streams: 0, heard: session.end() })
}

/// One large header that is kept in the table, then named in one byte, again and again.
fn hpack_bomb(address: SocketAddr, scale: Scale) -> std::io::Result<Told> {
    let mut session = session(address)?;
    // `x`, kept, with a value of 4,000 bytes.
    let mut large = get(SHORT);
    large.extend([0x40, 1, b'x', 0x7f, 0xa1, 0x1e]);
    large.extend([b'y'; 4_000]);
    let mut frames = 0;
    for id in ids(scale.of(20, 1_000)) {
        let head = if id == 1 { large.clone() } else { get(SHORT) };
        let bomb = [head, vec![0xbe; 12_000]].concat();
        if !session.send(&frame(HEADERS, WHOLE, id, &bomb)) {
            break;
        }
        frames += 1;
    }
    Ok(Told { frames, streams: frames as u64, heard: session.end() })
}

/// A hundred large answers, and no window for any of them.
fn shut_window(address: SocketAddr, _: Scale) -> std::io::Result<Told> {
    let mut session = Session::open(address, &[0, 4, 0, 0, 0, 0], Hears::All, SILENCE)?;
    let heads = ids(100).map(|id| session.send(&frame(HEADERS, WHOLE, id, &get(LARGE))));
    let frames = heads.filter(|taken| *taken).count();
    Ok(Told { frames, streams: frames as u64, heard: session.end() })
}

/// More at once than the hundred that one connection may have.
fn many_streams(address: SocketAddr, streams: u32) -> std::io::Result<Told> {
    let mut session = lasting(address)?;
    let heads: Vec<u8> =
        ids(streams).flat_map(|id| frame(HEADERS, WHOLE, id, &get(HELD))).collect();
    session.send(&heads);
    let frames = streams as usize;
    Ok(Told { frames, streams: streams.into(), heard: session.end() })
}
