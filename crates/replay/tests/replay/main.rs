//! Logs read and replayed, from files to what is told of them.

mod allocations;
mod limits;
mod live;
mod rig;
mod sample;
mod sources;
