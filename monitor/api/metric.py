"""A metric as an object: made once, asked as often as wanted, by names that ragas users know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from monitor.api.arguments import known_arguments
from monitor.api.callers import warn
from monitor.api.judged_rows import judged_rows, require_judgement
from monitor.api.judges import AnyJudge, JudgeChoice, RelevanceBy, ready
from monitor.api.problems import InputRejected
from monitor.api.results import MetricResult
from monitor.api.running import waited_for
from monitor.api.samples import AnyPassage, ScorableTurn, SingleTurnSample, rows_of, turn_of
from monitor.metrics.catalogue import CATALOGUE
from monitor.records import ScoreRecord

Mode = Literal["relevant", "irrelevant"]


class CatalogueMetric:
    """Scores one metric of the catalogue.

    ``llm`` and ``judge`` are two names of who judges: a model by its litellm name, what
    ``llm_factory`` makes, a judge, or ``"offline"``. Without either the settings decide, as for
    ``rag-monitor``: ``RAG_MONITOR_CONFIG`` and the environment. ``name`` is that of the column in
    ``evaluate``. ``relevance`` is ``judge.relevance``: whether labels of passages decide which are
    relevant.
    """

    #: The name in the catalogue.
    metric: ClassVar[str]

    @known_arguments
    def __init__(
        self,
        llm: AnyJudge | None = None,
        name: str | None = None,
        *,
        judge: AnyJudge | None = None,
        relevance: RelevanceBy | None = None,
    ) -> None:
        self.name = name or self.scored
        self.llm, self.judge, self.relevance = llm, judge, relevance
        self._made: tuple[object, ...] | None = None
        self._choice: JudgeChoice | None = None
        if llm is not None or judge is not None:
            self.choice()  # a wrong one is told here, and not with the first score

    @property
    def scored(self) -> str:
        """The name of what is scored, in the catalogue."""
        return self.metric

    def choice(
        self, llm: AnyJudge | None = None, relevance: RelevanceBy | None = None
    ) -> JudgeChoice:
        """Who judges; ``llm`` and ``relevance`` are for where this metric names none."""
        own = self.llm is not None or self.judge is not None
        given = (
            self.llm if own else llm,
            self.judge,
            self.relevance if self.relevance is not None else relevance,
        )
        # Judges are told apart by what they are, as their names may be those of several.
        if self._choice is None or self._made != given:
            self._choice, self._made = JudgeChoice.of(*given), given
        return self._choice

    @known_arguments
    async def ascore(
        self,
        *,
        user_input: str,
        response: str,
        reference: str | None = None,
        retrieved_contexts: Sequence[AnyPassage] | str | None = None,
    ) -> MetricResult:
        """The score of one turn; a context that is one text is one passage, labelled relevant.

        Raises ``InputRejected`` for what is no turn, and ``JudgeFailed`` where the judge gives no
        judgement. Where there is nothing to score ``value`` is None and ``reason`` says why.
        """
        fields = {
            "user_input": user_input,
            "response": response,
            "reference": reference,
            "retrieved_contexts": retrieved_contexts,
        }
        return await self._scored(turn_of(fields))

    score = waited_for(ascore)

    async def abatch_score(self, inputs: Sequence[Mapping[str, Any]]) -> list[MetricResult]:
        """The scores of several turns, in their order, as many at a time as the settings allow."""
        rows = [turn_of(row, number) for number, row in enumerate(rows_of(inputs), 1)]
        warn_of_one_text(rows, [self.scored])
        choice = self.choice()
        choice.warn()
        records = await judged_rows(rows, choice)
        return [self.result(record) for record in records]

    batch_score = waited_for(abatch_score)

    async def single_turn_ascore(self, sample: SingleTurnSample | Any) -> float:
        """The value for a sample, ours or one of ragas.

        Raises ``NothingToScore`` where there is none: a number would be a guess.
        """
        (fields,) = rows_of([sample])
        missing = [name for name in ("user_input", "response") if fields.get(name) is None]
        if missing:
            raise InputRejected(f"the sample has no {' and no '.join(missing)}")
        return float(await self._scored(turn_of(_turn(fields))))

    single_turn_score = waited_for(single_turn_ascore)

    def result(self, record: ScoreRecord) -> MetricResult:
        """What this metric says of a judged row."""
        return MetricResult(self.scored, record)

    async def _scored(self, turn: ScorableTurn) -> MetricResult:
        choice = self.choice()
        choice.warn()
        warn_of_one_text([turn], [self.scored])
        judged = await (await ready(choice)).judged(turn)
        require_judgement(judged)
        return self.result(judged.record)

    def __repr__(self) -> str:
        """The class and what it scores."""
        return f"<{type(self).__name__}: {self.scored}, {CATALOGUE[self.scored].plain}>"


class NoiseSensitivity(CatalogueMetric):
    """How much of a response is wrong and comes from retrieved passages; lower is better.

    ``mode="relevant"`` counts wrong claims from relevant passages, ``"irrelevant"`` those from
    irrelevant passages only. ``focus`` is its name in old versions of ragas.
    """

    metric = "noise_sensitivity_relevant"

    @known_arguments
    def __init__(
        self,
        llm: AnyJudge | None = None,
        name: str | None = None,
        mode: Mode | None = None,
        *,
        judge: AnyJudge | None = None,
        relevance: RelevanceBy | None = None,
        focus: Mode | None = None,
    ) -> None:
        if focus is not None:
            warn("focus is called mode now", DeprecationWarning)
            if mode is not None and mode != focus:
                raise ValueError(f"mode is {mode!r} and focus is {focus!r}: give mode alone")
        self.mode: Mode = mode or focus or "relevant"
        if self.mode not in ("relevant", "irrelevant"):
            raise ValueError(f"mode: found {self.mode!r}, expected 'relevant' or 'irrelevant'")
        super().__init__(llm, name, judge=judge, relevance=relevance)

    @property
    def scored(self) -> str:
        """The metric of its mode."""
        return f"noise_sensitivity_{self.mode}"


def warn_of_one_text(turns: Sequence[ScorableTurn], metrics: Iterable[str]) -> None:
    """Say once where values follow from a context that was given as one text."""
    of_contexts = [name for name in metrics if CATALOGUE[name].needs_contexts]
    found = [turn.is_one_text and len(turn.interaction.retrieved_contexts) == 1 for turn in turns]
    if any(found) and of_contexts:
        irrelevant = "noise_sensitivity_irrelevant"
        so = f": {irrelevant} is 0 there by itself" if irrelevant in of_contexts else ""
        warn(
            f"{sum(found)} of {len(found)} contexts are one text, which counts as one relevant "
            f"passage{so}; give a list"
        )


def _turn(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What is judged of a sample."""
    names = ("user_input", "response", "reference", "retrieved_contexts")
    return {name: fields[name] for name in names if name in fields}
