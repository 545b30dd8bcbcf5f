//! `tollgate schema`: what a file of limits may say, as a JSON schema.

/// The schema (draft 2020-12). It is written by hand, and tests hold it to what is read.
pub(crate) const TEXT: &str = include_str!("schema.json");

#[cfg(test)]
mod tests;
