//! WebSockets inside the process: the two ends of a pair, the objects by which JavaScript holds them, the sockets that a cell
//! parks while it is not in memory, and the connection on the wire.
//!
//! A socket is always one end of an in-memory pair. Whoever holds the other end, a handler, a cell on another shard or the task
//! that drives a public connection, is the same to it. Invariant: nothing here knows what an event is.

mod channel;
mod extension;
mod frame;
pub(crate) mod handshake;
mod object;
mod ops;
mod park_ops;
pub(crate) mod parked;
pub(crate) mod wire;

pub(crate) use channel::Lines;
pub use channel::{SendError, SocketEnd, pair};
pub use extension::celld_socket;
pub use frame::{Close, Frame};
pub use object::UpgradeSlot;
pub(crate) use object::{Socket, SocketResource};
pub(crate) use ops::{OpenSockets, Received};
