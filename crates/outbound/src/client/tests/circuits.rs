//! Calls that wait when the circuit of their host opens.

use super::*;
use crate::breaker::{Breaker, BreakerLayer, Breakers, Mode, Status};

const HOST: &str = "api.example";

fn breakers() -> Breakers {
    let second = Span::SECOND;
    Breakers::new(Breaker::default().opens_after(1).blocks_for(second, second).closes_after(1))
}

/// Five calls at once of which one may be underway, and what became of them.
async fn five(layer: ClientLayer, breakers: &Breakers, server: &Server) -> Vec<Result<u16, bool>> {
    let throttle = Throttle::builder().max_in_flight(1).build();
    let client = layer.throttle(throttle.clone()).layer(server.clone());
    let client = BreakerLayer::new(breakers.clone()).layer(client);
    let calls = (0..5).map(|_| tokio::spawn(client.clone().oneshot(get())));
    let mut came = Vec::new();
    for call in calls.collect::<Vec<_>>() {
        let answer = call.await.unwrap().map(|answer| answer.status().as_u16());
        came.push(answer.map_err(|error| match error.flatten() {
            CallError::NotMade(why) => why.is_open(),
            CallError::Failed(_) => false,
        }));
    }
    assert_eq!((throttle.stats().waiting, throttle.stats().in_flight), (0, 0));
    came
}

#[tokio::test(start_paused = true)]
async fn who_waits_when_the_circuit_opens_is_turned_away_at_once() {
    let (breakers, began) = (breakers(), Instant::now());
    let server = Server::always((503, Vec::new())).taking(Duration::from_secs(3));
    let layer = ClientLayer::new().circuits(breakers.clone());
    let came = five(layer.clone(), &breakers, &server).await;
    assert_eq!(came, [Ok(503), Err(true), Err(true), Err(true), Err(true)]);
    assert_eq!((server.tries(), began.elapsed().as_secs()), (1, 3));
    // Who comes while it is open is turned away as well, and a probe goes through when it is due.
    let client = BreakerLayer::new(breakers.clone()).layer(layer.layer(Server::default()));
    assert!(
        client.clone().oneshot(get()).await.unwrap_err().flatten().to_string().contains("open")
    );
    sleep(Duration::from_secs(2)).await;
    assert!(client.clone().oneshot(get()).await.is_ok());
    assert_eq!(breakers.status(HOST), Status::Closed);
}

#[tokio::test(start_paused = true)]
async fn who_waits_goes_on_when_another_circuit_opens_or_one_that_only_watches() {
    let server = Server::always((503, Vec::new())).taking(Duration::from_secs(3));
    let (breakers, others) = (breakers(), breakers());
    breakers.set_mode(HOST, Mode::Shadow);
    let layer = ClientLayer::new().circuits(breakers.clone());
    assert_eq!(five(layer, &breakers, &server).await, [Ok(503); 5]);
    assert_eq!(breakers.status(HOST), Status::Open);
    let opened = others.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(1)).await;
        opened.enter("other.example").unwrap().fault();
    });
    let layer = ClientLayer::new().circuits(others.clone());
    let (around, server) = (self::breakers(), Server::default().taking(Duration::from_secs(3)));
    assert_eq!(five(layer, &around, &server).await, [Ok(200); 5]);
    assert_eq!(others.status("other.example"), Status::Open);
}

#[tokio::test(start_paused = true)]
async fn no_call_is_tried_again_while_its_circuit_is_open() {
    let breakers = breakers();
    let server = Server::always((503, Vec::new()));
    let layer = ClientLayer::new().circuits(breakers.clone()).retry(Retry::default());
    let waiting = tokio::spawn({
        let (layer, server) = (layer.clone(), server.clone());
        async move { call(&layer, &server, get()).await.map(|answer| answer.status()) }
    });
    yield_now().await;
    breakers.enter(HOST).unwrap().fault();
    let Err(CallError::Failed(why)) = waiting.await.unwrap() else {
        panic!("it is not tried again")
    };
    assert!(why.get().downcast_ref::<crate::Error>().unwrap().is_open());
    assert_eq!(server.tries(), 1);
}
