//! Terminals in real sandboxes of this machine, on the image `host`, which needs no building.

mod folders;
mod judging;
mod speed;
mod trust;
mod workbench;
mod workspaces;
