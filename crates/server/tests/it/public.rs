//! Public forms, in process and over sockets.

mod answers;
mod bodies;
mod cors;
mod edits;
mod going_away;
mod limits;
mod logs;
mod manual;
mod naughty;
mod page;
mod properties;
mod refused_writes;
mod repeats;
mod service;
mod sockets;
mod spam;
