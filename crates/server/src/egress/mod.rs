//! Deliveries go out through here: which addresses they may reach, and the HTTP client that takes
//! them there.
//!
//! An endpoint's URL is a stranger's: it may name this machine, its neighbours, or a service that
//! hands out credentials. What a URL may say is decided by [`EndpointUrl`], where a connection may go
//! by [`EgressPolicy`], on the address itself and again for every connection, since a name can
//! resolve to something else each time. [`DeliveryClient`] does the I/O.

mod address;
mod allow_entry;
mod attempt;
mod client;
mod connect;
mod endpoint_url;
mod failure;
mod policy;
mod resolve;
mod response_body;
#[cfg(test)]
mod samples;
mod stream;
mod tls;

pub use address::{ADDRESS_RANGES, AddressClass, AddressRange, METADATA_SERVICES, MetadataService};
pub use allow_entry::{AllowEntry, AllowEntryError};
pub use attempt::Phase;
pub use client::{ClientOptions, DeliveryClient, DeliveryRequest, DeliveryResponse};
pub use endpoint_url::{EndpointUrl, EndpointUrlError, Origin};
pub use failure::{DeliveryFailure, FailureCode};
pub use policy::{Denied, EgressPolicy};
pub use resolve::{Resolve, Resolved, SystemResolver};
pub use response_body::{BodyEnd, SNIPPET_MAX};
pub use tls::{ExtraRoots, ExtraRootsError};
