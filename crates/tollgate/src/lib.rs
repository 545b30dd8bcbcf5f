//! Rate limiting from a function call to a fleet.
