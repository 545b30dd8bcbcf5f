//! Runnable examples; see the files beside `src`.
