//! Sandboxes of a Docker engine: what a container is, and that nothing of it is left. `PALESTRA_TEST_DOCKER` names the engine
//! (`unix://PATH`), `PALESTRA_IMAGES` a folder with the image `shell`; without them the tests say so and return.

mod files;
mod fixture;
mod kills;
mod remains;
mod walls;
