//! Programs in sandboxes: every status in every language, the public problems of MBPP, and what submissions try in order to be
//! judged better than they are.

#[cfg(test)]
mod basics;
#[cfg(test)]
mod cheats;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod languages;
#[cfg(test)]
mod mbpp;
#[cfg(test)]
mod speed;
#[cfg(test)]
mod workspaces;

#[cfg(test)]
fn problem(value: serde_json::Value) -> palestra_workbench::code::Problem {
    let problem: palestra_workbench::code::Problem = serde_json::from_value(value).expect("a problem");
    assert_eq!(problem.faults(), []);
    problem
}
