"""Known numbers of the optimizer: AdamW as PyTorch defines it, written out in NumPy (f64), with the global norm clipped before each step.

Run `python3 adamw.py > adamw.json` with NumPy installed; the tests of the trainer read the file.
"""

import json

import numpy as np

PLAN = {"lr": 0.05, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-8, "weight_decay": 0.1, "grad_norm_max": 0.7}
STEPS = 5


def gradients(step):
    """Any numbers will do; these are exact in f32 after rounding."""
    weight = np.float32(np.sin(np.arange(6).reshape(2, 3) * 1.3 + step) * (1.5 if step % 2 else 0.2))
    bias = np.float32(np.cos(np.arange(3) * 0.7 - step) * 0.3)
    return {"weight": weight.astype(np.float64), "bias": bias.astype(np.float64)}


def main():
    values = {
        "weight": np.float32(np.linspace(-1.0, 1.0, 6).reshape(2, 3)).astype(np.float64),
        "bias": np.float32(np.array([0.5, -0.25, 0.125])).astype(np.float64),
    }
    start = {name: value.flatten().tolist() for name, value in values.items()}
    first = {name: np.zeros_like(value) for name, value in values.items()}
    second = {name: np.zeros_like(value) for name, value in values.items()}
    steps = []
    for step in range(1, STEPS + 1):
        raw = gradients(step)
        norm = np.sqrt(sum((gradient**2).sum() for gradient in raw.values()))
        scale = min(1.0, PLAN["grad_norm_max"] / (norm + 1e-6))
        for name, gradient in raw.items():
            gradient = gradient * scale
            decay = PLAN["weight_decay"] if values[name].ndim > 1 else 0.0
            values[name] = values[name] * (1.0 - PLAN["lr"] * decay)
            first[name] = PLAN["beta1"] * first[name] + (1.0 - PLAN["beta1"]) * gradient
            second[name] = PLAN["beta2"] * second[name] + (1.0 - PLAN["beta2"]) * gradient**2
            spread = np.sqrt(second[name]) / np.sqrt(1.0 - PLAN["beta2"] ** step) + PLAN["epsilon"]
            values[name] = values[name] - PLAN["lr"] / (1.0 - PLAN["beta1"] ** step) * first[name] / spread
        steps.append(
            {
                "gradients": {name: gradient.flatten().tolist() for name, gradient in raw.items()},
                "norm": norm,
                "values": {name: value.flatten().tolist() for name, value in values.items()},
            }
        )
    print(json.dumps({"plan": PLAN, "start": start, "steps": steps}, indent=1))


if __name__ == "__main__":
    main()
