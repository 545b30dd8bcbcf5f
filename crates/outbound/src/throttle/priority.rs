//! Who goes first.

/// How urgent a call is: a head start in time, so that nobody waits for ever.
///
/// Each level is worth one head start of the throttle (a second unless built otherwise): a call of
/// level 2 goes before one of level 0 that came up to two head starts before it, and after all that
/// came earlier. Equal levels go in the order they came.
///
/// ```
/// use tollgate_outbound::Priority;
/// assert!(Priority::LOW < Priority::level(-1) && Priority::level(1) < Priority::HIGH);
/// assert_eq!(Priority::default(), Priority::NORMAL);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority(i8);

impl Priority {
    /// Five head starts behind.
    pub const LOW: Priority = Priority(-5);
    /// Neither ahead nor behind.
    pub const NORMAL: Priority = Priority(0);
    /// Five head starts ahead.
    pub const HIGH: Priority = Priority(5);

    /// A level of -128 to 127; 0 is [`Priority::NORMAL`], higher goes first.
    #[must_use]
    pub const fn level(level: i8) -> Priority {
        Priority(level)
    }

    pub(super) fn levels(self) -> i64 {
        self.0.into()
    }
}
