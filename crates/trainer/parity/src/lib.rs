//! The models of the trainer beside an independent implementation: tests alone.
