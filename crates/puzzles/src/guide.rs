//! The guide to the puzzles in `docs/puzzles.md` and `docs/puzzles/`, made from what puzzles say of themselves and from
//! measurement. The tests here compare; with `UPDATE_GUIDE=1` they write. Curves take minutes to measure: they are compared where
//! `PALESTRA_PUZZLE_CASES` asks for everything, and otherwise only held to rise.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use palestra_protocol::action::Action;
use plotters::prelude::*;

use super::conformance::{EFFORTS, EFFORTS_SHORT, LEVELS, efforts, generate, mean, thorough};
use super::facts::Category;
use super::{Examinable, all};
use palestra_environment::task::seeded;

/// Width and height of a curve, in pixels.
const CURVE_SIZE: (u32, u32) = (480, 240);

/// The difficulty of the sample on each page.
const SAMPLE_DIFFICULTY: f64 = 0.3;

/// Turns of a sample solution that are shown.
const TURNS_SHOWN_MAX: usize = 6;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// True if files are written rather than compared.
fn writes() -> bool {
    std::env::var_os("UPDATE_GUIDE").is_some()
}

/// Compares a file with what it should hold, or writes it.
fn settle(path: &Path, text: &str) {
    if writes() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be made");
        std::fs::write(path, text).expect("the file can be written");
        return;
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == text, "{} is out of date: run the tests of puzzle::guide with UPDATE_GUIDE=1", path.display());
}

/// The action as somebody would write it.
fn written(action: &Action) -> String {
    match action {
        Action::Text(text) => text.clone(),
        Action::Tool { tool, arguments } => match arguments.values().next() {
            Some(serde_json::Value::String(text)) if arguments.len() == 1 => text.clone(),
            _ => format!("{tool} {}", serde_json::to_string(arguments).expect("JSON")),
        },
        other => panic!("puzzles are not solved by {other:?}"),
    }
}

fn attempt(actions: &[Action]) -> String {
    let mut lines: Vec<String> = actions.iter().take(TURNS_SHOWN_MAX).map(written).collect();
    if actions.len() > TURNS_SHOWN_MAX {
        lines.push(format!("({} more turns)", actions.len() - TURNS_SHOWN_MAX));
    }
    lines.join("\n")
}

/// A fence that the text cannot close.
fn fenced(text: &str) -> String {
    format!("````text\n{text}\n````\n")
}

/// A number as the tables show it.
fn rounded(number: f64) -> String {
    if number < 100.0 { format!("{number:.1}") } else { format!("{number:.0}") }
}

fn page(puzzle: &dyn Examinable) -> String {
    let facts = puzzle.facts();
    let task = generate(puzzle, "train", 1, Some(SAMPLE_DIFFICULTY));
    let solution = puzzle.oracle(&task).expect("a solution");
    let mistake = puzzle.mistake(&task, &mut seeded(&[b"guide"])).expect("a mistake");
    let mut text = format!("# puzzle/{}\n\n{}\n\n", facts.name, facts.description);
    let turns = if facts.multi_turn { "many" } else { "one" };
    let speed = if facts.heavy { ", heavy to make" } else { "" };
    writeln!(text, "Category {}, turns: {turns}, version {}{speed}.\n", facts.category, facts.version).expect("text");
    writeln!(text, "## How it is judged\n{}", facts.rule).expect("text");
    writeln!(text, "A policy that does nothing or acts at random scores at most {} on average.\n", facts.floor)
        .expect("text");
    writeln!(text, "## A sample\nTask `{}`:\n{}", task.public.id, fenced(&task.public.messages[0].content))
        .expect("text");
    writeln!(text, "A right answer:\n{}", fenced(&attempt(&solution))).expect("text");
    writeln!(text, "A plausible wrong one:\n{}", fenced(&attempt(&mistake))).expect("text");
    writeln!(text, "## Difficulty\n{}", facts.scale).expect("text");
    writeln!(text, "A reference solver and what counts as its effort: {}\n", facts.effort).expect("text");
    writeln!(text, "![Effort by difficulty]({}.svg)\n", facts.name).expect("text");
    writeln!(
        text,
        "The line is the geometric mean over {EFFORTS} tasks of the split `train`, the band reaches from the first to the third quartile."
    )
    .expect("text");
    text
}

fn index() -> String {
    let mut text = String::from(
        "# Puzzles\n\n\
         A puzzle is a problem that is made from a seed, with a difficulty from 0 to 1. A rule accepts every right answer, not one stored answer. Splits\n\
         never share a problem. The pages below are generated from the puzzles themselves. Play one:\n\n\
         ```sh\n\
         palestra run puzzle/sudoku --policy builtin:oracle --difficulty 0,0.5,1 --episodes 30\n\
         palestra run puzzle/sudoku --policy builtin:random --difficulty 0 --episodes 30\n\
         ```\n\n\
         Over HTTP, choose a difficulty with the task: `{\"environment\":\"puzzle/sudoku\",\"task\":{\"split\":\"train\",\"seed\":7,\"difficulty\":0.4}}`.\n\
         Without it, the difficulty follows from the seed and covers the whole scale.\n\n\
         `palestra check puzzle/sudoku` shows what the generator draws again and why, and which answers are common. It fails if a share is too large\n\
         ([more](writing-an-environment.md#what-a-generator-may-throw-away)). To add a puzzle, read\n\
         [A puzzle in one file](writing-an-environment.md#a-puzzle-in-one-file).\n",
    );
    for category in Category::ALL {
        writeln!(text, "\n## {category}\n\n| puzzle | turns | what has to be done |\n| --- | --- | --- |")
            .expect("text");
        for puzzle in all().iter().filter(|puzzle| puzzle.facts().category == category) {
            let facts = puzzle.facts();
            let turns = if facts.multi_turn { "many" } else { "one" };
            writeln!(text, "| [{0}](puzzles/{0}.md) | {turns} | {1} |", facts.name, facts.description).expect("text");
        }
    }
    text
}

/// Quartiles of sorted values.
fn quartiles(sorted: &[f64]) -> (f64, f64) {
    (sorted[sorted.len() / 4], sorted[sorted.len() * 3 / 4])
}

/// The efforts at each of the levels as a curve, on a logarithmic scale.
fn curve(measured: &[Vec<f64>; LEVELS.len()]) -> String {
    let points = LEVELS.iter().zip(measured);
    let means: Vec<(f64, f64)> = points.clone().map(|(level, efforts)| (*level, mean(efforts).max(1.0))).collect();
    let lower = points.clone().map(|(level, efforts)| (*level, quartiles(efforts).0.max(1.0)));
    let upper = points.map(|(level, efforts)| (*level, quartiles(efforts).1.max(1.0)));
    let band: Vec<(f64, f64)> = lower.chain(upper.rev()).collect();
    let highest = band.iter().chain(&means).map(|point| point.1).fold(10.0, f64::max) * 1.2;
    let lowest = band.iter().chain(&means).map(|point| point.1).fold(highest, f64::min) / 1.2;
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, CURVE_SIZE).into_drawing_area();
        area.fill(&WHITE).expect("a background");
        let mut chart = ChartBuilder::on(&area)
            .margin(12)
            .x_label_area_size(32)
            .y_label_area_size(56)
            .build_cartesian_2d(0.0..1.0, (lowest..highest).log_scale())
            .expect("a chart");
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .x_labels(5)
            .y_labels(4)
            .x_desc("difficulty")
            .y_desc("effort")
            .y_label_formatter(&|value| rounded(*value))
            .draw()
            .expect("axes");
        chart.draw_series([Polygon::new(band, BLUE.mix(0.15))]).expect("a band");
        chart.draw_series(LineSeries::new(means, BLUE.stroke_width(2))).expect("a line");
        area.present().expect("a drawing");
    }
    text
}

#[test]
fn the_pages_of_the_guide_are_those_of_the_puzzles() {
    settle(&folder().join("puzzles.md"), &index());
    for puzzle in all() {
        settle(&folder().join("puzzles").join(format!("{}.md", puzzle.facts().name)), &page(&*puzzle));
    }
    let mut named: Vec<String> = all().iter().map(|puzzle| puzzle.facts().name.to_owned()).collect();
    named.sort();
    let files = std::fs::read_dir(folder().join("puzzles")).expect("the folder of the pages");
    for file in files {
        let path = file.expect("a file").path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        assert!(named.binary_search(&stem).is_ok(), "{} is the page of no puzzle", path.display());
    }
}

fn means(measured: &[Vec<f64>; LEVELS.len()]) -> [f64; LEVELS.len()] {
    measured.each_ref().map(|efforts| mean(efforts))
}

/// True if each level takes more than the one before, and the last considerably more than the first.
fn rise(means: &[f64; LEVELS.len()]) -> bool {
    means.windows(2).all(|pair| pair[0] < pair[1]) && means[LEVELS.len() - 1] > 1.5 * means[0]
}

#[test]
fn a_reference_solver_spends_more_on_what_is_said_to_be_harder_and_the_curves_show_it() {
    let draws = thorough() || writes();
    let few = if draws { EFFORTS } else { EFFORTS_SHORT };
    for puzzle in all() {
        let measure = |count| LEVELS.map(|level| efforts(&*puzzle, level, count));
        let mut measured = measure(few);
        // Where few tasks do not show it, as many as in the guide have to.
        if few < EFFORTS && !rise(&means(&measured)) {
            measured = measure(EFFORTS);
        }
        let means = means(&measured);
        assert!(rise(&means), "{} hardly grows: {means:?}", puzzle.facts().name);
        let path = folder().join("puzzles").join(format!("{}.svg", puzzle.facts().name));
        if draws {
            settle(&path, &curve(&measured));
        } else {
            assert!(path.is_file(), "{} is not there: run this test with UPDATE_GUIDE=1", path.display());
        }
    }
}
