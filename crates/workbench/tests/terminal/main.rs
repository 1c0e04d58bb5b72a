//! Terminals in real sandboxes of this machine, on the image `host`, which needs no building.

mod desk;
mod folders;
mod judging;
mod rooms;
mod speed;
mod trust;
