//! What becomes of a call that comes when as many wait as may.

/// Who gives way when as many calls of a key wait as may.
///
/// ```
/// use tollgate_outbound::{Full, Throttle};
/// let throttle = Throttle::builder().max_in_flight(4).max_waiting(100).when_full(Full::DropLowest);
/// # drop(throttle.build());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Full {
    /// The new call is refused.
    #[default]
    Refuse,
    /// The call that has waited longest is dropped, whatever its priority.
    DropOldest,
    /// A call of the lowest priority is dropped, the newest of them; the new call itself is refused if
    /// none is below it.
    DropLowest,
    /// The new call is held until there is a place for it. Those that are held come in by the order in
    /// which they came, and their number has no bound but that of the callers.
    Hold,
}
