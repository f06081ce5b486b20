//! Imports of an upper layer that the server still has. The list may only shrink:
//! remove a row when its import is gone, and add none.

/// A file, and the module of an upper or the same layer that it imports.
pub(super) const UPWARD: &[(&str, &str)] = &[
    ("crates/server/src/admin/forms.rs", "public"),
    ("crates/server/src/api/edge.rs", "dashboard"),
    ("crates/server/src/api/edge.rs", "public"),
    ("crates/server/src/metrics/counts.rs", "delivery"),
    ("crates/server/src/metrics/label.rs", "delivery"),
    ("crates/server/src/metrics/route.rs", "api"),
    ("crates/server/src/public/client.rs", "serve"),
    ("crates/server/src/response_budget.rs", "api"),
    ("crates/server/src/store/contract/data.rs", "admin"),
    ("crates/server/src/store/contract/deliveries.rs", "admin"),
    ("crates/server/src/store/contract/forms.rs", "admin"),
    ("crates/server/src/store/contract/keys.rs", "admin"),
    ("crates/server/src/store/contract/links.rs", "admin"),
    ("crates/server/src/store/contract/prune.rs", "admin"),
    ("crates/server/src/store/contract/removals.rs", "admin"),
    ("crates/server/src/store/contract/repeats.rs", "admin"),
    ("crates/server/src/store/contract/spam.rs", "admin"),
    ("crates/server/src/store/contract/staging.rs", "admin"),
    ("crates/server/src/store/contract/worker.rs", "admin"),
    ("crates/server/src/store/contract/world.rs", "admin"),
    ("crates/server/src/store/postgres/calls.rs", "admin"),
    ("crates/server/src/store/postgres/copy.rs", "copy"),
    ("crates/server/src/store/postgres/schema.rs", "copy"),
    ("crates/server/src/store/postgres/store.rs", "admin"),
    ("crates/server/src/store/sqlite/copy.rs", "copy"),
    ("crates/server/src/store/sqlite/schema.rs", "copy"),
    ("crates/server/src/store/sqlite/store.rs", "admin"),
];
