//! Which limits apply to which request, from a config file.
