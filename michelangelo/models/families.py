"""Which family a model belongs to, by its name, and whether models of that name think before they answer."""

from __future__ import annotations

import re

_FAMILIES = (
    ("gpt-oss", r"gpt-?oss"),
    ("o-series", r"(?<![a-z0-9])o[1-9](?![a-z0-9])"),
    ("gpt", r"gpt|davinci|babbage|codex"),
    ("claude", r"claude"),
    ("gemini", r"gemini"),
    ("gemma", r"gemma"),
    ("activation-beacon", r"activation-beacon"),
    ("chatqa", r"chatqa"),
    ("longalpaca", r"longalpaca"),
    ("longchat", r"longchat"),
    ("megabeam", r"megabeam"),
    ("prolong", r"prolong"),
    ("yarn", r"^yarn|-yarn-"),
    ("deepseek", r"deepseek"),
    ("nemotron", r"nemotron"),
    ("hermes", r"hermes"),
    ("smollm", r"smol-?lm"),
    ("qwen", r"qwen|qwq"),
    ("mistral", r"mistral|mixtral|ministral|magistral|codestral|devstral|pixtral"),
    ("grok", r"grok"),
    ("glm", r"glm"),
    ("kimi", r"kimi|moonshot"),
    ("minimax", r"minimax|abab"),
    ("phi", r"(?<![a-z])phi(?![a-z])"),
    ("command", r"command|c4ai|(?<![a-z])aya(?![a-z])"),
    ("nova", r"(?<![a-z])nova(?![a-z])"),
    ("llama", r"llama"),
    ("jamba", r"jamba"),
    ("dbrx", r"dbrx"),
    ("granite", r"granite"),
    ("olmo", r"olmo"),
    ("falcon", r"falcon"),
    ("internlm", r"internlm"),
    ("ernie", r"ernie"),
    ("hunyuan", r"hunyuan"),
    ("seed", r"(?<![a-z])seed(?![a-z])|doubao"),
    ("yi", r"(?<![a-z])yi(?![a-z])"),
    ("exaone", r"exaone"),
    ("rwkv", r"rwkv|eagle-7b"),
    ("mamba", r"mamba"),
    ("lfm", r"(?<![a-z])lfm"),
)

_THINKS = re.compile(
    r"(?<![a-z0-9])o[1-9](?![a-z0-9])|gpt-?oss|gpt-[5-9](?!\S*chat)|codex|thinking|reason|(?<![a-z])r1(?![a-z0-9])|qwq|qwen-?3"
    r"|magistral|glm-?(?:4\.[5-9]|[5-9])|kimi-?k2\.[5-9]|minimax-?m|grok-?(?:3-mini|[4-9])|nemotron|smollm-?3|seed"
    r"|deepseek-?v(?:3\.[1-9]|[4-9])|gemini-?(?:2\.5|[3-9])|claude-(?:(?:opus|sonnet|haiku|fable)-)?[4-9]|gemma-?[4-9]"
)
_NEVER_THINKS = re.compile(
    r"non-?(?:thinking|reasoning)|instruct-2507|qwen-?3\S*-(?:instruct|coder|base)|qwen-?3-next\S*-instruct"
)


def family_of(model: str) -> str:
    """The family of a model, as a slug for grouping curves.

    Gateways and organisations before a slash don't count: ``openrouter/anthropic/claude-4`` is ``claude``. A
    fine-tune known by a name of its own has its own family; a distilled model belongs to its maker. What isn't known
    is called by the first word of its name.

    >>> family_of("meta-llama/Llama-3.1-8B-Instruct"), family_of("openai/o3-mini"), family_of("wonder-7b")
    ('llama', 'o-series', 'wonder')
    """
    own = _own_name(model)
    for text in (own, model.lower().replace("_", "-")):
        for family, pattern in _FAMILIES:
            if re.search(pattern, text):
                return family
    word = re.search(r"[a-z]+", own)
    return word.group() if word else "other"


def thinks(model: str) -> bool:
    """Whether a model of this name thinks before it answers unless told not to; needs a larger output budget."""
    own = _own_name(model)
    return bool(_THINKS.search(own)) and not _NEVER_THINKS.search(own)


def _own_name(model: str) -> str:
    return model.split("?")[0].rstrip("/").split("/")[-1].lower().replace("_", "-").replace(" ", "-")
