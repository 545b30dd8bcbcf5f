use tollgate_conformance::Random;
use tollgate_core::{Algorithm, Anchor, Limit, Queue, Quota, Span, Tick};
use tollgate_servers::{Client, Server, Value};

use super::*;

const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::TokenBucket,
    Algorithm::LeakyBucket(Queue::Length(3)),
    Algorithm::FixedWindow(Anchor::Spread),
    Algorithm::FixedWindow(Anchor::Clock),
    Algorithm::FixedWindow(Anchor::FirstHit),
    Algorithm::SlidingWindow,
];

fn run(client: &mut Client, request: &Request, now: u64) -> Value {
    let command = request.script.at(Tick::from_micros(now), &request.keys, &request.packed);
    let words: Vec<&[u8]> = command
        .args_iter()
        .map(|word| if let redis::Arg::Simple(word) = word { word } else { b"" })
        .collect();
    client.command(&words).unwrap()
}

fn two_clients(server: &Server) -> [Client; 2] {
    let mut clients = [server.client(), server.client()];
    clients[1].command(&["SELECT", "1"]).unwrap();
    clients
}

fn plain_scripts_do_what_all_others_do(server: &Server, steps: u64) {
    let mut clients = two_clients(server);
    let mut random = Random::of(11);
    let limits = ALGORITHMS.map(|algorithm| {
        let quota = Quota::new(4, Span::from_secs(60)).unwrap();
        let limit = Limit::builder("l", quota).algorithm(algorithm);
        limit.build().unwrap()
    });
    let mut now = 1_800_000_000_000_000;
    let (mut kept_keys, mut keys) = (0, 0);
    for step in 0..steps {
        now = match random.below(40) {
            0 => now + random.below(1 << 33),
            1 => now - random.below(1 << 29),
            _ => now + random.below(1 << 24),
        };
        let mut charges: Vec<Charge<'_, '_>> = Vec::new();
        for _ in 0..random.between(1, 4) {
            let charge = Charge::new(random.one_of(&limits), random.below(3));
            let known =
                |c: &Charge<'_, '_>| c.limit.id() == charge.limit.id() && c.key == charge.key;
            if !charges.iter().any(known) {
                charges.push(charge.cost(random.between(1, 5)));
            }
        }
        let question = Question::new(&Prefix::default(), &charges);
        let entries: Vec<&Entry> = question.entries.iter().collect();
        let plain = question.plain(Ask::Charge, None, &entries).unwrap();
        let other = question.general(Ask::Charge, None, &entries, Tick::EPOCH);
        assert_eq!(plain.keys, other.keys);
        if random.once_in(20) {
            let length = *random.one_of(&[0, 15, 16, 16, 16]);
            let bytes: Vec<u8> =
                (0..length).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
            for client in &mut clients {
                client.command(&[&b"SET"[..], plain.keys[0].as_bytes(), &bytes]).unwrap();
            }
        }
        let [ours, theirs] = &mut clients;
        let reply = run(ours, &plain, now);
        assert!(matches!(reply, Value::Bulk(_)), "{reply:?}");
        assert_eq!(reply, run(theirs, &other, now), "step {step}: {charges:?}");
        for key in &plain.keys {
            let kept = ours.command(&["GET", key]).unwrap();
            assert_eq!(kept, theirs.command(&["GET", key]).unwrap(), "step {step}: {charges:?}");
            let left =
                [&mut *ours, &mut *theirs].map(|client| client.command(&["PTTL", key]).unwrap());
            let [ours, theirs] = left.map(|left| left.integer().unwrap());
            assert!((ours - theirs).abs() < 15_000, "step {step}: {ours} and {theirs}");
            kept_keys += usize::from(kept != Value::Nil);
        }
        keys += plain.keys.len();
    }
    assert!(kept_keys * 2 > keys, "{kept_keys} of {keys}");
}

#[test]
fn plain_scripts_do_what_all_others_do_on_redis() {
    plain_scripts_do_what_all_others_do(&Server::redis().start(), 8_000);
}

#[test]
fn plain_scripts_do_what_all_others_do_on_valkey() {
    plain_scripts_do_what_all_others_do(&Server::valkey().start(), 8_000);
}
