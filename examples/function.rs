//! A function that may be called ten times a minute per user: `cargo run --example function`.

use tollgate::{Limit, Limiter};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter: Limiter = Limiter::new([Limit::new("greetings", "10/minute burst 3".parse()?)?]);

    for _ in 0..5 {
        let decision = limiter.check("ada");
        match decision.retry_after() {
            None => println!("hello, ada ({} left)", decision.remaining()),
            Some(wait) => println!("not now, ada: try again in {} s", wait.as_secs_ceil()),
        }
    }
    Ok(())
}
