"""Published models of small sizes with random weights, as `transformers` builds and saves them."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import torch

try:
    import torchvision  # noqa: F401
except (ImportError, RuntimeError):  # absent, or built for another torch: nothing here needs it
    for name in ("transformers.utils", "transformers.utils.import_utils"):
        cast(Any, import_module(name)).is_torchvision_available = lambda: False
transformers: Any = import_module("transformers")

M2M_CODES = ("en", "de", "fr", "zh")
SMALL = {  # of the classes that follow BART
    "d_model": 32,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
}
SCRIPTS = (
    "The old man sees a small house near the river and he likes its “red” door.",
    "Die Katze läuft über die Straße – schnell, wie immer – und trinkt « Milch ».",
    "Ο σκύλος κοιμάται κάτω από το τραπέζι της κουζίνας.",
    "Кошка спит на окне, а собака гуляет в парке.",
    "القط ينام على السرير في البيت الكبير",
    "बिल्ली खिड़की के पास सोती है",
    "猫は窓のそばで寝ています。今日は良い天気です。",
    "小狗在花园里跑来跑去，孩子们很高兴。",
)


def lines(count: int) -> list[str]:
    """Return lines in several scripts, no two of them equal."""
    found: list[str] = []
    for number in range(count):
        words = SCRIPTS[number % len(SCRIPTS)].split(" ")
        turn = number // len(SCRIPTS) % len(words)
        found.append(" ".join([*words[turn:], *words[:turn]]) + f" {number}")
    return found


def sentencepiece(texts: Iterable[str], size: int, kind: str = "unigram", **more: Any) -> bytes:
    """Return a SentencePiece model as publishers train it: with normalisation, without bytes."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*texts]),
        model_writer=model,
        vocab_size=size,
        model_type=kind,
        hard_vocab_limit=False,
        minloglevel=2,
        **more,
    )
    return model.getvalue()


def pieces(model: bytes) -> list[str]:
    """Return the pieces of a SentencePiece model."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor()
    processor.load_from_serialized_proto(model)
    return [processor.id_to_piece(number) for number in range(len(processor))]


@torch.no_grad()
def randomised(model: Any, scale: float = 0.3) -> Any:
    """Return a model with larger random weights, no bias or norm of which is trivial."""
    torch.manual_seed(2)
    for name, parameter in model.named_parameters():
        if "embed_positions" in name:
            continue  # a table, not weights
        if parameter.dim() > 1:
            parameter.mul_(4)
        else:
            parameter.add_(torch.randn_like(parameter), alpha=scale)
    return model.eval()


def taught(model: Any, inputs: Any, labels: list[list[int]], steps: int = 120) -> Any:
    """Return a model after some updates, so that its outputs differ and end. inputs: of `model`."""
    longest, optimiser = max(map(len, labels)), torch.optim.Adam(model.parameters(), 0.004)
    padded = torch.tensor([[*ids, *[-100] * (longest - len(ids))] for ids in labels])
    torch.manual_seed(3)
    for _ in range(steps):
        rows = torch.randint(len(padded), (24,))
        optimiser.zero_grad()
        model(
            **{name: part[rows] for name, part in inputs.items()}, labels=padded[rows]
        ).loss.backward()
        optimiser.step()
    return model.eval()


def once(write: Callable[..., Any]) -> Callable[..., Any]:
    """Write a model once in a process, copy its files afterwards. Do not change it."""
    made: dict[str, tuple[tempfile.TemporaryDirectory[str], Any]] = {}

    @wraps(write)
    def copied(folder: Path, *words: Any, **options: Any) -> Any:
        key = repr((words, sorted(options.items())))
        if key not in made:
            place = tempfile.TemporaryDirectory()
            made[key] = place, write(Path(place.name), *words, **options)
        shutil.copytree(made[key][0].name, folder, dirs_exist_ok=True)
        return made[key][1]

    return copied


@once
def marian(
    folder: Path,
    *,
    languages: Sequence[str] = (),
    separate: bool = False,
    learns: bool = True,
) -> Any:
    """Write a Marian model into a folder; return it. learns: False for no training."""
    folder.mkdir(parents=True, exist_ok=True)
    sides = [sentencepiece(lines(200), 400), sentencepiece(lines(300)[100:], 380)]
    for name, side in zip(("source.spm", "target.spm"), sides, strict=True):
        (folder / name).write_bytes(side)
    own = [pieces(side)[3:-3] for side in sides]
    codes = [f">>{code}<<" for code in languages]
    if separate:
        longest = max(map(len, own))  # both have one id for <pad>
        fill = [[f"fill{n}" for n in range(longest - len(side))] for side in own]
        vocabularies = [
            ["</s>", "<unk>", *side, *more, "<pad>"] for side, more in zip(own, fill, strict=True)
        ]
        names = ["vocab.json", "target_vocab.json"]
    else:
        both = dict.fromkeys([*own[0], *own[1]])
        vocabularies, names = [["</s>", "<unk>", *both, *codes, "<pad>"]], ["vocab.json"]
    for name, tokens in zip(names, vocabularies, strict=True):
        ids = {token: number for number, token in enumerate(tokens)}
        (folder / name).write_text(json.dumps(ids), "utf-8")
    pad, target = len(vocabularies[0]) - 1, len(vocabularies[-1])
    config = transformers.MarianConfig(
        vocab_size=pad + 1,
        decoder_vocab_size=target,
        pad_token_id=pad,
        eos_token_id=0,
        bos_token_id=0,
        decoder_start_token_id=target - 1,
        forced_eos_token_id=None,
        scale_embedding=True,
        activation_function="swish",
        share_encoder_decoder_embeddings=not separate,
        tie_word_embeddings=not separate,
        max_position_embeddings=512,
        **SMALL,
    )
    config._attn_implementation = "eager"
    torch.manual_seed(1)
    model = randomised(transformers.MarianMTModel(config))
    with torch.no_grad():
        model.final_logits_bias += torch.randn_like(model.final_logits_bias) / 4
    tokenizer_config = {"source_lang": "en", "target_lang": "de", "separate_vocabs": separate}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    if learns:
        tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
        inputs = tokenizer(lines(80), return_tensors="pt", padding=True)
        targets = tokenizer(text_target=lines(80))["input_ids"]
        taught(model, inputs, [[*ids[1 : 3 + n % 5], 0] for n, ids in enumerate(targets)])
    model.generation_config = transformers.GenerationConfig(
        num_beams=4,
        pad_token_id=pad,
        eos_token_id=0,
        decoder_start_token_id=target - 1,
        bad_words_ids=[[target - 1], [1]],
        max_length=100,
    )
    model.save_pretrained(folder)
    return model


@once
def m2m100(folder: Path, kind: str = "m2m100", languages: Sequence[str] = ()) -> Any:
    """Write a model of the kind m2m100, nllb or small100 into a folder; return it.

    languages: of a model that learns nothing; the default is a few, and some training.
    """
    folder.mkdir(parents=True, exist_ok=True)
    side = sentencepiece(lines(200), 500, "bpe")
    (folder / "sentencepiece.bpe.model").write_bytes(side)
    own, first, learns = pieces(side)[3:], ["<s>", "<pad>", "</s>", "<unk>"], not languages
    named: dict[str, Any] = {"tokenizer_class": "M2M100Tokenizer"}
    if kind == "nllb":
        languages = languages or ["eng_Latn", "deu_Latn", "zho_Hans", "zho_Hant"]
        tokens = [*first, *own, *languages, "<mask>"]
        named = {"tokenizer_class": "NllbTokenizer"}
    else:
        languages = [f"__{code}__" for code in M2M_CODES]
        tokens = [*first, *own[:-5], *languages]
        ids = {token: number for number, token in enumerate([*first, *own[:-5]])}
        (folder / "vocab.json").write_text(json.dumps(ids), "utf-8")
    if kind == "small100":
        named = {"tokenizer_class": "SMALL100Tokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))
    listed = {"additional_special_tokens": [*languages]}
    (folder / "special_tokens_map.json").write_text(json.dumps(listed))
    config = transformers.M2M100Config(
        vocab_size=len(tokens) + (2 if kind == "nllb" else 8),
        **SMALL,
        max_position_embeddings=256,
        scale_embedding=True,
        dropout=0.0,
    )
    config._attn_implementation = "eager"
    torch.manual_seed(1)
    model = randomised(transformers.M2M100ForConditionalGeneration(config))
    rows = [[tokens.index(languages[0]), *range(4 + n, 9 + n), 2] for n in range(80)]
    sources = {"input_ids": torch.tensor(rows), "attention_mask": torch.ones(80, 7).long()}
    begin = [] if kind == "small100" else [tokens.index(languages[1])]
    if learns:
        taught(model, sources, [[*begin, *ids[1 : 3 + n % 4], 2] for n, ids in enumerate(rows)])
    model.generation_config = transformers.GenerationConfig(
        num_beams=5,
        pad_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=2,
        max_length=200,
    )
    model.save_pretrained(folder)
    return model


def only_languages(kind: Any, codes: Sequence[str]) -> None:
    """Let the tokenizer of M2M-100 have these languages alone, in this order."""
    module: Any = import_module(kind.__module__)
    module.FAIRSEQ_LANGUAGE_CODES = {"m2m100": [*codes]}


CAPTIONS = [line.lower() for line in lines(40)]
VISION = {
    "hidden_size": 20,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 80,
    "image_size": 32,
    "patch_size": 8,
}


@once
def blip(folder: Path) -> Any:
    """Write a BLIP captioner into a folder; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    signs = sorted({sign for line in CAPTIONS for sign in line if sign != " "})
    whole = dict.fromkeys(word for line in CAPTIONS for word in line.split() if word.isalpha())
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*dict.fromkeys([*special, *signs, *(f"##{s}" for s in signs), *whole])]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", "utf-8")
    mean, deviation = [0.48, 0.46, 0.41], [0.27, 0.26, 0.28]
    pixels = {"image_mean": mean, "image_std": deviation, "resample": 3}
    (folder / "preprocessor_config.json").write_text(json.dumps(pixels))
    text = {
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 40,
        "vocab_size": len(words) + 2,
        "encoder_hidden_size": VISION["hidden_size"],
        "max_position_embeddings": 48,
        "bos_token_id": len(words),
        "sep_token_id": 3,
        "pad_token_id": 0,
        "eos_token_id": 2,
    }
    config = transformers.BlipConfig(text_config=text, vision_config=VISION)
    torch.manual_seed(1)
    model = randomised(transformers.BlipForConditionalGeneration(config))
    return captions_taught(model, folder)


def vit_gpt2(folder: Path, kind: str = "vit") -> Any:
    """Write a captioner of ViT or DeiT and GPT-2 into a folder; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    bpe = import_module("tokenizers.implementations").ByteLevelBPETokenizer()
    bpe.train_from_iterator(lines(100), vocab_size=420, special_tokens=["<|endoftext|>"])
    bpe.save_model(str(folder))
    pixels = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "resample": 2}
    (folder / "preprocessor_config.json").write_text(json.dumps(pixels))
    text = transformers.GPT2Config(
        n_embd=24,
        n_layer=2,
        n_head=4,
        n_positions=48,
        vocab_size=bpe.get_vocab_size(),
        bos_token_id=0,
        eos_token_id=0,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    vision = (
        transformers.DeiTConfig(**VISION) if kind == "deit" else transformers.ViTConfig(**VISION)
    )
    join = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs
    config = join(vision, text)
    config._attn_implementation = "eager"
    torch.manual_seed(1)
    model = randomised(transformers.VisionEncoderDecoderModel(config))
    model.config.pad_token_id = model.config.decoder_start_token_id = 0
    model.config.eos_token_id = 0
    model.generation_config = transformers.GenerationConfig(
        num_beams=4, max_length=16, pad_token_id=0, decoder_start_token_id=0, eos_token_id=0
    )
    return captions_taught(model, folder)


def captions_taught(model: Any, folder: Path) -> Any:
    """Save a captioner after its output depends on the image and ends; return it."""
    torch.manual_seed(4)
    pixels = torch.randn(24, 3, 32, 32)
    end = 3 if hasattr(model, "text_decoder") else 0
    start = model.config.text_config.bos_token_id if hasattr(model, "text_decoder") else 0
    optimiser = torch.optim.Adam(model.parameters(), 0.004)
    ids = torch.tensor(
        [[start, *(10 + (n * 7 + k) % 50 for k in range(5)), end] for n in range(24)]
    )
    for _ in range(100):
        optimiser.zero_grad()
        logits = caption_logits(model, pixels, ids[:, :-1])
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimiser.step()
    model.eval().save_pretrained(folder)
    return model


def caption_logits(model: Any, pixels: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return the logits (B, T, Y) after the given ids."""
    if not hasattr(model, "text_decoder"):
        return cast(torch.Tensor, model(pixel_values=pixels, decoder_input_ids=ids).logits)
    slots = model.vision_model(pixel_values=pixels)[0]
    return cast(torch.Tensor, model.text_decoder(ids, encoder_hidden_states=slots).logits)


SPOKEN_CODES = ("en", "de", "fr")
SECONDS = 3  # of a window of the tiny Whisper
STEP = 0.02  # seconds from one timestamp token to the next


def spoken_tokens() -> list[str]:
    """Return Whisper's special tokens in their order, timestamps last."""
    tasks = ("translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps")
    names = ("endoftext", "startoftranscript", *SPOKEN_CODES, *tasks)
    times = (f"<|{STEP * n:.2f}|>" for n in range(round(SECONDS / STEP) + 1))
    return [*(f"<|{name}|>" for name in names), *times]


def whisper(folder: Path, *, steps: int = 40) -> Any:
    """Write a Whisper model with windows of 3 s into a folder; return it. steps: of training."""
    folder.mkdir(parents=True, exist_ok=True)
    bpe = import_module("tokenizers.implementations").ByteLevelBPETokenizer()
    bpe.train_from_iterator(lines(100), vocab_size=300)
    content, special = json.loads(bpe.to_str()), spoken_tokens()
    words = bpe.get_vocab_size() + 1
    content["model"]["vocab"][""] = words - 1  # as in models of several languages
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    content["added_tokens"] = [
        {"id": words + n, "content": token, "special": not token[2:3].isdigit(), **flags}
        for n, token in enumerate(special)
    ]
    (folder / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    ids = {token: words + n for n, token in enumerate(special)}
    end, start = ids["<|endoftext|>"], ids["<|startoftranscript|>"]
    sound = {"feature_size": 80, "sampling_rate": 16000, "hop_length": 160, "n_fft": 400}
    sound |= {"chunk_length": SECONDS, "n_samples": SECONDS * 16000}
    (folder / "preprocessor_config.json").write_text(json.dumps(sound))
    config = transformers.WhisperConfig(
        vocab_size=words + len(special),
        **{**SMALL, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64},
        max_source_positions=SECONDS * 50,
        max_target_positions=48,
        pad_token_id=end,
        bos_token_id=end,
        eos_token_id=end,
        decoder_start_token_id=start,
        dropout=0.0,
    )
    config._attn_implementation = "eager"
    torch.manual_seed(1)
    model = randomised(transformers.WhisperForConditionalGeneration(config), 0.1)
    begin = [start, ids["<|en|>"], ids["<|transcribe|>"]]
    first = ids["<|0.00|>"]
    rows = [
        [*begin, first, *(7 + (n * 5 + k) % 40 for k in range(4)), first + 50 + n]
        + [first + 50 + n, 60 + n, 61, first + 100 + n, end]
        if n % 2
        else [*begin, ids["<|notimestamps|>"], *(20 + (n * 7 + k) % 40 for k in range(n % 9)), end]
        for n in range(24)
    ]
    sounds = torch.randn(24, 80, SECONDS * 100) / 4 + torch.randn(24, 80, 1)
    taught(model, {"input_features": sounds}, [row[1:] for row in rows], steps)
    suppressed = ("startoftranscript", "translate", "transcribe", "startoflm", "startofprev")
    names = [f"<|{name}|>" for name in (*suppressed, "nospeech")]
    model.generation_config = transformers.GenerationConfig(
        is_multilingual=True,
        lang_to_id={f"<|{code}|>": ids[f"<|{code}|>"] for code in SPOKEN_CODES},
        task_to_id={name: ids[f"<|{name}|>"] for name in ("transcribe", "translate")},
        no_timestamps_token_id=ids["<|notimestamps|>"],
        prev_sot_token_id=ids["<|startofprev|>"],
        suppress_tokens=[1, 2, 5, *(ids[name] for name in names)],
        begin_suppress_tokens=[bpe.token_to_id("\u0120"), end],
        alignment_heads=[[0, 1], [1, 0], [1, 3]],
        max_initial_timestamp_index=50,
        max_length=48,
        pad_token_id=end,
        bos_token_id=end,
        eos_token_id=end,
        decoder_start_token_id=start,
    )
    model.save_pretrained(folder)
    return model


def spoken_forms(place: Path) -> Sequence[str]:
    """Write the Whisper model of `place`/hub in every other form; return the names of all."""
    converters: Any = import_module("ctranslate2.converters")
    for kind in ("float32", "float16", "int8"):
        made = converters.TransformersConverter(str(place / "hub"))
        made.convert(str(place / kind), quantization=kind)
    tokens = json.loads((place / "float32" / "vocabulary.json").read_text())
    for form, text in (("json", json.dumps(tokens)), ("txt", "\n".join(tokens) + "\n")):
        shutil.copytree(place / "float32", place / f"float32-{form}")
        (place / f"float32-{form}" / "vocabulary.json").unlink()
        (place / f"float32-{form}" / f"vocabulary.{form}").write_text(text, "utf-8")
    for kind in ("float32", "float16", "int8"):
        shutil.copy(place / "hub" / "tokenizer.json", place / kind)
    model = transformers.WhisperForConditionalGeneration.from_pretrained(place / "hub")
    state = {
        openai_name(name): tensor
        for name, tensor in model.state_dict().items()
        if not name.startswith("proj_out")
    }
    (place / "openai").mkdir()
    dims = {"n_text_head": model.config.decoder_attention_heads}
    torch.save({"dims": dims, "model_state_dict": state}, place / "openai" / "tiny.pt")
    shutil.copy(place / "hub" / "tokenizer.json", place / "openai")
    return ("hub", "float32", "float16", "int8", "float32-json", "float32-txt", "openai")


OPENAI = {  # parts of the hub's names, and of OpenAI's
    "encoder_attn_layer_norm": "cross_attn_ln",
    "self_attn_layer_norm": "attn_ln",
    "encoder_attn": "cross_attn",
    "self_attn": "attn",
    "final_layer_norm": "mlp_ln",
    "encoder.layer_norm": "encoder.ln_post",
    "decoder.layer_norm": "decoder.ln",
    "layers": "blocks",
    "q_proj": "query",
    "k_proj": "key",
    "v_proj": "value",
    "out_proj": "out",
    "fc1": "mlp.0",
    "fc2": "mlp.2",
    "embed_tokens": "token_embedding",
    "embed_positions.weight": "positional_embedding",
}


def openai_name(name: str) -> str:
    """Return OpenAI's name of weights of the hub."""
    name = name.removeprefix("model.")
    for theirs, ours in OPENAI.items():
        name = name.replace(theirs, ours)
    return name
