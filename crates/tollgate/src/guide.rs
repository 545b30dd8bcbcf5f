//! The guide: choosing an algorithm, numbers and keys; plans in a database; proxies and headers; what several processes
//! admit together, and how they share one budget; calls to others.

// Pages name one another by labels. What a label means here stands before the page, since its first meaning
// counts; at the end of the page stands the file, for whoever reads the files.
#[doc = "[shared store]: crate::guide::shared_store"]
#[doc = include_str!("../docs/algorithms.md")]
pub mod algorithms {}

#[doc = include_str!("../docs/numbers.md")]
pub mod numbers {}

#[doc = include_str!("../docs/keys.md")]
pub mod keys {}

#[doc = include_str!("../docs/plans.md")]
pub mod plans {}

#[doc = "[shared store]: crate::guide::shared_store"]
#[doc = include_str!("../docs/several_processes.md")]
pub mod several_processes {}

#[doc = include_str!("../docs/shared_store.md")]
pub mod shared_store {}

#[cfg(feature = "http")]
#[doc = include_str!("../docs/proxies.md")]
pub mod proxies {}

#[doc = include_str!("../docs/headers.md")]
pub mod headers {}

#[doc = include_str!("../docs/replay.md")]
pub mod replay {}

#[doc = include_str!("../docs/tune.md")]
pub mod tune {}

#[cfg(feature = "outbound")]
#[doc = "[shared store]: crate::guide::shared_store"]
#[doc = include_str!("../docs/waiting.md")]
pub mod waiting {}

#[cfg(feature = "outbound")]
#[doc = include_str!("../docs/breakers.md")]
pub mod breakers {}

#[cfg(feature = "outbound")]
#[doc = "[without a layer]: crate::guide::breakers#without-a-layer"]
#[doc = include_str!("../docs/clients.md")]
pub mod clients {}

// The picture as a part of the page, before the page names the file.
#[cfg(feature = "outbound")]
#[doc = include_str!("../docs/overload.link")]
#[doc = include_str!("../docs/overload.md")]
pub mod overload {}

#[cfg(all(feature = "http", feature = "outbound"))]
#[doc = "[breakers]: crate::guide::breakers"]
#[doc = "[keys]: crate::guide::keys"]
#[doc = "[plans]: crate::guide::plans"]
#[doc = "[proxies]: crate::guide::proxies"]
#[doc = "[shared store]: crate::guide::shared_store"]
#[doc = "[waiting]: crate::guide::waiting"]
#[doc = include_str!("../docs/layers.md")]
pub mod layers {}
