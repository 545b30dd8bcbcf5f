//! The oracle: laws, exact reference models and traces that every rule and store must pass.
