"""Which passages are relevant: by the reference, by labels of the log, or to the question."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.records import Judgement, Labels, Passage, Verdicts


def relevant_passages(verdicts: Verdicts, passages: int) -> Labels:
    """Per passage rel_j: whether it supports any claim of the reference, unless a label outdoes it.

    ``None`` where neither says: no label, and a reference without claims.

    >>> by_reference = ((True, False, False), (True, False, True))
    >>> relevant_passages(Verdicts(reference_by_passage=by_reference), 3)
    (True, False, True)
    >>> labels = (None, True, False)
    >>> relevant_passages(
    ...     Verdicts(reference_by_passage=by_reference, relevant_by_label=labels), 3
    ... )
    (True, True, False)
    >>> relevant_passages(Verdicts(), 1)
    (None,)
    """
    columns = zip(*verdicts.reference_by_passage, strict=True)
    labels = verdicts.relevant_by_label
    # Labels say how many passages there were, also where the record has lost them.
    count = len(labels) or passages
    inferred: Labels = tuple(any(column) for column in columns) or (None,) * count
    labels = labels or (None,) * len(inferred)
    return tuple(
        found if label is None else label for label, found in zip(labels, inferred, strict=True)
    )


def labelled(judgement: Judgement, passages: Sequence[Passage], *, labels_win: bool) -> Judgement:
    """The judgement with the labels of the passages that it is about.

    A label always says what is relevant to the question; what follows from the reference it outdoes
    only where ``labels_win``.

    >>> judgement = Judgement.model_validate({
    ...     "claims": {}, "passages": 2, "has_reference": False, "verdicts": {},
    ...     "judge": dict.fromkeys(["name", "version", "model", "prompts", "pipeline"], ""),
    ... })
    >>> passages = [Passage(text="a", relevant=True), Passage(text="b")]
    >>> labelled(judgement, passages, labels_win=True).verdicts.relevant_by_label
    (True, None)
    >>> labelled(judgement, passages, labels_win=False).verdicts.relevant_by_label
    ()
    """
    labels = tuple(passage.relevant for passage in passages)
    if all(label is None for label in labels) or len(labels) != judgement.passages:
        return judgement
    judged = judgement.verdicts.relevant_to_question or (None,) * len(labels)
    to_question = tuple(
        found if label is None else label for label, found in zip(labels, judged, strict=True)
    )
    found = {"relevant_to_question": to_question}
    if labels_win:
        found["relevant_by_label"] = labels
    verdicts = judgement.verdicts.model_copy(update=found)
    return judgement.model_copy(update={"verdicts": verdicts})
