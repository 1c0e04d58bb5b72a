//! Rules that judge the state which a page sent.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Right state of a page, or of a part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// Exactly this; null is never right, since it stands for nothing.
    Is(Value),
    /// One of these.
    OneOf(Vec<Value>),
    /// This text, whatever the case and the white space around it.
    Text(String),
    /// A number, at most so far away.
    Near {
        /// The number.
        value: f64,
        /// The distance.
        within: f64,
    },
    /// A list of these in any order, each once.
    Set(Vec<Value>),
    /// An object with these fields, and others that do not matter.
    Fields(Vec<(String, Self)>),
    /// A list of these in order.
    List(Vec<Self>),
    /// Points `[x, y]`, each at most so far from the line through these points, and each of these points so near to one of them.
    Path {
        /// Corners of the line.
        through: Vec<[f64; 2]>,
        /// The distance.
        within: f64,
    },
}

/// One part of a judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// The part, as a path of fields; `state` for the whole.
    pub name: String,
    /// True if it is right.
    pub passed: bool,
    /// State that was sent; null where nothing was.
    pub found: Value,
}

impl Wanted {
    /// An object with exactly these values, each a part of its own.
    #[must_use]
    pub fn exactly(state: &Value) -> Self {
        let fields = state.as_object().into_iter().flatten();
        Self::Fields(fields.map(|(field, value)| (field.clone(), Self::Is(value.clone()))).collect())
    }

    /// An object with this field.
    #[must_use]
    pub fn field(name: &str, wanted: Self) -> Self {
        Self::Fields(vec![(name.to_owned(), wanted)])
    }

    /// An object with a field that is this text, whatever the case and the white space around it.
    #[must_use]
    pub fn text(name: &str, text: &str) -> Self {
        Self::field(name, Self::Text(text.to_owned()))
    }

    /// A whole number, at most so far away.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "places, widths and coordinates are small numbers")]
    pub const fn near(value: i64, within: f64) -> Self {
        Self::Near { value: value as f64, within }
    }

    /// An object with a field that lists these in any order.
    #[must_use]
    pub fn in_any_order(name: &str, values: &[impl AsRef<str>]) -> Self {
        Self::field(name, Self::Set(values.iter().map(|value| Value::from(value.as_ref())).collect()))
    }

    /// Judges a state part by part. Nothing that was sent is wrong in every part.
    #[must_use]
    pub fn judge(&self, state: Option<&Value>) -> Vec<Check> {
        let mut checks = Vec::new();
        self.check("state", state.unwrap_or(&Value::Null), &mut checks);
        checks
    }

    fn check(&self, name: &str, state: &Value, checks: &mut Vec<Check>) {
        if let Self::Fields(fields) = self {
            for (field, wanted) in fields {
                let name = if name == "state" { field.clone() } else { format!("{name}.{field}") };
                wanted.check(&name, state.get(field).unwrap_or(&Value::Null), checks);
            }
            return;
        }
        checks.push(Check { name: name.to_owned(), passed: self.fits(state), found: state.clone() });
    }

    fn fits(&self, state: &Value) -> bool {
        match self {
            Self::Is(value) => !state.is_null() && state == value,
            Self::OneOf(values) => !state.is_null() && values.contains(state),
            Self::Text(text) => state.as_str().is_some_and(|found| folded(found) == folded(text)),
            Self::Near { value, within } => state.as_f64().is_some_and(|found| (found - value).abs() <= *within),
            Self::Set(values) => state
                .as_array()
                .is_some_and(|found| found.len() == values.len() && values.iter().all(|value| found.contains(value))),
            Self::Fields(fields) => {
                fields.iter().all(|(field, wanted)| wanted.fits(state.get(field).unwrap_or(&Value::Null)))
            }
            Self::List(items) => state.as_array().is_some_and(|found| {
                found.len() == items.len() && items.iter().zip(found).all(|(wanted, found)| wanted.fits(found))
            }),
            Self::Path { through, within } => points(state).is_some_and(|points| follows(&points, through, *within)),
        }
    }
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn points(state: &Value) -> Option<Vec<[f64; 2]>> {
    let points = state.as_array()?.iter();
    points.map(|point| Some([point.get(0)?.as_f64()?, point.get(1)?.as_f64()?])).collect()
}

/// True if points lie along a line, and reach each of its corners in order.
fn follows(points: &[[f64; 2]], through: &[[f64; 2]], within: f64) -> bool {
    let near = |point: &[f64; 2]| through.windows(2).any(|line| distance(*point, line[0], line[1]) <= within);
    let mut rest = points.iter();
    !points.is_empty()
        && points.iter().all(near)
        && through.iter().all(|corner| rest.any(|point| distance(*point, *corner, *corner) <= within))
}

/// Distance of a point from the line between two others.
fn distance([x, y]: [f64; 2], [ax, ay]: [f64; 2], [bx, by]: [f64; 2]) -> f64 {
    let (dx, dy) = (bx - ax, by - ay);
    let length = dx.mul_add(dx, dy * dy);
    let along = if length == 0.0 { 0.0 } else { (((x - ax) * dx + (y - ay) * dy) / length).clamp(0.0, 1.0) };
    (x - along.mul_add(dx, ax)).hypot(y - along.mul_add(dy, ay))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passes(wanted: &Wanted, state: &Value) -> bool {
        wanted.judge(Some(state)).iter().all(|check| check.passed)
    }

    #[test]
    fn states_are_judged_part_by_part() {
        let wanted = Wanted::Fields(vec![
            ("day".to_owned(), Wanted::Is(json!("2031-05-09"))),
            ("who".to_owned(), Wanted::Set(vec![json!("Ada"), json!("Bruno")])),
            ("level".to_owned(), Wanted::Near { value: 5.0, within: 0.5 }),
        ]);
        assert!(passes(&wanted, &json!({"day": "2031-05-09", "who": ["Bruno", "Ada"], "level": 5.4, "more": 1})));
        let checks = wanted.judge(Some(&json!({"day": "2031-05-09", "who": ["Ada", "Ada"], "level": 6})));
        let passed: Vec<bool> = checks.iter().map(|check| check.passed).collect();
        assert_eq!(passed, [true, false, false]);
        assert!(wanted.judge(None).iter().all(|check| !check.passed), "nothing was sent");
        assert!(!passes(&Wanted::Is(Value::Null), &Value::Null), "nothing was sent");
        assert!(passes(&Wanted::Text("Two  words".to_owned()), &json!(" two words ")));
    }

    #[test]
    fn lines_are_followed_from_corner_to_corner() {
        let wanted = Wanted::Path { through: vec![[0.0, 0.0], [100.0, 0.0], [100.0, 50.0]], within: 6.0 };
        assert!(passes(&wanted, &json!([[1, 2], [50, -3], [99, 4], [102, 48]])));
        assert!(!passes(&wanted, &json!([[1, 2], [50, -3], [102, 48]])), "a corner was cut");
        assert!(!passes(&wanted, &json!([[1, 2], [50, 30], [99, 4], [102, 48]])), "off the line");
        assert!(!passes(&wanted, &json!([])));
    }
}
