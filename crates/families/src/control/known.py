"""Numbers that the tests of motion.rs hold the physics to, worked out with NumPy's sine and cosine.

Run: python3 crates/families/src/control/known.py
"""

import numpy as np

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, TAU = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02


def step(state, force):
    """One step of Euler's method (Barto, Sutton and Anderson 1983, appendix, without friction)."""
    x, x_dot, theta, theta_dot = state
    sine, cosine, total = np.sin(theta), np.cos(theta), CART + POLE
    pull = (force + POLE * HALF_LENGTH * theta_dot**2 * sine) / total
    turn = (GRAVITY * sine - cosine * pull) / (HALF_LENGTH * (4 / 3 - POLE * cosine**2 / total))
    speed_up = pull - POLE * HALF_LENGTH * turn * cosine / total
    return np.array([x + TAU * x_dot, x_dot + TAU * speed_up, theta + TAU * theta_dot, theta_dot + TAU * turn])


def within(state):
    return abs(state[0]) <= 2.4 and abs(state[2]) <= 12 * np.pi / 180


# Nine pushes of which the sixth is none, over and over: right, left, left, right, right, none, left, right, left.
PUSHES = [1, -1, -1, 1, 1, 0, -1, 1, -1]
state = np.array([0.01, -0.02, 0.03, 0.04])
count = 0
while within(state):
    state = step(state, FORCE * PUSHES[count % len(PUSHES)])
    count += 1
    if count in (1, 10, 25):
        print(count, [repr(float(number)) for number in state])
print("fallen after", count, [repr(float(number)) for number in state])

# Only to the right: the pole falls to the left.
state = np.zeros(4)
count = 0
while within(state):
    state = step(state, FORCE)
    count += 1
print("to the right: fallen after", count, [repr(float(number)) for number in state])
