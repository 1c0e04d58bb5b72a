//! Screens, pages, and what actors do there.

mod addresses;
mod browser;
mod calls;
mod endless;
mod faults;
mod fixture;
mod hostile;
mod layouts;
mod looks;
mod pages;
mod shipped;
mod suggest;
mod surfaces;
mod themes;
