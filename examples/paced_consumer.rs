//! A consumer of messages that hands them on evenly, however they come: twenty a second, one by one,
//! as a leaky bucket lets them.
//!
//! `cargo run -p tollgate --example paced_consumer --features outbound`

use std::error::Error;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tollgate::outbound::Throttle;
use tollgate::{Algorithm, Limit, Limiter, Queue};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // A message may be charged up to four turns ahead, and then waits for its own.
    let pace = Limit::builder("mail", "20/s".parse()?)
        .algorithm(Algorithm::LeakyBucket(Queue::Length(4)))
        .build()?;
    let limiter: Limiter = Limiter::new([pace]);
    let throttle = Throttle::over(limiter);

    // All at once, into a queue that holds ten: who sends waits when it is full.
    let (sender, mut messages) = mpsc::channel(10);
    tokio::spawn(async move {
        for number in 0..30 {
            if sender.send(number).await.is_err() {
                return;
            }
        }
    });

    let begun = Instant::now();
    let (mut handled, mut last, mut shortest, mut longest) = (0, None, f64::MAX, 0.0_f64);
    while let Some(message) = messages.recv().await {
        let _permit = throttle.acquire("mail server", 1).await?;
        let now = begun.elapsed().as_secs_f64() * 1e3;
        if let Some(last) = last.replace(now) {
            (shortest, longest) = (shortest.min(now - last), longest.max(now - last));
        }
        handle(message);
        handled += 1;
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("{handled} messages in {seconds:.2} s, {shortest:.0} to {longest:.0} ms apart");
    Ok(())
}

fn handle(_message: u32) {}
