"""Reads folders that the trainer has saved with Python's `transformers`: the same logits, the same greedy answers, the same tokens.

transformers_parity.py FOLDER   every folder below FOLDER that holds `expected.json`; exits non-zero where one differs

Qwen3 is younger than the releases of `transformers` that work with Debian's PyTorch: its folders are held against the decoder in
plain PyTorch that the load tests keep, and every tensor of theirs has to be one that it uses.
"""

import json
import os
import sys
import unicodedata

import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, GPT2Tokenizer

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(FOLDER, "load-tests", "peers"))

from decoder import Decoder, read  # noqa: E402

# How far logits may lie apart.
LOGIT_DIFFERENCE_MAX = 1e-4


class Differs(Exception):
    """The two sides do not say the same."""


def expect(condition, message):
    if not condition:
        raise Differs(message)


class Transformers:
    """A folder as `transformers` reads it."""

    def __init__(self, folder):
        self.model, report = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
        report = {kind: names for kind, names in report.items() if names}
        expect(not report, f"loading reports {report}")
        self.model.eval()

    def logits(self, tokens):
        return self.model(torch.tensor([tokens])).logits[0]

    def next(self, prompt):
        """Logits of each next token, from its own cache; gets the chosen one back."""
        unread, past = torch.tensor([prompt]), None
        while True:
            answer = self.model(unread, past_key_values=past, use_cache=True)
            past = answer.past_key_values
            unread = torch.tensor([[(yield answer.logits[0, -1])]])


class Plain:
    """A folder as the decoder in plain PyTorch reads it."""

    def __init__(self, folder):
        config, tensors = read(folder)
        wanted = names(config)
        expect(wanted == set(tensors), f"tensors: missing {wanted - set(tensors)}, too many {set(tensors) - wanted}")
        self.model = Decoder(config, tensors)

    def logits(self, tokens):
        return self.model.logits(self.model.states(torch.tensor([tokens]))[0])

    def next(self, prompt):
        unread, start, caches = torch.tensor([prompt]), 0, self.model.caches(1, self.model.cosines.shape[0])
        while True:
            states = self.model.states(unread, start, caches)[:, -1]
            start += unread.shape[1]
            unread = torch.tensor([[(yield self.model.logits(states)[0])]])


def names(config):
    """Tensors of a Qwen3 model, as its own code names them."""
    parts = [f"self_attn.{part}_proj" for part in "qkvo"] + ["self_attn.q_norm", "self_attn.k_norm"]
    parts += [f"mlp.{part}_proj" for part in ("gate", "up", "down")] + ["input_layernorm", "post_attention_layernorm"]
    found = {f"model.layers.{layer}.{part}.weight" for layer in range(config["num_hidden_layers"]) for part in parts}
    found |= {"model.embed_tokens.weight", "model.norm.weight"}
    return found if config["tie_word_embeddings"] else found | {"lm_head.weight"}


def read_qwen3_config(config):
    """What its own code wants of `config.json`."""
    expect(config["architectures"] == ["Qwen3ForCausalLM"] and config["model_type"] == "qwen3", "the architecture is another")
    expect(config["attention_bias"] is False and config["use_sliding_window"] is False, "biases or windows are on")
    expect(config["hidden_act"] == "silu" and config["rope_scaling"] is None, "another activation or embedding of positions")


def greedy(side, prompt, count, stops):
    steps, tokens = side.next(prompt), []
    logits = next(steps)
    while True:
        tokens.append(int(logits.argmax()))
        if len(tokens) == count or tokens[-1] in stops:
            return tokens
        logits = steps.send(tokens[-1])


def slow_pieces(folder):
    """Byte-level pair encoding in Python alone, for vocabularies whose digits stand alone."""
    with open(os.path.join(folder, "tokenizer.json")) as file:
        model = json.load(file)["model"]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    where = os.path.join(folder, "slow")
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, "vocab.json"), "w") as file:
        json.dump(model["vocab"], file)
    with open(os.path.join(where, "merges.txt"), "w") as file:
        file.write("\n".join(["#version: 0.2", *merges]) + "\n")
    slow = GPT2Tokenizer(os.path.join(where, "vocab.json"), os.path.join(where, "merges.txt"))

    def encode(text):
        return [token for piece in split_digits(text) for token in slow.convert_tokens_to_ids(slow._tokenize(piece))]

    return encode


def split_digits(text):
    """Every numeric character, of any script, is a piece of its own."""
    pieces = [""]
    for character in text:
        if unicodedata.category(character).startswith("N"):
            pieces += [character, ""]
        else:
            pieces[-1] += character
    return [piece for piece in pieces if piece]


def check_tokens(folder, texts):
    """The saved tokenizer under both its readers, and real vocabularies also against pair encoding in Python."""
    plain = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    reader = AutoTokenizer.from_pretrained(folder)
    slow = slow_pieces(folder) if plain.get_vocab_size() > 10_000 else None
    for entry in texts:
        text, wanted = entry["text"], entry["tokens"]
        for side, found in [
            ("tokenizers", plain.encode(text, add_special_tokens=False).ids),
            ("transformers", reader.encode(text, add_special_tokens=False)),
            ("pair encoding in Python", slow(text) if slow else wanted),
        ]:
            expect(found == wanted, f"{side} makes {found} of {text!r}, expected {wanted}")
        expect(reader.decode(wanted) == text, f"transformers reads {reader.decode(wanted)!r} for {text!r}")


def check_chat(folder, expected):
    """The saved template makes the same prompt, and `generate` the same answer."""
    reader = AutoTokenizer.from_pretrained(folder)
    if reader.chat_template is None or "question" not in expected:
        return ""
    messages = [{"role": "user", "content": expected["question"]}]
    prompt = reader.apply_chat_template(messages, add_generation_prompt=True)
    expect(prompt == expected["prompt"], f"the template makes {prompt}, expected {expected['prompt']}")
    return f", {reader.decode(expected['answer'], skip_special_tokens=True)!r}"


def adapted_logits(folder, tokens):
    """Logits of the model that the low-rank parts below `folder` name, with those parts beside it."""
    from peft import PeftModel

    adapter = os.path.join(folder, "adapter")
    with open(os.path.join(adapter, "adapter_config.json")) as file:
        base = json.load(file)["base_model_name_or_path"]
    model = AutoModelForCausalLM.from_pretrained(os.path.join(folder, base))
    return PeftModel.from_pretrained(model, adapter).eval()(torch.tensor([tokens])).logits[0]


@torch.no_grad()
def check(folder):
    """Answers what was compared."""
    with open(os.path.join(folder, "expected.json")) as file:
        expected = json.load(file)
    with open(os.path.join(folder, "config.json")) as file:
        config = json.load(file)
    if config["model_type"] == "qwen3":
        read_qwen3_config(config)
        side, by = Plain(folder), "plain PyTorch"
    else:
        AutoConfig.from_pretrained(folder)
        side, by = Transformers(folder), "transformers"
    apart = ""
    if "logits" in expected:
        wanted = torch.tensor(expected["logits"]).view(len(expected["tokens"]), -1)
        difference = float((side.logits(expected["tokens"]) - wanted).abs().max())
        expect(difference < LOGIT_DIFFERENCE_MAX, f"logits lie {difference:.2e} apart")
        expect(float(wanted.abs().max()) > 0.3, "weights too small to tell anything")
        apart = f"logits at most {difference:.1e} apart, "
        if os.path.isdir(os.path.join(folder, "adapter")):
            difference = float((adapted_logits(folder, expected["tokens"]) - wanted).abs().max())
            expect(difference < LOGIT_DIFFERENCE_MAX, f"logits with the adapter lie {difference:.2e} apart")
            apart += f"with the adapter in peft {difference:.1e}, "
    answer = expected["answer"]
    found = greedy(side, expected["prompt"], len(answer), expected.get("stops", []))
    expect(found == answer, f"answers {found}, expected {answer}")
    check_tokens(folder, expected["texts"])
    said = check_chat(folder, expected)
    return f"{by}: {apart}{len(answer)} greedy tokens and {len(expected['texts'])} texts alike{said}"


def main():
    root = sys.argv[1]
    folders = sorted(name for name in os.listdir(root) if os.path.exists(os.path.join(root, name, "expected.json")))
    if not folders:
        sys.exit(f"{root} holds no folder with expected.json")
    failed = 0
    for name in folders:
        try:
            print(f"{name}: {check(os.path.join(root, name))}", flush=True)
        except Differs as difference:
            failed += 1
            print(f"{name}: FAILED: {difference}", flush=True)
    print(f"{len(folders) - failed} of {len(folders)} folders are read alike")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
