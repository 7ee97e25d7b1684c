"""Examples of the metrics' sources whose values are published, with what a faultless judge says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.servers.judge_labels import Labels


@dataclass(frozen=True)
class KnownExample:
    """A turn, its claims, which texts support them, and the values that follow.

    ``supported`` gives for each claim the texts, as ``1…n`` for passages and ``R`` for the
    reference; its own text supports every claim.
    """

    user_input: str
    response: str
    claims: Sequence[str]
    retrieved_contexts: Sequence[str]
    supported: Mapping[str, str]
    values: Mapping[str, float]
    reference: str | None = None
    reference_claims: Sequence[str] = ()
    #: Appended by ``noise_context``, and numbered behind the passages.
    noise: Sequence[str] = ()

    @property
    def fields(self) -> dict[str, Any]:
        """As the API takes them."""
        found: dict[str, Any] = {
            "user_input": self.user_input,
            "response": self.response,
            "retrieved_contexts": list(self.retrieved_contexts),
        }
        return found if self.reference is None else {**found, "reference": self.reference}

    def labels(self) -> Labels:
        """For a judge server."""
        texts = dict(enumerate([*self.retrieved_contexts, *self.noise], 1))
        named = {str(number): text for number, text in texts.items()}
        claims = {(self.user_input, self.response): tuple(self.claims)}
        own = {(claim, self.response) for claim in self.claims}
        if self.reference is not None:
            named["R"] = self.reference
            claims[self.user_input, self.reference] = tuple(self.reference_claims)
            own |= {(claim, self.reference) for claim in self.reference_claims}
        named["A"] = self.response
        pairs = {(claim, named[name]) for claim, names in self.supported.items() for name in names}
        return Labels(claims=claims, supported=frozenset(own | pairs))


LIC = KnownExample(
    "What is the Life Insurance Corporation of India (LIC) known for?",
    "The Life Insurance Corporation of India (LIC) is the largest insurance company in India, "
    "known for its vast portfolio of investments. LIC contributes to the financial stability of "
    "the country.",
    [
        "LIC is the largest insurance company in India.",
        "LIC is known for its vast portfolio of investments.",
        "LIC contributes to the financial stability of the country.",
    ],
    [
        "The Life Insurance Corporation of India (LIC) was established in 1956 following the "
        "nationalization of the insurance industry in India.",
        "LIC is the largest insurance company in India, with a vast network of policyholders and "
        "huge investments.",
        "As the largest institutional investor in India, LIC manages substantial funds, "
        "contributing to the financial stability of the country.",
        "The Indian economy is one of the fastest-growing major economies in the world, thanks to "
        "sectors like finance, technology, manufacturing etc.",
    ],
    {
        "LIC is the largest insurance company in India.": "2R",
        "LIC is known for its vast portfolio of investments.": "23R",
        "LIC contributes to the financial stability of the country.": "3",
        "LIC was established in 1956 by nationalization.": "1",
        "LIC manages a large portfolio of investments.": "23A",
    },
    {"noise_sensitivity_relevant": 1 / 3, "noise_sensitivity_irrelevant": 0.0},
    "The Life Insurance Corporation of India (LIC) is the largest insurance company in India, "
    "established in 1956 through the nationalization of the insurance industry. It is known for "
    "managing a large portfolio of investments.",
    [
        "LIC was established in 1956 by nationalization.",
        "LIC manages a large portfolio of investments.",
    ],
)

LIC_CHINESE = KnownExample(
    "印度人寿保险公司（LIC）以什么闻名？",
    "印度人寿保险公司（LIC）是印度最大的保险公司，以其庞大的投资组合而闻名。LIC为国家的金融稳定作出贡献。",
    ["LIC是印度最大的保险公司。", "LIC以其庞大的投资组合而闻名。", "LIC为国家的金融稳定作出贡献。"],
    [
        "印度人寿保险公司（LIC）于1956年在印度保险业国有化之后成立。",
        "LIC是印度最大的保险公司，拥有庞大的投保人网络和巨额投资。",
        "作为印度最大的机构投资者，LIC管理着大量资金，为国家的金融稳定作出贡献。",
        "印度经济是世界上增长最快的主要经济体之一，这得益于金融、技术、制造业等行业。",
    ],
    {
        "LIC是印度最大的保险公司。": "2R",
        "LIC以其庞大的投资组合而闻名。": "23R",
        "LIC为国家的金融稳定作出贡献。": "3",
        "LIC于1956年通过国有化成立。": "1",
        "LIC管理庞大的投资组合。": "23A",
    },
    {"noise_sensitivity_relevant": 1 / 3, "noise_sensitivity_irrelevant": 0.0},
    "印度人寿保险公司（LIC）是印度最大的保险公司，1956年通过保险业国有化成立，以管理庞大的投资组合而闻名。",
    ["LIC于1956年通过国有化成立。", "LIC管理庞大的投资组合。"],
)

SUPER_BOWL = KnownExample(
    "When was the first super bowl?",
    "The first superbowl was held on Jan 15, 1967",
    ["The first super bowl was held on 15 January 1967."],
    [
        "The First AFL–NFL World Championship Game was an American football game played on January "
        "15, 1967, at the Los Angeles Memorial Coliseum in Los Angeles."
    ],
    {"The first super bowl was held on 15 January 1967.": "1"},
    {"faithfulness": 1.0},
)

_EINSTEIN = (
    "Albert Einstein (born 14 March 1879) was a German-born theoretical physicist, widely held to "
    "be one of the greatest and most influential scientists of all time"
)


def _einstein(day: int, value: float) -> KnownExample:
    claims = ["Einstein was born in Germany.", f"Einstein was born on {day} March 1879."]
    return KnownExample(
        "Where and when was Einstein born?",
        f"Einstein was born in Germany on {day}th March 1879.",
        claims,
        [_EINSTEIN],
        {claims[0]: "1", claims[1]: "1" if day == 14 else ""},
        {"faithfulness": value},
    )


EINSTEIN_14, EINSTEIN_20 = _einstein(14, 1.0), _einstein(20, 0.5)

PYTHON = KnownExample(
    "What is Python?",
    "Python is a high-level language. JavaScript is also popular.",
    ["Python is a high-level language.", "JavaScript is also popular."],
    ["Python is a high-level programming language.", "JavaScript is a popular language."],
    {
        "Python is a high-level language.": "1R",
        "JavaScript is also popular.": "2",
        "Python is a high-level programming language.": "1A",
    },
    {
        "incorrect_claims": 0.5,
        "noise_sensitivity_relevant": 0.0,
        "noise_sensitivity_irrelevant": 0.5,
    },
    "Python is a high-level programming language.",
    ["Python is a high-level programming language."],
)

FRANCE = KnownExample(
    "What is the capital of France?",
    "The capital of France is Paris. The capital of Germany is Munich.",
    ["The capital of France is Paris.", "The capital of Germany is Munich."],
    ["Paris is the capital of France."],
    {
        "The capital of France is Paris.": "1R",
        "The capital of Germany is Munich.": "2",
        "Paris is the capital.": "1A",
    },
    {
        "incorrect_claims": 0.5,
        "noise_sensitivity_relevant": 0.0,
        "noise_sensitivity_irrelevant": 0.5,
    },
    "Paris.",
    ["Paris is the capital."],
    ["An old atlas says that Munich is the capital of Germany.", "Rome is famous for its food."],
)

EXAMPLES: Mapping[str, KnownExample] = {
    "LIC": LIC,
    "LIC in Chinese": LIC_CHINESE,
    "super bowl": SUPER_BOWL,
    "Einstein, 14 March": EINSTEIN_14,
    "Einstein, 20 March": EINSTEIN_20,
    "Python and JavaScript": PYTHON,
    "France with noise": FRANCE,
}
"""All of them, by name."""


def all_example_labels() -> Labels:
    """For one server that plays the judge of every example."""
    found = Labels()
    for example in EXAMPLES.values():
        found |= example.labels()
    return found
