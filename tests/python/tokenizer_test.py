"""Hearth's tokenizers give what Hugging Face's tokenizers and SentencePiece give, for small
vocabularies that they train here, on random texts of many scripts."""

import json
import os
import pathlib
import random
import subprocess
import unicodedata

import gguf
import pytest
import sentencepiece
import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

TOOL = os.environ.get("HEARTH_TOOL")
ROOT = pathlib.Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(not TOOL, reason="built without the hearth command")

COUNT = 20 * int(os.environ.get("HEARTH_TEST_EFFORT", "100"))
SCRIPTS = [
    (0x20, 0x7E), (0xA0, 0x17F), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x58A), (0x591, 0x5EA),
    (0x600, 0x6FF), (0x700, 0x74A), (0x780, 0x7B1), (0x900, 0x97F), (0x981, 0x9F9), (0xA01, 0xA75),
    (0xA81, 0xAEF), (0xB01, 0xB77), (0xB82, 0xBFA), (0xC01, 0xC3B), (0xC82, 0xCF2), (0xD05, 0xD3A),
    (0xD82, 0xDF4), (0xE01, 0xE5B), (0xE81, 0xEB7), (0xF00, 0xFBC), (0x1000, 0x109F),
    (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x135A), (0x13A0, 0x13F5), (0x1401, 0x167F),
    (0x16A0, 0x16EA), (0x1780, 0x17E9), (0x1810, 0x18AA), (0x1E00, 0x1EFF), (0x1F00, 0x1FFE),
    (0x2010, 0x205E), (0x20A0, 0x20BF), (0x2100, 0x218B), (0x2190, 0x22FF), (0x2460, 0x27BF),
    (0x2C60, 0x2C7F), (0x3001, 0x303F), (0x3041, 0x30FF), (0x3131, 0x318E), (0x4E00, 0x9FA5),
    (0xA000, 0xA48C), (0xAC00, 0xD7A3), (0xFB00, 0xFB17), (0xFF01, 0xFFEE), (0x10400, 0x1044F),
    (0x1D400, 0x1D7FF), (0x1F300, 0x1F5FF), (0x20000, 0x200FF),
]  # fmt: skip
LETTERS = [
    [chr(code) for code in range(first, last + 1) if unicodedata.category(chr(code)) != "Cn"]
    for first, last in SCRIPTS
]
MARKS = [chr(code) for code in range(0x300, 0x345)]
SPACES = [" ", "\n", "\t", "\r\n", "\r", "\u3000", "\xa0", "\x85", "\u2028", "  ", " " * 100]
ENDINGS = ["'s", "'S", "'t", "'RE", "'ve", "'LL", "'d", "'m", "'\u017f", "n't"]
SPECIALS = ["<|end|>", "<|user|>", "<tool>"]
EMOJI = ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "\u2764\ufe0f", "\U0001f1e9\U0001f1ea"]

SPACES_OF_LLAMA = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
CASELESS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = (
    CASELESS
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    + SPACES_OF_LLAMA
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
GPT4O = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CASELESS}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{CASELESS}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*{SPACES_OF_LLAMA}"
)


def words():
    text = "".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))
    return text.split()


WORDS = words()


def piece(draw):
    kind = draw.random()
    if kind < 0.35:
        return "".join(draw.choices(draw.choice(LETTERS), k=draw.randint(1, 8)))
    if kind < 0.6:
        return draw.choice(["", " "]) + draw.choice(WORDS)
    if kind < 0.65:
        return draw.choice(ENDINGS)
    if kind < 0.75:
        return draw.choice(SPACES) * draw.choice([1, 1, 2, 3])
    if kind < 0.82:
        return "".join(draw.choices("0123456789", k=draw.randint(1, 9)))
    if kind < 0.88:
        return "".join(draw.choices("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", k=draw.randint(1, 6)))
    if kind < 0.93:
        return draw.choice("aeo\xe7\u0915") + "".join(draw.choices(MARKS, k=draw.randint(1, 3)))
    if kind < 0.96:
        return draw.choice(EMOJI + ["\x00", "\x07", "\xad", "\u200b", "\ufeff", "\ue000"])
    special = draw.choice(SPECIALS)
    return special[: draw.choice([len(special), draw.randint(1, len(special))])]


def texts(seed, count=COUNT):
    draw = random.Random(seed)
    return ["".join(piece(draw) for _ in range(draw.randint(0, 9))) for _ in range(count)]


def run(path, lines, *flags):
    result = subprocess.run(
        [TOOL, "tokenize", str(path), "--lines", "--json", *flags],
        input="".join(line + "\n" for line in lines).encode(),
        check=True,
        capture_output=True,
        timeout=600,
    )
    return [json.loads(line) for line in result.stdout.split(b"\n")[:-1]]


def expect_same(path, samples, ids, decoded, *flags):
    got = [each["ids"] for each in run(path, [json.dumps(text) for text in samples], *flags)]
    for text, expected, found in zip(samples, ids, got, strict=True):
        assert found == expected, ascii(text)
    if decoded is not None:
        lines = [" ".join(map(str, each)) for each in ids]
        for text, expected, found in zip(samples, decoded, run(path, lines, "--decode")):
            assert found == expected, ascii(text)


def trained(model, trainer, **parts):
    tokenizer = tokenizers.Tokenizer(model)
    for name, part in parts.items():
        if part is not None:
            setattr(tokenizer, name, part)
    corpus = [" ".join(WORDS[at : at + 20]) for at in range(0, len(WORDS), 20)]
    tokenizer.train_from_iterator(corpus + texts(1, 1500), trainer)
    return tokenizer


def byte_level(*splits, normalizer=None):
    """A tokenizer over bytes that splits texts at each pattern in turn."""
    steps = [pre_tokenizers.Split(Regex(each), "isolated") for each in splits]
    tokenizer = trained(
        models.BPE(),
        trainers.BpeTrainer(
            vocab_size=3000,
            special_tokens=SPECIALS[:2],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
        normalizer=normalizer,
        pre_tokenizer=pre_tokenizers.Sequence(
            steps + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not splits)]
        ),
        decoder=decoders.ByteLevel(),
        post_processor=processors.ByteLevel(trim_offsets=False),
    )
    tokenizer.add_tokens([SPECIALS[2]])
    return tokenizer


DEEPSEEK = [
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*" + SPACES_OF_LLAMA,
]
FAMILIES = {
    "gpt-2": [],
    "starcoder": [r"\p{N}", None],
    "llama-bpe": [LLAMA3],
    "qwen2": [QWEN2],
    "gpt-4o": [GPT4O],
    "deepseek-v3": DEEPSEEK,
}

# Patterns as the models' own files have them, which GGUF files only name.
HAN = UPPER[:-1] + r"&&[^\p{Han}]]", LOWER[:-1] + r"&&[^\p{Han}]]"
NAMED = {
    "jais-2": [
        LLAMA3.split(r"|\s+(?!\S)")[0]
        + "".join(rf"|\s{{{count}}}(?!\S)" for count in (512, 256, 128, 64, 32, 16, 8, 4))
        + r"|\s{1,2}(?!\S)|\s{1}"
    ],
    "bailingmoe": [
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "seed-coder": [
        CASELESS
        + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+"
        + SPACES_OF_LLAMA
    ],
    "ufakzeka": [QWEN2.removeprefix(CASELESS + "|")],
    "exaone-moe": [
        CASELESS
        + r"|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}"
        + r"| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+"
    ],
    "minicpm5": [r"\p{N}{1,3}", LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}+")],
    "spark2_5": DEEPSEEK[:2]
    + [
        DEEPSEEK[2].replace(r"[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+", r"[\p{P}\p{S}]+|[\r\n]"),
        r"\p{N}",
    ],
    "youtu": [
        "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b"
        "\uff0c\u3001-\u303f\ufe30-\ufe4f]+|[\u3105-\u312f]+"
        "|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
        GPT4O.replace(r"\p{N}{1,3}", r"\p{N}"),
    ],
    "kimi-k2": [
        r"[\p{Han}]+|" + GPT4O.replace(UPPER, HAN[0]).replace(LOWER, HAN[1]).replace("/]*", "]*")
    ],
    "laguna": [r"[^\n]+|[\n]+", QWEN2],
    "granite-embed-multi-97m": [GPT4O],
    "tiny_aya": [r"\d{1,3}(?=(?:\d{3})*\b)", GPT4O],
    "superbpe": [r"\p{N}+", r"(?=(\d{3})+(?!\d))"],
    "afmoe": [
        r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))",
        "[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f"
        "\u2f00-\u2fdf\u0e40-\u0e7f\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f"
        "\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+",
        DEEPSEEK[2],
    ],
}
WHOLE_FIRST = ["minicpm5", "youtu", "granite-embed-multi-97m"]


def write_gguf(path, model, tokens, types, scores=None, **keys):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if scores is not None:
        writer.add_token_scores(scores)
    for key, value in keys.items():
        writer.add_key_value(f"tokenizer.ggml.{key}", *value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


@pytest.mark.parametrize("family", FAMILIES)
def test_byte_level(family, tmp_path):
    gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    tokenizer = byte_level(*[each or gpt2 for each in FAMILIES[family]])
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    samples = texts(2)
    for is_trusted in (True, False):
        tokenizer.encode_special_tokens = not is_trusted
        ids = [each.ids for each in tokenizer.encode_batch(samples)]
        flags = ["--special"] if is_trusted else []
        expect_same(path, samples, ids, tokenizer.decode_batch(ids), *flags)

    write_named(path.with_suffix(".gguf"), tokenizer, family)
    # There words that are tokens are taken whole, which these merges may not make.
    if family != "llama-bpe":
        expect_same(path.with_suffix(".gguf"), samples, ids, None, "--plain")


@pytest.mark.parametrize("name", NAMED)
def test_splits_by_name(name, tmp_path):
    tokenizer = byte_level(*NAMED[name])
    tokenizer.model.ignore_merges = name in WHOLE_FIRST
    tokenizer.encode_special_tokens = True
    samples = texts(3)
    if name == "superbpe":  # whose merges make the texts of control tokens, too
        samples = [text for text in samples if not any(each in text for each in SPECIALS)]
    ids = [each.ids for each in tokenizer.encode_batch(samples)]
    path = tmp_path / "tokenizer.gguf"
    write_named(path, tokenizer, name)
    expect_same(path, samples, ids, None, "--plain")


def test_words_between_spaces_by_name(tmp_path):
    tokenizer = trained(
        models.BPE(unk_token="<unk>"),
        trainers.BpeTrainer(
            vocab_size=2000, special_tokens=["<unk>"], limit_alphabet=300, show_progress=False
        ),
        pre_tokenizer=pre_tokenizers.WhitespaceSplit(),
    )
    tokenizer.encode_special_tokens = True
    samples = texts(12)
    ids = [each.ids for each in tokenizer.encode_batch(samples)]
    path = tmp_path / "tokenizer.gguf"
    unknown = (0, gguf.GGUFValueType.UINT32)
    write_named(path, tokenizer, "whitespace", model="whitespace", unknown_token_id=unknown)
    expect_same(path, samples, ids, None, "--plain")


def write_named(path, tokenizer, name, model="gpt2", **keys):
    """A GGUF file of a tokenizer of pairs, whose splits it names."""
    parts = json.loads(tokenizer.to_str())["model"]
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    tokens = [tokenizer.id_to_token(at) for at in range(tokenizer.get_vocab_size())]
    types = [
        gguf.TokenType.NORMAL if token not in special
        else gguf.TokenType.USER_DEFINED if token == SPECIALS[2]
        else gguf.TokenType.CONTROL
        for token in tokens
    ]  # fmt: skip
    string = gguf.GGUFValueType.STRING
    merges = [each if isinstance(each, str) else " ".join(each) for each in parts["merges"]]
    write_gguf(
        path, model, tokens, types, pre=(name, string),
        merges=(merges, gguf.GGUFValueType.ARRAY, string), **keys,
    )  # fmt: skip


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_normal_forms(form, tmp_path):
    normalizer = getattr(normalizers, form)()
    tokenizer = byte_level(QWEN2, normalizer=normalizer)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    # The other side's Unicode may be older.
    samples = [
        text for text in texts(3) if normalizer.normalize_str(text) == unicodedata.normalize(form, text)
    ]
    assert len(samples) > COUNT * 0.9
    tokenizer.encode_special_tokens = True
    expect_same(path, samples, [each.ids for each in tokenizer.encode_batch(samples)], None)


def test_pairs_of_code_points(tmp_path):
    bytes_of_all = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer = trained(
        models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True),
        trainers.BpeTrainer(
            vocab_size=2000, special_tokens=["<unk>"] + bytes_of_all, limit_alphabet=300,
            show_progress=False,
        ),
        normalizer=normalizers.Sequence(
            [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
        ),
        decoder=decoders.Sequence([
            decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]),
    )  # fmt: skip
    document = json.loads(tokenizer.to_str())
    document["added_tokens"] = document["added_tokens"][:1]  # bytes are no texts
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    tokenizer = tokenizers.Tokenizer.from_str(path.read_text())
    samples = texts(4)
    ids = [each.ids for each in tokenizer.encode_batch(samples)]
    expect_same(path, samples, ids, tokenizer.decode_batch(ids), "--special")


def test_unigram(tmp_path):
    tokenizer = trained(
        models.Unigram(),
        trainers.UnigramTrainer(
            vocab_size=9000, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
        ),
        pre_tokenizer=pre_tokenizers.Metaspace(),
        decoder=decoders.Metaspace(),
    )
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    samples = texts(5)
    ids = [each.ids for each in tokenizer.encode_batch(samples)]
    expect_same(path, samples, ids, None, "--special")


def test_marks_within_tokens(tmp_path):
    tokenizer = trained(
        models.BPE(unk_token="<unk>"),
        trainers.BpeTrainer(
            vocab_size=2000, special_tokens=["<unk>"], limit_alphabet=300, show_progress=False
        ),
        normalizer=normalizers.Lowercase(),
        pre_tokenizer=pre_tokenizers.Metaspace(split=False),
        decoder=decoders.Metaspace(),
    )
    tokenizer.add_tokens([tokenizers.AddedToken("<Tool>", normalized=True)])
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    samples = [text.replace("<tool>", "<TOOL>") for text in texts(13)]
    ids = [each.ids for each in tokenizer.encode_batch(samples)]
    expect_same(path, samples, ids, tokenizer.decode_batch(ids), "--special")


def is_as_in_python(character):
    """Whether the other side's Unicode, which is older, knows what BERT asks of a character."""
    kind = unicodedata.category(character)
    plain = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    is_dropped = kind[0] == "C" and character not in "\t\n\r"
    if (plain.normalize_str(character) == "") != is_dropped:
        return False
    pieces = pre_tokenizers.BertPreTokenizer().pre_tokenize_str(f"a{character}a")
    if (len(pieces) == 3) != (kind[0] == "P" or character in "$+<=>^`|~"):
        return False
    if is_dropped:
        return True
    marks_dropped = normalizers.BertNormalizer(lowercase=True).normalize_str(character)
    letters = unicodedata.normalize("NFD", character)
    lower = "".join(each.lower() for each in letters if unicodedata.category(each) != "Mn")
    return marks_dropped.strip() == lower.strip()


@pytest.mark.parametrize("lower", [True, False])
def test_word_pieces(lower, tmp_path):
    tokenizer = trained(
        models.WordPiece(unk_token="[UNK]"),
        trainers.WordPieceTrainer(
            vocab_size=2000, special_tokens=["[UNK]", "[CLS]", "[SEP]"], limit_alphabet=500,
            show_progress=False,
        ),
        normalizer=normalizers.BertNormalizer(lowercase=lower),
        pre_tokenizer=pre_tokenizers.BertPreTokenizer(),
        decoder=decoders.WordPiece(),
        post_processor=processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1)),
    )  # fmt: skip
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    samples = texts(6)
    known = {each for each in set("".join(samples)) if is_as_in_python(each)}
    samples = [text for text in samples if known.issuperset(text)]
    assert len(samples) > COUNT * 0.7
    ids = [each.ids for each in tokenizer.encode_batch(samples)]
    expect_same(path, samples, ids, None, "--special")


def fields(message):
    """Numbers and bytes of the fields of a protobuf message."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 0:
            yield key >> 3, number()
            continue
        size = {1: 8, 2: number if key & 7 == 2 else 8, 5: 4}[key & 7]
        size = size() if callable(size) else size
        yield key >> 3, message[at : at + size]
        at += size


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_sentencepiece(kind, tmp_path):
    corpus = tmp_path / "corpus.txt"
    lines = [" ".join(WORDS[at : at + 20]) for at in range(0, len(WORDS), 20)]
    samples = [text.replace("\x00", "") for text in texts(7)]
    corpus.write_text("\n".join(lines + [" ".join(text.split()) for text in samples[:500]]))
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(tmp_path / "m"), vocab_size=1500, model_type=kind,
        byte_fallback=kind == "bpe", character_coverage=0.98, minloglevel=2,
        normalization_rule_name="nmt_nfkc" if kind == "unigram" else "identity",
        remove_extra_whitespaces=kind == "unigram", hard_vocab_limit=False,
    )  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    count = model.get_piece_size()
    types = [
        gguf.TokenType.BYTE if model.is_byte(at)
        else gguf.TokenType.UNKNOWN if model.is_unknown(at)
        else gguf.TokenType.CONTROL if model.is_control(at)
        else gguf.TokenType.NORMAL
        for at in range(count)
    ]  # fmt: skip
    keys = {
        "unknown_token_id": (model.unk_id(), gguf.GGUFValueType.UINT32),
        "bos_token_id": (model.bos_id(), gguf.GGUFValueType.UINT32),
        "eos_token_id": (model.eos_id(), gguf.GGUFValueType.UINT32),
    }
    spec = dict(fields(dict(fields(model.serialized_model_proto()))[3]))
    if kind == "unigram":
        charsmap = list(spec[2])
        keys["precompiled_charsmap"] = (
            charsmap, gguf.GGUFValueType.ARRAY, gguf.GGUFValueType.UINT8,
        )  # fmt: skip
    path = tmp_path / "model.gguf"
    write_gguf(
        path, {"unigram": "t5", "bpe": "llama"}[kind],
        [model.id_to_piece(at) for at in range(count)], types,
        [model.get_score(at) for at in range(count)], **keys,
    )  # fmt: skip
    ids = [model.encode(text) for text in samples]
    if kind == "unigram":
        # Sums in another precision decide otherwise between ways that are equally good.
        got = run(path, [json.dumps(text) for text in samples], "--plain")
        for at, (text, found) in enumerate(zip(samples, got, strict=True)):
            sums = [sum(map(model.get_score, each)) for each in (found["ids"], ids[at])]
            texts_of = ["".join(map(model.id_to_piece, each)) for each in (found["ids"], ids[at])]
            if texts_of[0] == texts_of[1] and sums[0] == pytest.approx(sums[1], rel=1e-6):
                ids[at] = found["ids"]
    expect_same(path, samples, ids, None if kind == "unigram" else model.decode(ids), "--plain")
