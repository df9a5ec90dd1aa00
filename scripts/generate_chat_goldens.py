#!/usr/bin/env python3
"""Writes tests/golden/chats.json: conversations as transformers turns them into ids, turn by turn.

Of each kind of template: the template, a tokenizer of 96 tokens, what is said in each turn, what the
model answers to it, as it writes it and as messages have it, and the ids of each turn's prompt and of
the answer. Templates are our own, in the manner of well-known models: they leave out reasoning of
turns that are over, trim texts or move the system's message, so that the next prompt is not always
the last text and more. Run it with what requirements-goldens.txt lists; the
file is checked in.
"""

import json
import pathlib
import sys

import tokenizers
import transformers
from tokenizers import decoders, models, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "golden" / "chats.json"
sys.path.insert(0, str(ROOT / "tests" / "python"))

from chat_templates import TEMPLATES  # noqa: E402

VOCABULARY = 96  # of the models in tests/golden/models

CHANNELS = """\
{{- '<|start|>system<|message|>' ~ (messages[0].content if messages[0].role == 'system' else 'sea') }}
{%- if tools %}{{ ' ' ~ tools | map(attribute='function.name') | join(' ') }}{% endif %}
{{- '<|end|>' }}
{%- set ns = namespace(last=-1) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
    {%- if m.role == 'assistant' %}
        {%- if m.reasoning_content and loop.index0 > ns.last %}
            {{- '<|start|>assistant<|channel|>analysis<|message|>' ~ m.reasoning_content ~ '<|end|>' }}
        {%- endif %}
        {%- for call in m.tool_calls or [] %}
            {{- '<|start|>assistant to=functions.' ~ call.function.name }}
            {{- '<|channel|>commentary json<|message|>' ~ call.function.arguments | tojson ~ '<|call|>' }}
        {%- endfor %}
        {%- if m.content %}
            {{- '<|start|>assistant<|channel|>final<|message|>' ~ m.content ~ '<|end|>' }}
        {%- endif %}
    {%- elif m.role == 'tool' %}
        {{- '<|start|>tool to=assistant<|channel|>commentary<|message|>' ~ m.content ~ '<|end|>' }}
    {%- elif m.role == 'user' %}
        {{- '<|start|>user<|message|>' ~ m.content ~ '<|end|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}
"""

TURNS_OF_TWO = """\
{{- bos_token }}
{%- set first = messages[0].content | trim ~ '\\n\\n' if messages[0].role == 'system' else '' %}
{%- for m in messages if m.role != 'system' %}
    {{- '<start_of_turn>' ~ ('model' if m.role == 'assistant' else m.role) ~ '\\n' }}
    {{- first if loop.first else '' }}{{ m.content | trim }}{{ '<end_of_turn>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}
"""

TOOLS = [
    {"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}},
]
CALL = {"id": "a", "type": "function", "function": {"name": "tide", "arguments": {"at": 3}}}


def user(text):
    return {"role": "user", "content": text}


def said(text, **more):
    return {"role": "assistant", "content": text, **more}


TOOL = {"role": "tool", "content": "4", "name": "tide", "tool_call_id": "a"}

# Of each: control tokens, the first two of which begin and end texts; the turns as what is said, what
# the model writes and what that means.
FAMILIES = {
    "reasoning": dict(
        template=TEMPLATES["turns"],
        controls=["<s>", "<|im_end|>", "<|im_start|>", "<think>", "</think>"],
        tools=TOOLS,
        system="be brief",
        turns=[
            ([user("tide?")], '<think>\nhm\n</think>\n\n<tool_call>\n{"name": "tide", "arguments": {"at": 3}}\n</tool_call><|im_end|>',
             said("", reasoning_content="hm", tool_calls=[CALL])),
            ([TOOL], "<think>\n4 it is\n</think>\n\nit is 4<|im_end|>", said("it is 4", reasoning_content="4 it is")),
            ([user("is it?")], "<think>\nhm\n</think>\n\nit is<|im_end|>", said("it is", reasoning_content="hm")),
            ([user("tide")], "4<|im_end|>", said("4")),
        ],
    ),
    "headers": dict(
        template=TEMPLATES["headers"],
        controls=["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"],
        arguments={"date_string": "now"},
        system="be brief",
        turns=[
            ([user("hi")], "hi there<|eot_id|>", said("hi there")),
            ([user(" and the tide ")], "4\n<|eot_id|>", said("4\n")),
            ([user("so")], "it is<|eot_id|>", said("it is")),
        ],
    ),
    "brackets": dict(
        template=TEMPLATES["brackets"],
        controls=["<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"],
        tools=TOOLS,
        system="brief",
        turns=[
            ([user("hi")], " hi there</s>", said(" hi there")),
            ([user("tide")], " 4</s>", said(" 4")),
            ([user("so")], "it is</s>", said("it is")),
        ],
    ),
    "channels": dict(
        template=CHANNELS,
        controls=["<s>", "<|return|>", "<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|call|>"],
        tools=TOOLS,
        system="brief",
        turns=[
            ([user("tide")],
             "<|channel|>analysis<|message|>hm<|end|><|start|>assistant to=functions.tide<|channel|>commentary json<|message|>{\"at\": 3}<|call|>",
             said("", reasoning_content="hm", tool_calls=[CALL])),
            ([TOOL], "<|channel|>final<|message|>it is 4<|return|>", said("it is 4")),
            ([user("so")],
             "<|channel|>analysis<|message|>so so<|end|><|start|>assistant<|channel|>final<|message|>it is<|return|>",
             said("it is", reasoning_content="so so")),
            ([user("hm")], "<|channel|>final<|message|>4<|return|>", said("4")),
        ],
    ),
    "turns of two": dict(
        template=TURNS_OF_TWO,
        controls=["<bos>", "<end_of_turn>", "<start_of_turn>"],
        system=" brief ",
        turns=[
            ([user("hi ")], "hi there\n<end_of_turn>", said("hi there\n")),
            ([user("tide")], "it is 4<end_of_turn>", said("it is 4")),
            ([user("so")], "4<end_of_turn>", said("4")),
        ],
    ),
}  # fmt: skip


def texts_of(family):
    """All that its tokenizer has to know."""
    environment = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(models.BPE()), bos_token=family["controls"][0],
        eos_token=family["controls"][1], chat_template=family["template"],
    )  # fmt: skip
    messages = [{"role": "system", "content": family["system"]}]
    for lines, answer, message in family["turns"]:
        messages += [*lines, message]
        yield answer
        yield environment.apply_chat_template(
            messages, tools=family.get("tools"), tokenize=False, add_generation_prompt=True,
            **family.get("arguments", {}),
        )  # fmt: skip


def tokenizer_of(family):
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=family["controls"], show_progress=False
    )
    tokenizer.train_from_iterator(texts_of(family), trainer)
    assert tokenizer.get_vocab_size() <= VOCABULARY, tokenizer.get_vocab_size()
    return tokenizer


def common(left, right):
    return next(
        (i for i, (a, b) in enumerate(zip(left, right)) if a != b), min(len(left), len(right))
    )


def conversation(name, family):
    core = tokenizer_of(family)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token=family["controls"][0], eos_token=family["controls"][1],
        chat_template=family["template"],
    )  # fmt: skip
    messages = [{"role": "system", "content": family["system"]}]
    turns, before = [], []
    for lines, answer, message in family["turns"]:
        messages += lines
        prompt = tokenizer.apply_chat_template(
            messages, tools=family.get("tools"), add_generation_prompt=True, return_dict=False,
            **family.get("arguments", {}),
        )  # fmt: skip
        messages.append(message)
        written = tokenizer(answer, add_special_tokens=False)["input_ids"]
        turns.append(
            {"said": lines, "answer": answer, "message": message, "prompt": prompt,
             "written": written, "known": common(before, prompt)}
        )  # fmt: skip
        before = prompt + written
    assert any(turn["known"] < len(last["prompt"] + last["written"])
               for last, turn in zip(turns, turns[1:])), name  # fmt: skip
    return {
        "name": name,
        "template": family["template"],
        "tokenizer": json.loads(core.to_str()),
        "config": {"bos_token": family["controls"][0], "eos_token": family["controls"][1]},
        "tools": family.get("tools"),
        "arguments": family.get("arguments", {}),
        "system": family["system"],
        "turns": turns,
    }


def main():
    document = {
        "transformers": transformers.__version__,
        "conversations": [conversation(name, family) for name, family in FAMILIES.items()],
    }
    FILE.write_text(json.dumps(document, ensure_ascii=True) + "\n")


if __name__ == "__main__":
    main()
