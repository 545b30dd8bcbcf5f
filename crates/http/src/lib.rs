//! Who is asking, what to answer, and the tower layer.
