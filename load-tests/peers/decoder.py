"""The trainer's transformer in plain PyTorch: what the same training and the same sampling cost there.

decoder.py FOLDER reads one request per line, `SHAPE WORK COUNT`, and answers each with a line of JSON. SHAPE names a model below
FOLDER (config.json, model.safetensors), WORK is `train` (COUNT updates) or `sample` (COUNT batches of answers).
"""

import json
import math
import os
import struct
import sys
import time

import numpy
import torch
from torch.nn import functional

# As in the trainer's own program for figures.
ROWS = 32
TRAINED_TOKENS = 128
PROMPT_TOKENS = 32
ANSWER_TOKENS = 96
RATE = 1e-3
GRADIENT_NORM_MAX = 1.0


def read(folder):
    """The configuration and the tensors of a folder."""
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            values = numpy.frombuffer(data[begin:end], dtype=numpy.float32).reshape(entry["shape"])
            tensors[name] = torch.from_numpy(values.copy())
    return config, tensors


class Decoder(torch.nn.Module):
    """Parameters are named as in the file, with `/` for a dot."""

    def __init__(self, config, tensors, positions=None):
        super().__init__()
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        self.kv_heads, self.head_dim = config["num_key_value_heads"], config["head_dim"]
        self.epsilon, self.tied = config["rms_norm_eps"], config["tie_word_embeddings"]
        self.weights = torch.nn.ParameterDict(
            {name.replace(".", "/"): torch.nn.Parameter(tensor) for name, tensor in tensors.items()}
        )
        half = self.head_dim // 2
        frequencies = config["rope_theta"] ** (-2.0 * torch.arange(half, dtype=torch.float64) / self.head_dim)
        places = torch.arange(positions or config["max_position_embeddings"], dtype=torch.float64)
        angles = torch.outer(places, frequencies)
        self.cosines, self.sines = angles.cos().float(), angles.sin().float()

    def weight(self, name):
        return self.weights[name.replace(".", "/")]

    def has(self, name):
        return name.replace(".", "/") in self.weights

    def norm(self, name, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.weight(name)

    def linear(self, name, x):
        bias = self.weight(f"{name}.bias") if self.has(f"{name}.bias") else None
        return functional.linear(x, self.weight(f"{name}.weight"), bias)

    def turn(self, x, start):
        """Half-split rotary embedding of `[batch, time, heads, head_dim]`."""
        time_, half = x.shape[1], self.head_dim // 2
        cosines = self.cosines[start : start + time_, None, :]
        sines = self.sines[start : start + time_, None, :]
        first, second = x[..., :half], x[..., half:]
        return torch.cat([first * cosines - second * sines, second * cosines + first * sines], -1)

    def attend(self, name, x, start, cache):
        batch, time_, _ = x.shape
        group = self.heads // self.kv_heads
        q = self.linear(f"{name}.q_proj", x).view(batch, time_, self.heads, self.head_dim)
        k = self.linear(f"{name}.k_proj", x).view(batch, time_, self.kv_heads, self.head_dim)
        v = self.linear(f"{name}.v_proj", x).view(batch, time_, self.kv_heads, self.head_dim)
        if self.has(f"{name}.q_norm.weight"):
            q, k = self.norm(f"{name}.q_norm.weight", q), self.norm(f"{name}.k_norm.weight", k)
        q = self.turn(q, start).transpose(1, 2) * self.head_dim**-0.5
        k, v = self.turn(k, start).transpose(1, 2), v.transpose(1, 2)
        seen = start + time_
        if cache is not None:
            keys, values = cache
            keys[:, :, start:seen] = k
            values[:, :, start:seen] = v
            k, v = keys[:, :, :seen], values[:, :, :seen]
        # A group's queries stand one below the other, so that keys need no repetition.
        q = q.reshape(batch, self.kv_heads, group * time_, self.head_dim)
        scores = q @ k.transpose(2, 3)
        if time_ > 1:
            later = torch.arange(seen) > torch.arange(start, seen)[:, None]
            scores = scores.masked_fill(later.repeat(group, 1), -math.inf)
        mixed = (scores.softmax(-1) @ v).view(batch, self.heads, time_, self.head_dim)
        return self.linear(f"{name}.o_proj", mixed.transpose(1, 2).reshape(batch, time_, -1))

    def states(self, tokens, start=0, caches=None):
        """Normed states of the last layer, `[batch, time, width]`."""
        x = functional.embedding(tokens, self.weight("model.embed_tokens.weight"))
        for layer in range(self.layers):
            name = f"model.layers.{layer}"
            normed = self.norm(f"{name}.input_layernorm.weight", x)
            x = x + self.attend(f"{name}.self_attn", normed, start, caches and caches[layer])
            normed = self.norm(f"{name}.post_attention_layernorm.weight", x)
            inner = functional.silu(self.linear(f"{name}.mlp.gate_proj", normed)) * self.linear(f"{name}.mlp.up_proj", normed)
            x = x + self.linear(f"{name}.mlp.down_proj", inner)
        return self.norm("model.norm.weight", x)

    def logits(self, states):
        return functional.linear(states, self.weight("model.embed_tokens.weight" if self.tied else "lm_head.weight"))

    def caches(self, rows, capacity):
        shape = (rows, self.kv_heads, capacity, self.head_dim)
        return [(torch.zeros(shape), torch.zeros(shape)) for _ in range(self.layers)]


def tokens(vocabulary, columns, seed):
    """A batch that both programs make alike."""
    place = torch.arange(ROWS * columns, dtype=torch.int64)
    return ((place * 7919 + seed * 104729) % 65_521 % vocabulary).view(ROWS, columns)


class Work:
    """One shape, at whatever it was asked for last."""

    def __init__(self, folder):
        config, tensors = read(folder)
        self.vocabulary = config["vocab_size"]
        self.model = Decoder(config, tensors)
        self.sampled = Decoder(config, {name: tensor.clone() for name, tensor in tensors.items()}).requires_grad_(False)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=RATE, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
        self.updates = 0

    def train(self, count):
        """Updates; answers the loss of the last one and how many tokens were read."""
        loss = None
        for _ in range(count):
            batch = tokens(self.vocabulary, TRAINED_TOKENS, self.updates)
            self.updates += 1
            states = self.model.states(batch)[:, :-1].reshape(ROWS * (TRAINED_TOKENS - 1), -1)
            loss = functional.cross_entropy(self.model.logits(states), batch[:, 1:].reshape(-1))
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), GRADIENT_NORM_MAX)
            self.optimizer.step()
        return {"loss": float(loss.detach()), "tokens": count * ROWS * TRAINED_TOKENS}

    @torch.inference_mode()
    def sample(self, count):
        """Answers to prompts, each token with its log-probability; answers how many tokens were sampled."""
        for seed in range(count):
            caches = self.sampled.caches(ROWS, PROMPT_TOKENS + ANSWER_TOKENS)
            unread, start = tokens(self.vocabulary, PROMPT_TOKENS, seed), 0
            for _ in range(ANSWER_TOKENS):
                states = self.sampled.states(unread, start, caches)[:, -1]
                logs = self.sampled.logits(states).log_softmax(-1)
                start += unread.shape[1]
                unread = torch.multinomial(logs.exp(), 1)
                logs.gather(1, unread).tolist()
        return {"tokens": count * ROWS * ANSWER_TOKENS}


def main():
    folder = sys.argv[1]
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(1)
    shapes = {}
    for line in sys.stdin:
        shape, work, count = line.split()
        if shape not in shapes:
            shapes[shape] = Work(os.path.join(folder, shape))
        began = time.monotonic()
        done = getattr(shapes[shape], {"train": "train", "sample": "sample"}[work])(int(count))
        print(json.dumps({"shape": shape, "work": work, "seconds": time.monotonic() - began, **done}), flush=True)


if __name__ == "__main__":
    main()
