//! What any store must keep.
