//! The motion of a pole on a cart: the physics alone, the same bits on every machine.
//!
//! Only additions, multiplications and divisions are used, which IEEE 754 rounds in one way everywhere. The sine and the cosine
//! of a system's mathematical library differ in last bits between systems, and an episode that is replayed elsewhere would part
//! from its record; angles here stay small, where few terms of a series are exact to the last bits.

/// Downward acceleration, in m/s².
const GRAVITY: f64 = 9.8;

/// Mass of the cart, in kg.
const CART_KG: f64 = 1.0;

/// Mass of the pole, in kg.
const POLE_KG: f64 = 0.1;

/// Half the length of the pole, in m.
const HALF_LENGTH_M: f64 = 0.5;

/// Force of a push, in N.
const FORCE_N: f64 = 10.0;

/// Length of a step, in s.
pub(super) const STEP_SECONDS: f64 = 0.02;

/// Largest distance of the cart from the centre, in m.
pub(super) const POSITION_MAX_M: f64 = 2.4;

/// Largest angle of the pole, in degrees.
pub(super) const ANGLE_MAX_DEGREES: f64 = 12.0;

/// Degrees of a radian.
pub(super) const DEGREES: f64 = 180.0 / std::f64::consts::PI;

/// Where the cart is (m, positive to the right), its speed (m/s), how far the pole leans (radians, positive to the right), and
/// how fast it turns (radians/s).
pub(super) type Vector = [f64; 4];

/// The force on a cart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Push {
    Left,
    Right,
    /// Nothing, as after an action that is none.
    Idle,
}

impl Push {
    const fn force_n(self) -> f64 {
        match self {
            Self::Left => -FORCE_N,
            Self::Right => FORCE_N,
            Self::Idle => 0.0,
        }
    }
}

/// The state one step later, by Euler's method, for a pole that has not fallen.
///
/// The equations without friction of Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning
/// control problems", 1983 (<https://doi.org/10.1109/TSMC.1983.6313077>), with the constants and the order of updates of the
/// first version of `CartPole` in Gym and Gymnasium.
pub(super) fn advance([x, x_dot, theta, theta_dot]: Vector, push: Push) -> Vector {
    const TOTAL_KG: f64 = CART_KG + POLE_KG;
    const POLE_MOMENT: f64 = POLE_KG * HALF_LENGTH_M;
    let (sine, cosine) = (sine(theta), cosine(theta));
    // Acceleration of the whole by the push and by the pole that swings.
    let pull = (push.force_n() + POLE_MOMENT * theta_dot * theta_dot * sine) / TOTAL_KG;
    let turning =
        (GRAVITY * sine - cosine * pull) / (HALF_LENGTH_M * (4.0 / 3.0 - POLE_KG * cosine * cosine / TOTAL_KG));
    let moving = pull - POLE_MOMENT * turning * cosine / TOTAL_KG;
    [
        x + STEP_SECONDS * x_dot,
        x_dot + STEP_SECONDS * moving,
        theta + STEP_SECONDS * theta_dot,
        theta_dot + STEP_SECONDS * turning,
    ]
}

/// True if the cart left the track or the pole leans too far.
pub(super) fn has_failed([x, _, theta, _]: Vector) -> bool {
    x.abs() > POSITION_MAX_M || theta.abs() > ANGLE_MAX_DEGREES / DEGREES
}

/// A push that keeps the pole standing: against the side to which it leans and turns, and in the end towards the centre.
///
/// A linear rule whose weights were tried on 20,000 beginnings and all 16 corners of their range: none fell within 500 steps,
/// and no cart left the middle 0.4 m of the track.
pub(super) fn steady([x, x_dot, theta, theta_dot]: Vector) -> Push {
    if 0.1 * x + 0.2 * x_dot + theta + 0.25 * theta_dot > 0.0 { Push::Right } else { Push::Left }
}

/// The sine of an angle of at most a quarter of a radian: Taylor's series, whose first term left out is below 10^-21.
fn sine(angle: f64) -> f64 {
    let square = angle * angle;
    let tail = 1.0 - square / 110.0 * (1.0 - square / 156.0);
    angle * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0 * (1.0 - square / 72.0 * tail))))
}

/// The cosine of an angle of at most a quarter of a radian, likewise.
fn cosine(angle: f64) -> f64 {
    let square = angle * angle;
    let tail = 1.0 - square / 90.0 * (1.0 - square / 132.0 * (1.0 - square / 182.0));
    1.0 - square / 2.0 * (1.0 - square / 12.0 * (1.0 - square / 30.0 * (1.0 - square / 56.0 * tail)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Differences of rounding, after they grew with the pole's fall.
    const TOLERANCE: f64 = 1e-13;

    fn assert_close(found: Vector, expected: Vector) {
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < TOLERANCE, "{found} is not {expected}");
        }
    }

    #[test]
    fn sines_and_cosines_are_those_of_the_system_to_the_last_bits() {
        for thousandths in -250..=250 {
            let angle = f64::from(thousandths) / 1000.0;
            assert!((sine(angle) - angle.sin()).abs() <= f64::EPSILON / 4.0, "{angle}");
            assert!((cosine(angle) - angle.cos()).abs() <= f64::EPSILON, "{angle}");
        }
    }

    /// The numbers are printed by `known.py` beside this file.
    #[test]
    fn a_cart_moves_as_worked_out_elsewhere() {
        use Push::{Idle, Left, Right};
        let pushes = [Right, Left, Left, Right, Right, Idle, Left, Right, Left];
        let mut states = vec![[0.01, -0.02, 0.03, 0.04]];
        while !has_failed(states[states.len() - 1]) {
            let count = states.len() - 1;
            states.push(advance(states[count], pushes[count % pushes.len()]));
        }
        assert_close(states[1], [0.009600000000000001, 0.17467919574755525, 0.0308, -0.2430687179600081]);
        assert_close(
            states[10],
            [0.017318392814064106, 0.17082060215455772, 0.02900801526783471, -0.15791950940383712],
        );
        assert_close(states[25], [0.02846715143837109, -0.03329610655844245, 0.06387918930871302, 0.3337850814778398]);
        assert_eq!(states.len(), 42);
        assert_close(states[41], [0.030265895126222072, 0.1352500012729972, 0.21808733205960512, 0.6409221211530678]);
    }

    /// Gymnasium 1.4.0 gives these numbers too.
    #[test]
    fn a_cart_that_is_only_pushed_to_the_right_drops_its_pole_to_the_left() {
        let mut state = [0.0; 4];
        let mut steps = 0;
        while !has_failed(state) {
            state = advance(state, Push::Right);
            steps += 1;
        }
        assert_eq!(steps, 9);
        assert_close(state, [0.14065097203306187, 1.7603811257683097, -0.21518604988500967, -2.777886494012814]);
    }

    #[test]
    fn the_steady_rule_holds_from_every_corner_of_the_beginnings() {
        for corner in 0..16_u8 {
            let mut state = [0, 1, 2, 3].map(|place| if corner >> place & 1 == 1 { 0.05 } else { -0.05 });
            for step in 0..5_000 {
                state = advance(state, steady(state));
                assert!(!has_failed(state), "corner {corner} fails in step {step}");
            }
        }
    }

    #[test]
    fn leaving_the_track_and_leaning_too_far_are_failures_on_both_sides() {
        for side in [-1.0, 1.0] {
            assert!(!has_failed([2.39 * side, 9.0, 0.2094 * side, 9.0]));
            assert!(has_failed([2.41 * side, 0.0, 0.0, 0.0]));
            assert!(has_failed([0.0, 0.0, 0.2095 * side, 0.0]));
        }
    }
}
