# Written by python -m monitor.api.classes: what it makes, for those who read types.
from collections.abc import Mapping

from monitor.api.metric import CatalogueMetric
from monitor.metrics.catalogue import Metric

METRIC_CLASSES: Mapping[str, type[CatalogueMetric]]

def class_name(metric: str) -> str: ...
def described(metric: Metric) -> str: ...
def stub() -> str: ...

class Faithfulness(CatalogueMetric):
    """Share of response claims that the retrieved passages together support.

    Higher is better. mean_i F_i
    """

class FaithfulnessByPassage(CatalogueMetric):
    """Share of response claims that at least one passage alone supports.

    Higher is better. mean_i any_j A_ij
    """

class NoiseSensitivityRelevant(CatalogueMetric):
    """Share of response claims that are incorrect, taken from a relevant passage.

    Lower is better. mean_i(RF_i ∧ ¬T_i)
    """

class NoiseSensitivityIrrelevant(CatalogueMetric):
    """Share of response claims that are incorrect, taken from irrelevant passages only.

    Lower is better. mean_i(IF_i ∧ ¬T_i)
    """

class IncorrectClaims(CatalogueMetric):
    """Share of response claims that the reference does not support.

    Lower is better. mean_i ¬T_i
    """

class Hallucination(CatalogueMetric):
    """Share of response claims that are incorrect and that no passage supports.

    Lower is better. mean_i(¬any_j A_ij ∧ ¬T_i)
    """

class SelfKnowledge(CatalogueMetric):
    """Share of response claims that are correct and that no passage supports.

    Neither is a fault. mean_i(¬any_j A_ij ∧ T_i)
    """

class ClaimPrecision(CatalogueMetric):
    """Share of response claims that the reference supports.

    Higher is better. mean_i T_i
    """

class ClaimRecall(CatalogueMetric):
    """Share of reference claims that the response supports.

    Higher is better. mean_r Q_r
    """

class ClaimF1(CatalogueMetric):
    """Harmonic mean of claim_precision and claim_recall.

    Higher is better. 2PR / (P + R), P = mean_i T_i, R = mean_r Q_r; 0 if either is 0
    """

class ContextRecall(CatalogueMetric):
    """Share of reference claims that at least one retrieved passage supports.

    Higher is better. mean_r any_j G_rj
    """

class ContextPrecision(CatalogueMetric):
    """Share of retrieved passages that are relevant.

    Higher is better. mean_j rel_j
    """

class ContextUtilization(CatalogueMetric):
    """Of the reference claims that a passage supports, the share that the response supports.

    Higher is better. Σ_r(any_j G_rj ∧ Q_r) / Σ_r any_j G_rj
    """

class IrrelevantContextReliance(CatalogueMetric):
    """Share of response claims that irrelevant passages support, and no relevant one.

    Lower is better. mean_i IF_i, rel_j by label or by the question
    """

class Answered(CatalogueMetric):
    """Share of responses that claim anything: no refusals, greetings or empty texts.

    Higher is better. 1 if C > 0, else 0
    """

class Retrieved(CatalogueMetric):
    """Share of interactions for which any passage with words was retrieved.

    Higher is better. 1 if n > 0, else 0, over passages with a letter or a digit
    """

class AnswerRelevance(CatalogueMetric):
    """Share of responses, of those that claim anything, that address the question.

    Higher is better. 1 if the response addresses the question, else 0
    """
