//! The in-process store: bounded, sharded, and it forgets what is idle.
