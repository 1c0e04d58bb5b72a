//! A real Chromium for sessions. One process serves many sessions: each has a browser context with storage, cookies, cache and
//! permissions of its own. Chromium runs in a sandbox without a network; every request of a page is answered by this process, through
//! the pipe that drives the browser. So pages come from where a [`Site`] says, and from nowhere else; [`Upstream`] asks real hosts for it,
//! where the operator names some.

pub mod action;
mod cdp;
mod chromium;
mod clock;
mod context;
mod error;
mod picture;
mod pool;
mod site;
pub mod tree;
mod upstream;

pub use cdp::CdpError;
pub use chromium::{Chromium, Launch, find_program};
pub use context::{
    ActionFailure, Blank, ConsoleLine, Context, Dialog, FailedRequest, Kept, Mark, Observed, Performed, Picture, Read,
    Reading, Settings, TabView,
};
pub use error::BrowserError;
pub use picture::{PictureFormat, PictureSettings};
pub use pool::{Browsers, Lease, PoolSettings};
pub use site::{Answer, Request, Site, form_fields};
pub use upstream::{Host, Unanswered, Upstream};
