//! Curves of a training as SVG: loss, reward or solve rate over updates. Text is left to whoever shows the picture, so
//! no fonts are needed.

use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, SeriesLabelPosition};
use plotters::drawing::IntoDrawingArea;
use plotters::element::{Circle, PathElement};
use plotters::series::LineSeries;
use plotters::style::{BLACK, Color, RGBColor, WHITE};

use crate::failure::TrainerError;

/// Width and height of a picture, in pixels.
const SIZE_PIXELS: (u32, u32) = (800, 400);
/// Most points of one series that are drawn; more are averaged over equal parts.
const POINTS_MAX: usize = 2_000;
/// Most series of one picture; the others are left out.
const SERIES_MAX: usize = 16;
/// Numbers beyond this size count as missing: differences of larger ones overflow.
const MAGNITUDE_MAX: f64 = 1e300;
/// An axis spans at least this share of its largest number, so that its ticks differ.
const SPAN_SHARE_MIN: f64 = 1e-6;

/// Colours that people with common colour blindness tell apart, <https://doi.org/10.1038/nmeth.1618>.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Update and value, in the order of updates. A value that is not finite interrupts the line.
    pub points: Vec<(f64, f64)>,
}

/// A picture of `series` over updates, as the text of an SVG file. One point is drawn as a dot; without any, the axes
/// say so.
///
/// # Errors
/// [`TrainerError::Internal`] where it cannot be drawn.
pub fn draw(title: &str, series: &[Series]) -> Result<String, TrainerError> {
    let lines: Vec<(&str, Vec<Segment>)> =
        series.iter().take(SERIES_MAX).map(|series| (series.name.as_str(), segments(&series.points))).collect();
    let mut text = String::new();
    render(title, &lines, &mut text)
        .map_err(|error| TrainerError::Internal(format!("a curve cannot be drawn: {error}")))?;
    Ok(text)
}

/// Points without a gap between them.
type Segment = Vec<(f64, f64)>;

fn render(title: &str, lines: &[(&str, Vec<Segment>)], text: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let points = || lines.iter().flat_map(|(_, segments)| segments.iter().flatten());
    let caption = if points().next().is_none() { format!("{title} (no values)") } else { title.to_owned() };
    let updates = axis(points().map(|point| point.0), 0.0);
    let values = axis(points().map(|point| point.1), 0.05);
    let area = SVGBackend::with_string(text, SIZE_PIXELS).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(caption, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(updates.0..updates.1, values.0..values.1)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_labels(8)
        .y_labels(6)
        .x_desc("update")
        .x_label_formatter(&|value| short(value))
        .y_label_formatter(&|value| short(value))
        .draw()?;
    for (index, (name, segments)) in lines.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let mut is_named = false;
        for segment in segments {
            let drawn = if let [point] = segment.as_slice() {
                chart.draw_series(std::iter::once(Circle::new(*point, 3, colour.filled())))?
            } else {
                chart.draw_series(LineSeries::new(segment.iter().copied(), colour.stroke_width(2)))?
            };
            if !is_named {
                let sample = move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], colour.stroke_width(2));
                drawn.label(*name).legend(sample);
                is_named = true;
            }
        }
    }
    if lines.len() > 1 {
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()?;
    }
    area.present()?;
    Ok(())
}

/// Cuts points at gaps and thins them out to [`POINTS_MAX`].
fn segments(points: &[(f64, f64)]) -> Vec<Segment> {
    let drawable = |&(update, value): &(f64, f64)| update.abs() <= MAGNITUDE_MAX && value.abs() <= MAGNITUDE_MAX;
    let part = points.len().div_ceil(POINTS_MAX).max(1);
    let mean = |part: &[(f64, f64)]| {
        let count = part.len() as f64;
        part.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count))
    };
    points
        .split(|point| !drawable(point))
        .filter(|segment| !segment.is_empty())
        .map(|segment| segment.chunks(part).map(mean).collect())
        .collect()
}

/// Ends of an axis that holds all numbers, with a margin as share of its length.
fn axis(numbers: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let (low, high) =
        numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| (low.min(number), high.max(number)));
    if low > high {
        return (0.0, 1.0);
    }
    let least = SPAN_SHARE_MIN * low.abs().max(high.abs());
    if high - low <= least {
        let half = if least > 0.0 { (low.abs() * 0.1).max(least) } else { 0.5 };
        return (low - half, high + half);
    }
    let margin = (high - low) * margin;
    (low - margin, high + margin)
}

/// A tick in at most four digits.
fn short(value: &f64) -> String {
    let size = value.abs();
    if *value == 0.0 || (1e-3..1e6).contains(&size) {
        let text = format!("{value:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{value:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, points: &[(f64, f64)]) -> Series {
        Series { name: name.to_owned(), points: points.to_vec() }
    }

    fn count(text: &str, what: &str) -> usize {
        text.matches(what).count()
    }

    #[test]
    fn a_curve_has_its_line_title_and_a_legend_where_there_are_several() {
        let loss = series("loss", &[(0.0, 2.0), (1.0, 1.5), (2.0, 1.0)]);
        let text = draw("Loss & <more>", std::slice::from_ref(&loss)).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
        assert!(text.contains("Loss &amp; &lt;more&gt;") && text.contains("update"));
        assert!(text.contains("#0072B2") && !text.contains("no values"));
        let text = draw("Loss", &[loss, series("reward", &[(0.0, 0.0), (2.0, 1.0)])]).unwrap();
        assert!(text.contains("reward") && text.contains("#D55E00"));
    }

    #[test]
    fn a_gap_interrupts_the_line() {
        let points =
            [(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 2.0), (4.0, f64::INFINITY), (5.0, 1.0), (6.0, 0.5)];
        assert_eq!(segments(&points).iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 2]);
        let text = draw("gaps", &[series("value", &points)]).unwrap();
        assert_eq!(count(&text, "<circle"), 1);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn one_point_is_a_dot_and_none_says_so() {
        assert_eq!(count(&draw("one", &[series("value", &[(3.0, 0.25)])]).unwrap(), "<circle"), 1);
        for nothing in [&[][..], &[series("value", &[])], &[series("value", &[(0.0, f64::NAN)])]] {
            let text = draw("none", nothing).unwrap();
            assert!(text.contains("none (no values)") && !text.contains("<circle"));
        }
    }

    #[test]
    fn extreme_numbers_are_drawn() {
        for points in [
            [(0.0, 1e300), (1.0, -1e300)],
            [(0.0, 1e-300), (1.0, 2e-300)],
            [(1e15, 1e16), (1e15 + 1.0, 1e16 + 2.0)],
            [(0.0, 0.0), (0.0, 0.0)],
            [(5.0, -7.0), (6.0, -7.0)],
            [(0.0, f64::MAX), (1.0, 1.0)],
        ] {
            let text = draw("extreme", &[series("value", &points)]).unwrap();
            assert!(!text.contains("NaN"), "{points:?}");
        }
    }

    #[test]
    fn many_points_are_averaged_and_many_series_left_out() {
        let points: Vec<(f64, f64)> = (0..10_001).map(|update| (f64::from(update), f64::from(update % 2))).collect();
        let thinned = segments(&points);
        assert!(thinned[0].len() <= POINTS_MAX);
        assert!(thinned[0][..1_000].iter().all(|point| (point.1 - 0.5).abs() < 0.2));
        let text = draw("many", &vec![series("value", &points); 100]).unwrap();
        assert!(text.len() < 2_000_000, "{}", text.len());
    }
}
