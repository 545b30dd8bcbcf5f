//! What is replayed is what would have been decided live.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use http::{Request, Response, StatusCode};
use tollgate_core::{Decision, ManualClock, Span, Tick};
use tollgate_http::{Outcome as Live, RateLimitLayer, Refusal, User};
use tollgate_memory::Memory;
use tollgate_replay::{Outcome, ReplayOptions};
use tower::{Layer, ServiceExt, service_fn};

use crate::rig::{Folder, policy, replayed};

/// All rules, and much of what a limit may ask.
const LIMITS: &str = r#"
[allow]
path = ["/healthz"]

[deny]
client = ["192.0.2.66"]

[schedules.morning]
zone = "Asia/Kolkata"
hours = "00:00-15:50"

[[limit]]
name = "bucket"
rate = "20/minute"
burst = 5
by = ["client"]

[[limit]]
name = "windows"
rate = ["4/s", "100/hour"]
algorithm = "sliding-window"
by = ["user", "route"]

[[limit]]
name = "failures"
when = { method = "POST", path = "/login" }
rate = "3 per 10 minutes"
algorithm = "fixed-window"
count = "failures"

[[limit]]
name = "log"
when = { path = "/api/*" }
rate = "10/minute"
algorithm = "sliding-log"
by = ["header:x-api-key", "method"]
fallback = "refuse"

[[limit]]
name = "queue"
when = { path = "/slow/{id}" }
rate = "1/s"
algorithm = "leaky-bucket"
queue = 5

[[limit]]
name = "watched"
rate = "10/minute"
by = ["host"]
shadow = true

[[limit]]
name = "costly"
when = { query = { full = true } }
rate = "50/minute"
cost = 7
by = ["global"]

[[limit]]
name = "mornings"
when = { schedule = "morning", header = { user-agent = "curl/8" } }
rate = "5/minute"
by = ["path"]
"#;

/// A request of the sequence.
#[derive(Clone, Debug)]
struct Asked {
    at: Tick,
    client: IpAddr,
    user: Option<&'static str>,
    method: &'static str,
    target: &'static str,
    host: &'static str,
    key: Option<&'static str>,
    agent: &'static str,
    status: u16,
}

/// Requests by a generator that draws the same ones in each run.
fn sequence(count: usize) -> Vec<Asked> {
    let mut state = 7_u64;
    let mut draw = move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let clients =
        ["192.0.2.7", "192.0.2.8", "192.0.2.66", "2001:db8::1", "2001:db8::2", "10.9.8.7"];
    let targets = [
        "/",
        "/login",
        "/api/users?full=1",
        "/api//users/./7",
        "/api/%75sers?full=1&full=2",
        "/slow/1",
        "/slow/2;v=1",
        "/healthz",
        "/a%2fb",
        "/search?q=x+y&full",
        "http://example.com/api/users",
    ];
    let mut at = Tick::from_micros(1_431_857_103_000_000);
    (0..count)
        .map(|_| {
            at = at.after(Span::from_micros(draw(400) as u64 * 1_000 * draw(4) as u64));
            Asked {
                at,
                client: clients[draw(clients.len())].parse().unwrap(),
                user: [None, Some("ann"), Some("bob lee")][draw(3)],
                method: ["GET", "POST", "HEAD", "BREW"][draw(4)],
                target: targets[draw(targets.len())],
                host: ["example.com", "Shop.Example.com:443", "other.org."][draw(3)],
                key: [None, Some("k1"), Some("k2")][draw(3)],
                agent: ["curl/8", "Firefox"][draw(2)],
                status: [200, 401, 503][draw(3)],
            }
        })
        .collect()
}

/// The request as nginx would log it in JSON.
fn logged(asked: &Asked) -> String {
    let micros = asked.at.as_micros();
    let told = serde_json::json!({
        "msec": format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000),
        "remote_addr": asked.client,
        "remote_user": asked.user.unwrap_or_default(),
        "request": format!("{} {} HTTP/1.1", asked.method, asked.target),
        "http_host": asked.host,
        "http_user_agent": asked.agent,
        "http_x_api_key": asked.key.unwrap_or_default(),
        "status": asked.status,
    });
    format!("{told}\n")
}

fn request(asked: &Asked) -> Request<()> {
    let mut request = Request::builder()
        .method(asked.method)
        .uri(asked.target)
        .header("host", asked.host)
        .header("user-agent", asked.agent)
        .extension(SocketAddr::new(asked.client, 5_000));
    if let Some(user) = asked.user {
        request = request.extension(User(user.into()));
    }
    if let Some(key) = asked.key {
        request = request.header("x-api-key", key);
    }
    request.body(()).unwrap()
}

fn told(decision: &Decision<'_>) -> String {
    let answers = decision.answers();
    let answers = answers.map(|answer| {
        let (name, verdict, left) = (answer.limit().name(), answer.verdict(), answer.remaining());
        format!("{name} {verdict:?} {left}")
    });
    answers.collect::<Vec<_>>().join("; ")
}

/// What the layer makes of the requests.
async fn lived(sequence: &[Asked]) -> Vec<String> {
    let clock = ManualClock::default();
    let store = Arc::new(Memory::builder().clock(clock.clone()).build().unwrap());
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let observed = log.clone();
    let observe = move |outcome: &Live<'_>| {
        let line = match outcome {
            Live::Free => "free".to_owned(),
            Live::Passed(decision) => format!("passes {}", told(decision)),
            Live::Refused(Refusal::Limited(decision)) => format!("refused {}", told(decision)),
            Live::Refused(Refusal::Denied) => "forbidden".to_owned(),
            Live::Refused(Refusal::Keyless(refused)) => format!("keyless {}", refused.part),
            Live::Refused(Refusal::Unreadable(_)) => "unreadable".to_owned(),
            _ => return,
        };
        observed.lock().unwrap().push(line);
    };
    // What a service behind the limits answers to each request, in turn.
    let layer = RateLimitLayer::new(store, policy(LIMITS)).clock(clock.clone()).observe(observe);
    for asked in sequence {
        clock.set(asked.at);
        let statuses = Mutex::new(VecDeque::from([asked.status]));
        let statuses = Arc::new(statuses);
        let service = layer.layer(service_fn(move |_: Request<()>| {
            let status = statuses.lock().unwrap().pop_front().unwrap();
            let answer = Response::builder().status(StatusCode::from_u16(status).unwrap());
            async move { Ok::<_, Infallible>(answer.body(String::new()).unwrap()) }
        }));
        service.oneshot(request(asked)).await.unwrap();
    }
    log.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn what_is_replayed_is_what_is_decided_live() {
    let sequence = sequence(4_000);
    let folder = Folder::new();
    let log = folder.file("access.json", sequence.iter().map(logged).collect::<String>());
    let mut again = Vec::new();
    let replayed = replayed(LIMITS, vec![log], ReplayOptions::default(), |decided| {
        again.push(match &decided.outcome {
            Outcome::Free(_) | Outcome::Uncovered => "free".to_owned(),
            Outcome::Limited(decision) if decision.is_denied() => {
                format!("refused {}", told(decision))
            }
            Outcome::Limited(decision) => format!("passes {}", told(decision)),
            Outcome::Forbidden(_) => "forbidden".to_owned(),
            Outcome::Keyless(refused) => format!("keyless {}", refused.part),
            Outcome::Unreadable(_) => "unreadable".to_owned(),
            Outcome::Garbled => "garbled".to_owned(),
        });
    });
    assert_eq!(replayed.lacks, []);
    let lived = lived(&sequence).await;
    assert_eq!(lived.len(), sequence.len());
    for ((asked, lived), again) in sequence.iter().zip(&lived).zip(&again) {
        assert_eq!(again, lived, "{asked:?}");
    }
    // All that can become of a request is among them.
    for word in
        ["free", "forbidden", "keyless", "unreadable", "refused bucket", "Wait(", "watched Deny"]
    {
        assert!(lived.iter().any(|line| line.contains(word)), "nothing is {word}");
    }
}
