"""Every metric in one place: formula, direction, needs, what is usual, and where it says nothing.

Symbols: T_i, response claim i follows from the reference; F_i, from all passages together; A_ij,
from passage j alone; G_rj, reference claim r follows from passage j; Q_r, from the response; rel_j,
passage j is relevant: it supports any reference claim, or a label says so; RF_i = any_j(rel_j ∧
A_ij); IF_i = any_j(¬rel_j ∧ A_ij) ∧ ¬RF_i. Means are over response claims i, reference claims r or
passages j.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from monitor.metrics.answer_relevance import answer_relevance
from monitor.metrics.correctness import (
    claim_f1,
    claim_precision,
    claim_recall,
    hallucination,
    incorrect_claims,
    self_knowledge,
)
from monitor.metrics.every_pick import answered, retrieved
from monitor.metrics.faithfulness import faithfulness, faithfulness_by_passage
from monitor.metrics.noise import (
    irrelevant_context_reliance,
    noise_sensitivity_irrelevant,
    noise_sensitivity_relevant,
)
from monitor.metrics.retrieval import context_precision, context_recall, context_utilization
from monitor.records import Judgement, Kind, Unscored


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; ``higher_is_better`` is None where neither direction is a fault.

    ``plain`` is what it is the share or mean of, in words for whoever reads it at night.

    ``typical`` is where the mean of an application that works usually lies: a first orientation, no
    bound (the baseline of the application says what is normal for it). ``says_nothing`` is when a
    value must not be read as the meaning says. ``improve`` is what to try where it is bad.
    ``source`` is what a value is made of: verdicts on claims; the pick itself, which has a value
    whatever a judge could compare; or a verdict on the response as an answer to the question.
    """

    name: str
    plain: str
    formula: str
    higher_is_better: bool | None
    needs_reference: bool
    needs_contexts: bool
    function: Callable[[Judgement], float | Unscored]
    meaning: str
    same_as: str
    typical: tuple[float, float]
    says_nothing: str
    improve: str
    source: Literal["verdicts", "pick", "question"] = "verdicts"


_METRICS = (
    Metric(
        name="faithfulness",
        plain="claims that the passages support",
        formula="mean_i F_i",
        higher_is_better=True,
        needs_reference=False,
        needs_contexts=True,
        function=faithfulness,
        meaning="Share of response claims that the retrieved passages together support.",
        same_as="ragas Faithfulness (contexts joined)",
        typical=(0.8, 1.0),
        says_nothing="about whether the passages are right, or answer the question",
        improve="tell the answering model to use the passages only, and to say so where "
        "they do not answer; look at the claims in no passage",
    ),
    Metric(
        name="faithfulness_by_passage",
        plain="claims that one passage supports",
        formula="mean_i any_j A_ij",
        higher_is_better=True,
        needs_reference=False,
        needs_contexts=True,
        function=faithfulness_by_passage,
        meaning="Share of response claims that at least one passage alone supports.",
        same_as="RAGChecker faithfulness",
        typical=(0.75, 1.0),
        says_nothing="where answers combine passages: such claims count against it",
        improve="larger or overlapping chunks, so that what belongs together stands in one passage",
    ),
    Metric(
        name="noise_sensitivity_relevant",
        plain="wrong claims from relevant passages",
        formula="mean_i(RF_i ∧ ¬T_i)",
        higher_is_better=False,
        needs_reference=True,
        needs_contexts=True,
        function=noise_sensitivity_relevant,
        meaning="Share of response claims that are incorrect, taken from a relevant passage.",
        same_as='ragas mode="relevant"; RAGChecker noise_sensitivity_in_relevant',
        typical=(0.1, 0.35),
        says_nothing="where the reference is much shorter than a full answer: what is right but "
        "not in it counts",
        improve="correct or date the documents; smaller chunks, so that less stands "
        "beside what was asked; ask the model to quote",
    ),
    Metric(
        name="noise_sensitivity_irrelevant",
        plain="wrong claims from irrelevant passages",
        formula="mean_i(IF_i ∧ ¬T_i)",
        higher_is_better=False,
        needs_reference=True,
        needs_contexts=True,
        function=noise_sensitivity_irrelevant,
        meaning="Share of response claims that are incorrect, taken from irrelevant passages only.",
        same_as='ragas mode="irrelevant"; RAGChecker noise_sensitivity_in_irrelevant',
        typical=(0.0, 0.1),
        says_nothing="where the reference names few of the facts that the passages hold: relevant "
        "ones then pass for irrelevant",
        improve="rerank and retrieve fewer passages; take outdated documents out of the "
        "index; tell the model to pass over what does not answer the question",
    ),
    Metric(
        name="incorrect_claims",
        plain="wrong claims",
        formula="mean_i ¬T_i",
        higher_is_better=False,
        needs_reference=True,
        needs_contexts=False,
        function=incorrect_claims,
        meaning="Share of response claims that the reference does not support.",
        same_as="the formula printed in the ragas and ValidMind documents; promptfoo mode: "
        "relevant",
        typical=(0.1, 0.5),
        says_nothing="where the reference is much shorter than a full answer: what is right but "
        "not in it counts",
        improve="see which of its three parts is large: noise_sensitivity_relevant, "
        "noise_sensitivity_irrelevant or hallucination",
    ),
    Metric(
        name="hallucination",
        plain="wrong claims from no passage",
        formula="mean_i(¬any_j A_ij ∧ ¬T_i)",
        higher_is_better=False,
        needs_reference=True,
        needs_contexts=True,
        function=hallucination,
        meaning="Share of response claims that are incorrect and that no passage supports.",
        same_as="RAGChecker hallucination",
        typical=(0.0, 0.15),
        says_nothing="where answers combine passages: a wrong conclusion from two of them counts "
        "as made up",
        improve="a stricter prompt, a lower temperature, another model; better "
        "retrieval where context_recall is low",
    ),
    Metric(
        name="self_knowledge",
        plain="right claims from no passage",
        formula="mean_i(¬any_j A_ij ∧ T_i)",
        higher_is_better=None,
        needs_reference=True,
        needs_contexts=True,
        function=self_knowledge,
        meaning="Share of response claims that are correct and that no passage supports.",
        same_as="RAGChecker self_knowledge",
        typical=(0.0, 0.05),
        says_nothing="about good or bad: an application may or may not be meant to know things by "
        "itself",
        improve="decide whether the model may answer from its own knowledge, and say so "
        "in the prompt",
    ),
    Metric(
        name="claim_precision",
        plain="right claims",
        formula="mean_i T_i",
        higher_is_better=True,
        needs_reference=True,
        needs_contexts=False,
        function=claim_precision,
        meaning="Share of response claims that the reference supports.",
        same_as="RAGChecker precision",
        typical=(0.5, 0.9),
        says_nothing="where the reference is much shorter than a full answer: what is right but "
        "not in it counts",
        improve="see incorrect_claims, which is the rest",
    ),
    Metric(
        name="claim_recall",
        plain="reference claims that are answered",
        formula="mean_r Q_r",
        higher_is_better=True,
        needs_reference=True,
        needs_contexts=False,
        function=claim_recall,
        meaning="Share of reference claims that the response supports.",
        same_as="RAGChecker recall",
        typical=(0.4, 0.9),
        says_nothing="where references hold more than what was asked for",
        improve="see context_recall: what was not retrieved is not said; then ask for "
        "complete answers",
    ),
    Metric(
        name="claim_f1",
        plain="agreement with the reference (F1)",
        formula="2PR / (P + R), P = mean_i T_i, R = mean_r Q_r; 0 if either is 0",
        higher_is_better=True,
        needs_reference=True,
        needs_contexts=False,
        function=claim_f1,
        meaning="Harmonic mean of claim_precision and claim_recall.",
        same_as="RAGChecker f1",
        typical=(0.4, 0.9),
        says_nothing="about what is wrong: look at the two that it is made of",
        improve="improve the lower one of claim_precision and claim_recall",
    ),
    Metric(
        name="context_recall",
        plain="reference claims that were retrieved",
        formula="mean_r any_j G_rj",
        higher_is_better=True,
        needs_reference=True,
        needs_contexts=True,
        function=context_recall,
        meaning="Share of reference claims that at least one retrieved passage supports.",
        same_as="RAGChecker claim_recall",
        typical=(0.6, 0.95),
        says_nothing="where a claim of the reference needs several passages together",
        improve="retrieve more passages; better embeddings, hybrid search, rewritten "
        "queries; look for documents that are missing",
    ),
    Metric(
        name="context_precision",
        plain="retrieved passages that are relevant",
        formula="mean_j rel_j",
        higher_is_better=True,
        needs_reference=True,
        needs_contexts=True,
        function=context_precision,
        meaning="Share of retrieved passages that are relevant.",
        same_as="RAGChecker context_precision",
        typical=(0.3, 0.8),
        says_nothing="about ranking; and it falls by itself when more passages are retrieved",
        improve="rerank; retrieve fewer passages; filter by attributes such as product or date",
    ),
    Metric(
        name="context_utilization",
        plain="retrieved reference claims that are used",
        formula="Σ_r(any_j G_rj ∧ Q_r) / Σ_r any_j G_rj",
        higher_is_better=True,
        needs_reference=True,
        needs_contexts=True,
        function=context_utilization,
        meaning="Of the reference claims that a passage supports, the share that the response "
        "supports.",
        same_as="RAGChecker context_utilization",
        typical=(0.5, 0.9),
        says_nothing="about retrieval: what was not retrieved is left out",
        improve="put the best passages first; fewer or shorter passages; ask for complete answers",
    ),
    Metric(
        name="irrelevant_context_reliance",
        plain="claims from irrelevant passages",
        formula="mean_i IF_i, rel_j by label or by the question",
        higher_is_better=False,
        needs_reference=False,
        needs_contexts=True,
        function=irrelevant_context_reliance,
        meaning="Share of response claims that irrelevant passages support, and no relevant one.",
        same_as="none: stands in for noise sensitivity where there is no reference",
        typical=(0.0, 0.15),
        says_nothing="about right and wrong: a correct claim from a passage beside the question "
        "counts, too",
        improve="rerank and retrieve fewer passages; tell the model to pass over what "
        "does not answer the question",
    ),
    Metric(
        name="answered",
        plain="questions that are answered",
        formula="1 if C > 0, else 0",
        higher_is_better=True,
        needs_reference=False,
        needs_contexts=False,
        function=answered,
        meaning="Share of responses that claim anything: no refusals, greetings or empty texts.",
        same_as="none: elsewhere a refusal is left out, or scored as perfect",
        typical=(0.9, 1.0),
        says_nothing="about right and wrong; and where a refusal is right, less of it is worse",
        improve="read the refusals; see retrieved and context_recall; loosen a prompt "
        "that refuses too much",
        source="pick",
    ),
    Metric(
        name="retrieved",
        plain="questions with retrieved passages",
        formula="1 if n > 0, else 0, over passages with a letter or a digit",
        higher_is_better=True,
        needs_reference=False,
        needs_contexts=False,
        function=retrieved,
        meaning="Share of interactions for which any passage with words was retrieved.",
        same_as="none: elsewhere what has no passages is left out",
        typical=(0.95, 1.0),
        says_nothing="about whether a passage is any use: see context_precision and context_recall",
        improve="look at the index, at filters that let nothing through, and at "
        "languages that it does not hold",
        source="pick",
    ),
    Metric(
        name="answer_relevance",
        plain="responses that answer the question",
        formula="1 if the response addresses the question, else 0",
        higher_is_better=True,
        needs_reference=False,
        needs_contexts=False,
        function=answer_relevance,
        meaning="Share of responses, of those that claim anything, that address the question.",
        same_as="a yes or no in place of the cosines of ragas AnswerRelevancy",
        typical=(0.85, 1.0),
        says_nothing="about right and wrong; and of responses that claim nothing: see answered",
        improve="rewrite unclear questions; tell the model to answer the question first",
        source="question",
    ),
)

CATALOGUE: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _METRICS})
"""The metrics by name, in the order in which they are shown."""


def compared(metrics: Collection[str]) -> Collection[str]:
    """Those that make an interaction scored: what every pick has says nothing of a comparison.

    Where no others are chosen, these do.
    """
    return [name for name in metrics if CATALOGUE[name].source == "verdicts"] or metrics


def score_all(judgement: Judgement) -> dict[str, float | Unscored]:
    """Every metric of the catalogue: its value in [0, 1], or the reason why it has none."""
    return {metric.name: metric.function(judgement) for metric in CATALOGUE.values()}


def defined_for(metric: Metric, kind: Kind) -> bool:
    """Whether a metric can have a value for interactions of this kind at all.

    >>> defined_for(CATALOGUE["faithfulness"], "without_reference")
    True
    >>> defined_for(CATALOGUE["hallucination"], "without_reference")
    False
    """
    return kind == "with_reference" or not metric.needs_reference
