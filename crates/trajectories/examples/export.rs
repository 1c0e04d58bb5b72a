//! Export of rollouts, for checks by hand: rollouts as lines of JSON on standard input, the export on standard output, the tally on
//! standard error.

use std::io::{self, BufRead, Write};

use palestra_trajectories::Rollout;
use palestra_trajectories::export::{Exporter, Format};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1).ok_or("name a format, such as verl")?;
    let format: Format = serde_json::from_value(name.into())?;
    let mut exporter = Exporter::new(format);
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let rollout: Rollout = serde_json::from_str(&line?)?;
        out.write_all(&exporter.push(&rollout)?)?;
    }
    writeln!(io::stderr(), "{}", serde_json::to_string(&exporter.tally())?)?;
    out.write_all(&exporter.finish()?)?;
    Ok(())
}
