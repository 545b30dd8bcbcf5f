//! Charges that are settled when the answer tells the cost.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Future, pending};
use std::num::NonZeroU64;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use tollgate_http::{Outcome, RateLimitLayer, Responder, Spent};
use tollgate_policy::{LimitSpec, Measure, Settlement};
use tower::{Layer, ServiceExt, service_fn};

use crate::rig::{Answer, Rig, bucket, get, window, with};

/// A body in pieces, with a trailer behind them or a fault.
#[derive(Default)]
struct Pieces {
    pieces: VecDeque<Bytes>,
    trailers: Option<HeaderMap>,
    fault: Option<Infallible>,
    hangs: bool,
}

fn pieces<const N: usize>(pieces: [&'static str; N]) -> Pieces {
    Pieces { pieces: pieces.map(|piece| Bytes::from(piece.as_bytes())).into(), ..Pieces::default() }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match (self.pieces.pop_front(), self.trailers.take(), self.hangs) {
            (Some(piece), trailers, _) => {
                self.trailers = trailers;
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            (None, _, true) => Poll::Pending,
            (None, Some(trailers), _) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            (None, None, _) => Poll::Ready(self.fault.take().map(Err)),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty() && self.trailers.is_none() && !self.hangs
    }

    fn size_hint(&self) -> SizeHint {
        let length: usize = self.pieces.iter().map(Bytes::len).sum();
        SizeHint::with_exact(length.try_into().unwrap())
    }
}

fn by_header(estimate: u64, most: u64) -> Settlement {
    Settlement::new(Measure::Header("x-tokens-used".into()), estimate, most).unwrap()
}

fn by_json(estimate: u64) -> Settlement {
    let path = ["usage", "total_tokens"].map(Box::from).to_vec();
    Settlement::new(Measure::Json(path), estimate, 10_000).unwrap()
}

fn by_kibibytes(estimate: u64) -> Settlement {
    Settlement::new(Measure::Bytes(NonZeroU64::new(1_024).unwrap()), estimate, 10_000).unwrap()
}

/// 10,000 tokens in the minute that the clock stands in.
fn tokens(settlement: Settlement) -> LimitSpec {
    window("tokens", "10000 per minute").settle(settlement)
}

/// What was told of settlements, in words.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn on(&self, layer: RateLimitLayer) -> RateLimitLayer {
        let told = self.0.clone();
        layer.observe(move |outcome| {
            told.lock().unwrap().push(match outcome {
                Outcome::Settled { limit, estimate, cost } => {
                    format!("{}: {estimate} is {cost}", limit.name())
                }
                Outcome::Estimated(limit, why) => format!("{}: {why:?}", limit.name()),
                Outcome::GivenBack(limit) => format!("{}: given back", limit.name()),
                Outcome::Kept(limit, _) => format!("{}: kept", limit.name()),
                _ => return,
            });
        })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// One request to a service that answers with this.
async fn answered<B>(
    layer: &RateLimitLayer,
    answer: Response<B>,
) -> Response<tollgate_http::Body<B>>
where
    B: Send + 'static,
{
    let answer = Arc::new(Mutex::new(Some(answer)));
    let service = layer.layer(service_fn(move |_: Request<()>| {
        let answer = answer.lock().unwrap().take().unwrap();
        async { Ok::<_, Infallible>(answer) }
    }));
    service.oneshot(get()).await.unwrap()
}

/// What is charged by now.
async fn charged(layer: &RateLimitLayer) -> u64 {
    for _ in 0..5 {
        tokio::task::yield_now().await;
    }
    let next = get();
    let told = layer.peek(&next, |preview| {
        let decision = preview.decision.unwrap();
        let answer = decision.answers().next().unwrap();
        (answer.limit().capacity(), answer.remaining())
    });
    let (capacity, left) = told.await.unwrap();
    let cost = layer.policy().limits().next().unwrap().settlement().unwrap().estimate();
    capacity - left - cost
}

fn head(name: &'static str, value: &'static str) -> Response<Pieces> {
    Response::builder().header(name, value).body(Pieces::default()).unwrap()
}

#[tokio::test]
async fn the_estimate_is_charged_first_and_then_what_a_header_says() {
    let told = Told::default();
    let layer = told.on(Rig::new().layer([tokens(by_header(500, 4_000))]));
    let mut sum = 0;
    for (says, cost) in [("20", 20), ("0", 0), (" 700 ", 700), ("9999999999999999999999", 4_000)] {
        answered(&layer, head("x-tokens-used", says)).await;
        sum += cost;
        assert_eq!(charged(&layer).await, sum, "{says}");
        assert_eq!(told.take(), [format!("tokens: 500 is {cost}")]);
    }
}

#[tokio::test]
async fn a_header_that_tells_no_number_leaves_the_estimate_and_is_counted() {
    let told = Told::default();
    let layer = told.on(Rig::new().layer([tokens(by_header(500, 4_000))]));
    for says in ["", "-1", "1.5", "1e3", "+7", "12 tokens", "0x10", "１"] {
        let mut answer = Response::new(Pieces::default());
        answer.headers_mut().insert("x-tokens-used", says.parse().unwrap());
        answered(&layer, answer).await;
        assert_eq!(told.take(), ["tokens: Unreadable"], "{says}");
    }
    let twice = Response::builder().header("x-tokens-used", "1").header("x-tokens-used", "1");
    answered(&layer, twice.body(Pieces::default()).unwrap()).await;
    assert_eq!(told.take(), ["tokens: Unreadable"]);
    answered(&layer, head("x-other", "1")).await;
    assert_eq!(told.take(), ["tokens: Missing"]);
    assert_eq!(charged(&layer).await, 10 * 500);
}

#[tokio::test]
async fn more_than_estimated_is_owed_and_refuses_the_next() {
    let layer = Rig::new().layer([tokens(by_header(10, 100_000))]);
    answered(&layer, head("x-tokens-used", "15000")).await;
    let service = layer.layer(service_fn(|_: Request<()>| async {
        Ok::<Answer, Infallible>(Response::default())
    }));
    assert_eq!(service.oneshot(get()).await.unwrap().status(), 429);
}

#[tokio::test]
async fn a_field_of_json_is_found_however_the_body_is_cut_and_the_body_is_unchanged() {
    let text =
        r#"{"choices":[{"text":"{\"usage\":{\"total_tokens\":1}}"}],"usage":{"total_tokens":42}}"#;
    for cut in 0..text.len() {
        let layer = Rig::new().layer([tokens(by_json(500))]);
        let (first, second) = text.split_at(cut);
        let answer = Response::builder().header("content-type", "application/json");
        let answer = answered(&layer, answer.body(pieces([first, second])).unwrap()).await;
        assert_eq!(answer.body().size_hint().exact(), text.len().try_into().ok());
        assert_eq!(charged(&layer).await, 500, "until the body has passed");
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, text);
        assert_eq!(charged(&layer).await, 42, "{cut}");
    }
}

#[tokio::test]
async fn of_server_sent_events_the_last_one_that_has_the_field_counts() {
    let told = Told::default();
    let layer = told.on(Rig::new().layer([tokens(by_json(500))]));
    let events = pieces([
        "data: {\"choices\":[],\"usage\":null}\n\nevent: x\ndata: {\"usage\":{\"total_to",
        "kens\":7}}\r\n\r\n: a comment\ndata:{\"usage\":\ndata: {\"total_tokens\":9}}\n\n",
        "dat: {\"usage\":{\"total_tokens\":1}}\n\ndata: {\"usage\":null}\n\ndata: [DONE]\n\n",
    ]);
    let answer = Response::builder().header("content-type", "text/event-stream; charset=utf-8");
    let answer = answered(&layer, answer.body(events).unwrap()).await;
    answer.into_body().collect().await.unwrap();
    assert_eq!(charged(&layer).await, 9);
    assert_eq!(told.take(), ["tokens: 500 is 9"]);
}

#[tokio::test]
async fn a_body_that_tells_nothing_leaves_the_estimate_and_is_counted() {
    let json = "application/json";
    let cases = [
        (json, "", r#"{"usage":{"prompt_tokens":3}}"#, "Missing"),
        (json, "", r#"{"total_tokens":3}"#, "Missing"),
        (json, "", r#"[{"usage":{"total_tokens":3}}]"#, "Missing"),
        (json, "", r#"{"usage":{"total_tokens":null}}"#, "Missing"),
        (json, "", "not json", "Missing"),
        (json, "", r#"{"usage":{"total_tokens":"3"}}"#, "Unreadable"),
        (json, "", r#"{"usage":{"total_tokens":-3}}"#, "Unreadable"),
        (json, "", r#"{"usage":{"total_tokens":3.5}}"#, "Unreadable"),
        (json, "", r#"{"usage":{"total_tokens":{}}}"#, "Unreadable"),
        (json, "gzip", r#"{"usage":{"total_tokens":3}}"#, "Unreadable"),
        ("text/html", "", r#"{"usage":{"total_tokens":3}}"#, "Missing"),
    ];
    for (media_type, encoding, body, why) in cases {
        let told = Told::default();
        let layer = told.on(Rig::new().layer([tokens(by_json(500))]));
        let mut answer = Response::builder().header("content-type", media_type);
        if !encoding.is_empty() {
            answer = answer.header("content-encoding", encoding);
        }
        let answer = answered(&layer, answer.body(pieces([body])).unwrap()).await;
        answer.into_body().collect().await.unwrap();
        assert_eq!(told.take(), [format!("tokens: {why}")], "{body}");
        assert_eq!(charged(&layer).await, 500, "{body}");
    }
}

#[tokio::test]
async fn bytes_are_counted_as_they_pass_and_the_trailers_too() {
    let told = Told::default();
    let layer = told.on(Rig::new().layer([tokens(by_kibibytes(3))]));
    let mut body = pieces(["", "a"]);
    body.pieces.push_back(Bytes::from(vec![b'x'; 2_048]));
    body.trailers = Some([("x-sum".parse().unwrap(), "1".parse().unwrap())].into_iter().collect());
    let answer = answered(&layer, Response::new(body)).await;
    let whole = answer.into_body().collect().await.unwrap();
    assert_eq!(whole.trailers().unwrap()["x-sum"], "1");
    assert_eq!(whole.to_bytes().len(), 2_049);
    assert_eq!(charged(&layer).await, 3);
    assert_eq!(told.take(), ["tokens: 3 is 3"]);
    answered(&layer, Response::new(Pieces::default())).await.into_body().collect().await.unwrap();
    assert_eq!(charged(&layer).await, 3, "an answer without a body costs nothing");
}

#[tokio::test]
async fn a_client_that_leaves_midway_is_charged_what_was_sent() {
    let told = Told::default();
    let layer = told.on(Rig::new().layer([tokens(by_kibibytes(9))]));
    let mut body = Pieces { hangs: true, ..Pieces::default() };
    body.pieces.push_back(Bytes::from(vec![b'x'; 1_500]));
    body.pieces.push_back(Bytes::from(vec![b'x'; 1_500]));
    let mut answer = answered(&layer, Response::new(body)).await.into_body();
    answer.frame().await.unwrap().unwrap();
    drop(answer);
    assert_eq!(charged(&layer).await, 2);
    assert_eq!(told.take(), ["tokens: 9 is 2"]);
}

#[tokio::test]
async fn what_was_told_before_the_client_left_counts_and_else_the_estimate_stays() {
    for (sent, cost, outcome) in [
        ("data: {\"usage\":{\"total_tokens\":7}}\n\n", 7, "tokens: 500 is 7"),
        ("data: {\"usage\":{\"total_tok", 500, "tokens: Cut"),
    ] {
        let told = Told::default();
        let layer = told.on(Rig::new().layer([tokens(by_json(500))]));
        let body = Pieces { hangs: true, ..pieces([sent]) };
        let answer = Response::builder().header("content-type", "text/event-stream");
        let mut answer = answered(&layer, answer.body(body).unwrap()).await.into_body();
        answer.frame().await.unwrap().unwrap();
        drop(answer);
        assert_eq!(charged(&layer).await, cost);
        assert_eq!(told.take(), [outcome]);
    }
}

#[tokio::test]
async fn without_an_answer_the_estimate_stays() {
    let told = Told::default();
    let layer = told.on(Rig::new().layer([tokens(by_header(500, 4_000))]));
    let failing =
        layer.layer(service_fn(|_: Request<()>| async { Err::<Answer, _>("the service's own") }));
    failing.oneshot(get()).await.unwrap_err();
    let panicking = layer.layer(service_fn(|_: Request<()>| async {
        if true {
            panic!("the handler's own");
        }
        Ok::<Answer, Infallible>(Response::default())
    }));
    tokio::spawn(panicking.oneshot(get())).await.unwrap_err();
    let hanging = layer.layer(service_fn(|_: Request<()>| pending::<Result<Answer, ()>>()));
    let mut left = Box::pin(hanging.oneshot(get()));
    assert!(left.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_pending());
    // What the store is asked has to come first where it is awaited.
    tokio::task::yield_now().await;
    drop(left);
    assert_eq!(told.take(), ["tokens: Cut"; 3]);
    assert_eq!(charged(&layer).await, 3 * 500);
}

#[tokio::test]
async fn what_the_service_itself_says_goes_first() {
    let layer = Rig::new().layer([tokens(by_header(500, 4_000))]);
    let mut answer = head("x-tokens-used", "900");
    answer.extensions_mut().insert(Spent(30));
    answered(&layer, answer).await;
    assert_eq!(charged(&layer).await, 30);
}

#[tokio::test]
async fn only_the_limits_that_settle_do_and_each_takes_its_own_measure() {
    let told = Told::default();
    let bytes = bucket("bytes", "100 per minute").settle(by_kibibytes(5));
    let layer =
        told.on(Rig::new().layer([tokens(by_header(500, 4_000)), bytes, bucket("all", "9/s")]));
    let answer = Response::builder().header("x-tokens-used", "20").body(pieces(["hello"])).unwrap();
    answered(&layer, answer).await.into_body().collect().await.unwrap();
    assert_eq!(charged(&layer).await, 20);
    assert_eq!(told.take(), ["tokens: 500 is 20", "bytes: 5 is 1"]);
}

#[tokio::test]
async fn a_body_that_is_read_for_a_field_is_asked_for_whole_and_plain() {
    let seen = |settlement| async move {
        let layer = Rig::new().layer([tokens(settlement)]);
        let service = layer.layer(service_fn(|request: Request<()>| async move {
            let answer = Response::builder().extension(request.headers().clone());
            Ok::<_, Infallible>(answer.body(Pieces::default()).unwrap())
        }));
        let asked = with(with(get(), "accept-encoding", "gzip"), "range", "bytes=0-9");
        let answer = service.oneshot(asked).await.unwrap();
        let headers = answer.extensions().get::<HeaderMap>().unwrap();
        (headers.get("accept-encoding").cloned(), headers.get("range").cloned())
    };
    assert_eq!(seen(by_json(1)).await, (Some("identity".parse().unwrap()), None));
    let unchanged = (Some("gzip".parse().unwrap()), Some("bytes=0-9".parse().unwrap()));
    assert_eq!(seen(by_header(1, 1)).await, unchanged);
}

#[tokio::test]
async fn the_header_that_tells_the_cost_can_be_kept_from_clients() {
    let rig = Rig::new();
    let layer = rig.layer([tokens(by_header(500, 4_000))]);
    let answer = answered(&layer, head("x-tokens-used", "20")).await;
    assert_eq!(answer.headers()["x-tokens-used"], "20");
    let hiding = || Responder::default().hide_costs();
    let layer = rig.layer([tokens(by_header(500, 4_000))]).responder(hiding());
    let answer = answered(&layer, head("x-tokens-used", "20")).await;
    assert!(!answer.headers().contains_key("x-tokens-used"));
    assert_eq!(charged(&layer).await, 40);
    let elsewhere = tokens(by_header(500, 4_000)).when("/elsewhere".parse().unwrap());
    let answer =
        answered(&rig.layer([elsewhere]).responder(hiding()), head("x-tokens-used", "20")).await;
    assert!(!answer.headers().contains_key("x-tokens-used"), "also where no limit applies");
}

#[tokio::test]
async fn a_store_that_is_away_keeps_the_estimate_and_the_answer() {
    let store = Arc::into_inner(Rig::new().store).map(crate::rig::Alone).unwrap();
    let policy = tollgate_policy::Policy::builder().limit(tokens(by_header(500, 4_000)));
    let layer = RateLimitLayer::new(Arc::new(store), policy.build().unwrap());
    let told = Told::default();
    let answer = answered(&told.on(layer), head("x-tokens-used", "20")).await;
    assert_eq!((answer.status().as_u16(), told.take()), (200, vec!["tokens: kept".to_owned()]));
}
