//! Results of the draws of an app's templates, for people.

use std::io::{Result, Write};

use palestra_apps::check::{Distribution, Report};

use crate::table::Table;

/// Writes which draws became tasks and why the others did not, then how the values of each parameter are spread.
pub(super) fn write(report: &Report, output: &mut impl Write) -> Result<()> {
    let mut fates = Table::new([
        "template",
        "draws",
        "tasks",
        "thrown away or faulty",
        "looked beside",
        "columns",
        "played again",
        "refusals",
    ]);
    let mut spreads = Table::new(["template", "parameter", "value: draws > tasks"]);
    for (template, figures) in &report.templates {
        let draws = &figures.draws;
        let again = draws.again.iter().map(|(why, count)| format!("{count}: {why}"));
        let faulty = draws.faulty.iter().map(|(what, count)| format!("{count}: fault {what}"));
        fates.add_row([
            template.clone(),
            draws.made.to_string(),
            draws.accepted.to_string(),
            again.chain(faulty).collect::<Vec<_>>().join("; "),
            format!("{} tasks, {} played", draws.looked_beside, draws.compared),
            format!("{} tasks only all at once", draws.passed_over),
            format!("{} in other episodes, {} thrown away", draws.episodes, draws.thrown_away_played),
            format!(
                "{} by the twin, {} by a call, {} by some arguments; other ways searched in {}, without a twin {}",
                draws.refused_twins,
                draws.refused_calls,
                draws.refused_arguments,
                draws.refusals_searched,
                draws.refusals_without_twin
            ),
        ]);
        for spread in &draws.parameters {
            spreads.add_row([template.clone(), spread.parameter.clone(), shares(spread)]);
        }
    }
    writeln!(output, "{fates}")?;
    writeln!(output, "{spreads}")
}

/// `red: 320 > 301, blue: 311 > 300`.
fn shares(spread: &Distribution) -> String {
    let mut shares: Vec<String> =
        spread.values.iter().map(|share| format!("{}: {} > {}", share.value, share.drawn, share.accepted)).collect();
    if spread.others > 0 {
        shares.push(format!("others: {} > {}", spread.others, spread.others_accepted));
    }
    shares.join(", ")
}
