//! One budget for several processes, kept in Redis or Valkey.
//!
//! A limiter over it is one line more than one in memory, and its calls are awaited:
//!
//! ```no_run
//! use std::sync::Arc;
//! use tollgate::redis::Redis;
//! use tollgate::{Limit, Limiter, Memory, OnError, Store};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let redis = Redis::builder("redis://127.0.0.1".parse()?).fallback(Arc::new(Memory::new()));
//! let store: Arc<dyn Store> = Arc::new(redis.start());
//! let login = Limit::builder("login", "5 per 15 minutes".parse()?).on_error(OnError::Deny);
//! let limiter = Limiter::over(store, [login.build()?]);
//!
//! match limiter.check("ann").await {
//!     Ok(decision) if decision.is_allowed() => println!("{} left", decision.remaining()),
//!     Ok(decision) => println!("wait {:?}", decision.retry_after()),
//!     Err(error) => println!("nobody can tell: {error}"), // no refusal: answer 503
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The store connects in the background, and until it has, decides as without a server: who must not start
//! like that awaits [`Redis::connected`] first. A decision waits for its deadline at most. The fallback decides
//! while no server can be asked, by this process's share of each limit; it must serve nothing else.
//! [`guide::shared_store`](crate::guide::shared_store) says when to share and what is guaranteed.

pub use tollgate_redis::*;
