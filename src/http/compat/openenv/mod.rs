//! The OpenEnv mount: every environment as a server of OpenEnv, at `/openenv/{family}/{name}`, and at
//! `/openenv/{family}/{name}/t/{key}` for clients that send no headers. docs/openenv.md says what holds.

mod action;
mod arguments;
mod beginning;
mod conclusion;
mod frame;
mod observation;
mod path_key;
mod peer;
mod player;
mod refusal;
mod rest;
mod rpc;
mod schema;
mod seats;
mod socket;
mod tasks;

use crate::http::route::{Table, routes};
pub(crate) use path_key::guard_by_path;
pub(crate) use seats::Seats;

/// Where an environment is mounted.
pub(crate) const PATH: &str = "/openenv/{family}/{name}";
/// The same with the key in the path.
pub(crate) const KEYED_PATH: &str = "/openenv/{family}/{name}/t/{key}";

/// Everything that can be called below either path.
pub(crate) fn routes<T: Table>() -> T {
    T::new()
        .routes(routes!(socket::open_socket))
        .routes(routes!(rest::reset))
        .routes(routes!(rest::step))
        .routes(routes!(rest::get_state))
        .routes(routes!(rest::get_health))
        .routes(routes!(rest::get_metadata))
        .routes(routes!(rest::get_schema))
        .routes(routes!(rest::get_openapi))
        .routes(routes!(rpc::answer_over_http))
        .routes(routes!(tasks::list_environments))
        .routes(routes!(tasks::list_splits))
        .routes(routes!(tasks::list_tasks))
        .routes(routes!(tasks::count_tasks))
        .routes(routes!(tasks::get_task))
        .routes(routes!(tasks::list_range))
}
