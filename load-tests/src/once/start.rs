//! Time until a server answers.

use std::path::Path;

use super::{Series, Sizes, Values};
use crate::subject::serve;
use crate::targets::Once;

pub(super) const ROWS: [Once; 2] = [Once::StartNew, Once::StartAgain];

/// Starts servers one after the other, each twice in the same folder.
pub(super) fn measure(program: &Path, sizes: Sizes) -> anyhow::Result<Values> {
    let (mut first, mut again) = (Series::default(), Series::default());
    for _ in 0..sizes.starts {
        let folder = tempfile::tempdir()?;
        for series in [&mut first, &mut again] {
            let server = serve(program, folder.path(), None)?;
            series.push(server.ready_after().as_secs_f64() * 1e3);
            server.stop()?;
        }
    }
    Ok(vec![(Once::StartNew, first), (Once::StartAgain, again)])
}
