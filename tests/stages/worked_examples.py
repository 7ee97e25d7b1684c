"""The worked examples of the metrics: texts, what a faultless judge says, and the values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.servers.judge_server import Labels


@dataclass(frozen=True)
class WorkedExample:
    """One of them; ``supports`` names for each passage, and the reference, the claims that hold.

    ``relevant`` are labels of the passages, where it has any. ``values`` are by metric.
    """

    name: str
    question: str
    response: str
    claims: Sequence[str]
    passages: Sequence[str]
    by_passage: Sequence[Sequence[str]]
    values: Mapping[str, float]
    reference: str | None = None
    reference_claims: Sequence[str] = ()
    by_reference: Sequence[str] = ()
    relevant: Sequence[bool] | None = None

    @property
    def labels(self) -> Labels:
        """For the judge's server."""
        claims = {(self.question, self.response): tuple(self.claims)}
        supported = {(claim, self.response) for claim in self.claims}
        for passage, found in zip(self.passages, self.by_passage, strict=True):
            supported |= {(claim, passage) for claim in found}
        if self.reference is not None:
            claims[self.question, self.reference] = tuple(self.reference_claims)
            supported |= {(claim, self.reference) for claim in self.reference_claims}
            supported |= {(claim, self.reference) for claim in self.by_reference}
        return Labels(claims=claims, supported=frozenset(supported))

    @property
    def row(self) -> dict[str, Any]:
        """As it is logged."""
        labels: Sequence[bool | None] = self.relevant or [None] * len(self.passages)
        passages = [
            text if label is None else {"text": text, "relevant": label}
            for text, label in zip(self.passages, labels, strict=True)
        ]
        return {
            "interaction_id": self.name,
            "user_input": self.question,
            "response": self.response,
            "retrieved_contexts": passages,
            "reference": self.reference,
        }


LIC: Final = WorkedExample(
    name="LIC",
    question="What is the Life Insurance Corporation of India (LIC) known for?",
    response="The Life Insurance Corporation of India (LIC) is the largest insurance company in "
    "India, known for its vast portfolio of investments. LIC contributes to the financial "
    "stability of the country.",
    claims=(
        "LIC is the largest insurance company in India.",
        "LIC is known for its vast portfolio of investments.",
        "LIC contributes to the financial stability of the country.",
    ),
    passages=(
        "LIC was established in 1956 following the nationalization of the insurance industry.",
        "LIC is the largest insurance company, with a vast network and huge investments.",
        "As the largest institutional investor in India, LIC manages substantial funds, and so "
        "contributes to the financial stability of the country.",
        "The Indian economy is one of the fastest growing in the world.",
    ),
    by_passage=(
        ("LIC was established in 1956.",),
        (
            "LIC is the largest insurance company in India.",
            "LIC is known for its vast portfolio of investments.",
        ),
        (
            "LIC contributes to the financial stability of the country.",
            "LIC is known for managing a large portfolio of investments.",
        ),
        (),
    ),
    reference="LIC is the largest insurance company in India, established in 1956. It is known for "
    "managing a large portfolio of investments.",
    reference_claims=(
        "LIC is the largest insurance company in India.",
        "LIC was established in 1956.",
        "LIC is known for managing a large portfolio of investments.",
    ),
    by_reference=("LIC is known for its vast portfolio of investments.",),
    values={"noise_sensitivity_relevant": 1 / 3, "noise_sensitivity_irrelevant": 0.0},
)
LIC_CHINESE: Final = WorkedExample(
    name="印度人寿",
    question="印度人寿保险公司(LIC)以什么闻名?",
    response="印度人寿保险公司是印度最大的保险公司,以庞大的投资组合闻名。它为国家的金融稳定作出贡献。",
    claims=("LIC是印度最大的保险公司。", "LIC以庞大的投资组合闻名。", "LIC为金融稳定作出贡献。"),
    passages=(
        "LIC于1956年在保险业国有化后成立。",
        "LIC是印度最大的保险公司,拥有庞大的投资。",
        "作为最大的机构投资者,LIC管理大量资金,为国家的金融稳定作出贡献。",
        "印度经济是世界上增长最快的经济体之一。",
    ),
    by_passage=(
        ("LIC于1956年成立。",),
        ("LIC是印度最大的保险公司。", "LIC以庞大的投资组合闻名。"),
        ("LIC为金融稳定作出贡献。", "LIC管理庞大的投资组合。"),
        (),
    ),
    reference="LIC是印度最大的保险公司,1956年成立,以管理庞大的投资组合闻名。",
    reference_claims=("LIC是印度最大的保险公司。", "LIC于1956年成立。", "LIC管理庞大的投资组合。"),
    by_reference=("LIC以庞大的投资组合闻名。",),
    values={"noise_sensitivity_relevant": 1 / 3, "noise_sensitivity_irrelevant": 0.0},
)
SUPER_BOWL: Final = WorkedExample(
    name="super bowl",
    question="When was the first super bowl?",
    response="The first superbowl was held on Jan 15, 1967",
    claims=("The first superbowl was held on Jan 15, 1967.",),
    passages=(
        "The First AFL-NFL World Championship Game was played on January 15, 1967, at the Los "
        "Angeles Memorial Coliseum in Los Angeles.",
    ),
    by_passage=(("The first superbowl was held on Jan 15, 1967.",),),
    values={"faithfulness": 1.0},
)
_EINSTEIN = (
    "Albert Einstein (born 14 March 1879) was a German-born theoretical physicist, widely held to "
    "be one of the greatest scientists of all time."
)


def _einstein(day: str, value: float) -> WorkedExample:
    claims = ("Einstein was born in Germany.", f"Einstein was born on {day} March 1879.")
    return WorkedExample(
        name=f"Einstein, {day} March",
        question="Where and when was Einstein born?",
        response=f"Einstein was born in Germany on {day}th March 1879.",
        claims=claims,
        passages=(_EINSTEIN,),
        by_passage=(claims[:1] if value < 1 else claims,),
        values={"faithfulness": value},
    )


EINSTEINS: Final = (_einstein("14", 1.0), _einstein("20", 0.5))
PYTHON: Final = WorkedExample(
    name="Python and JavaScript",
    question="What are the main features of Python?",
    response="Python is a high-level language. JavaScript is also popular.",
    claims=("Python is a high-level language.", "JavaScript is also popular."),
    passages=(
        "Python is a high-level language, known for its simplicity.",
        "JavaScript is popular for web development.",
    ),
    by_passage=(("Python is a high-level language.",), ("JavaScript is also popular.",)),
    reference="Python is a high-level language.",
    reference_claims=("Python is a high-level language.",),
    relevant=(True, False),
    values={
        "incorrect_claims": 0.5,
        "noise_sensitivity_relevant": 0.0,
        "noise_sensitivity_irrelevant": 0.5,
    },
)
_BERLIN = "Berlin is the capital of Germany."
FRANCE: Final = WorkedExample(
    name="France with noise",
    question="What is the capital of France?",
    response="Paris is the capital of France. Berlin is the capital of Germany.",
    claims=("Paris is the capital of France.", _BERLIN),
    passages=(
        "Paris is the capital of France. The city has a population of over 2 million.",
        f"{_BERLIN} Tokyo has excellent sushi restaurants.",
    ),
    by_passage=(("Paris is the capital of France.",), (_BERLIN,)),
    reference="Paris is the capital of France.",
    reference_claims=("Paris is the capital of France.",),
    relevant=(True, False),
    values={
        "incorrect_claims": 0.5,
        "noise_sensitivity_relevant": 0.0,
        "noise_sensitivity_irrelevant": 0.5,
    },
)
#: All of them; the last one has its noise in the second passage.
WORKED_EXAMPLES: Final = (LIC, LIC_CHINESE, SUPER_BOWL, *EINSTEINS, PYTHON, FRANCE)


def all_labels() -> Labels:
    """Of every example."""
    found = Labels()
    for example in WORKED_EXAMPLES:
        found = found | example.labels
    return found
