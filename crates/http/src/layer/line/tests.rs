use super::*;

fn enter(line: &Arc<Line>, micros: u64) -> Place {
    line.enter(Tick::from_micros(micros), Span::from_micros(micros))
}

#[tokio::test(start_paused = true)]
async fn a_turn_comes_on_time_and_never_earlier() {
    let line = Arc::default();
    let start = Instant::now();
    for micros in [1, 999, 1_000, 1_001, 2_500_000] {
        let began = Instant::now();
        enter(&line, micros).await;
        let waited = began.elapsed();
        assert!(waited >= Duration::from_micros(micros), "{waited:?} for {micros} µs");
        assert!(waited <= Duration::from_micros(micros + 1_000), "{waited:?} for {micros} µs");
    }
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn nothing_stays_in_the_line() {
    let line: Arc<Line> = Arc::default();
    let (gone, left) = (enter(&line, 5_000), enter(&line, 6_000));
    drop(left);
    gone.await;
    assert!(line.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn one_that_is_held_up_goes_as_soon_as_the_one_before_it_has_left() {
    let line = Arc::default();
    let (before, mut behind) = (enter(&line, 5_000), Box::pin(enter(&line, 5_001)));
    tokio::time::sleep(Duration::from_millis(7)).await;
    let mut context = Context::from_waker(Waker::noop());
    assert!(behind.as_mut().poll(&mut context).is_pending(), "its time has come, not its turn");
    let start = Instant::now();
    let behind = tokio::spawn(behind);
    tokio::task::yield_now().await;
    drop(before);
    behind.await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
}
