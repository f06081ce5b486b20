//! Faults on demand: a service that fails in the ways services fail, for whoever writes a client or a
//! webhook receiver. For sandboxes and tests; nothing of it is in a server that is built without the
//! feature `faults`.
//!
//! | Question | File |
//! |---|---|
//! | which faults there are | `table` |
//! | what a fault's value looks like | `value`, `setting` |
//! | which are set now, and whom they meet | `handle` |
//! | what they do to the REST API | `api`, `page` |
//! | what they do to deliveries | `delivery` |
//! | how they are set at run time, and by whom | `control`, `local` |
//!
//! Nothing here is random: a fault that meets some of the requests meets the same ones every time,
//! counted from when it was set.
//!
//! ```no_run
//! # async fn demo(store: std::sync::Arc<dyn formsvc_server::store::Store>)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! use formsvc_server::faults::Faults;
//! use formsvc_server::serve::{ServeOptions, Server};
//! let faults = Faults::new();
//! faults.set("errors=25%".parse()?);
//! let options = ServeOptions::default();
//! let running = Server::bind_with(options, store, |router| faults.around(router)).await?;
//! # Ok(())
//! # }
//! ```

mod api;
mod control;
mod delivery;
mod handle;
mod local;
mod page;
mod setting;
mod table;
mod value;

pub use control::CONTROL;
pub use handle::Faults;
pub use setting::{FaultError, FaultSetting};
pub use table::{FAULTS, Fault, FaultRow, FaultSide};
pub use value::{FaultValue, Grammar};
