"""Verification by a function of one's own: texts in, probabilities out, and no server.

``judge.verifier`` names it as ``module:function``. It is called as ``function(pairs, device=…)``
with a list of at most ``judge.verifier_batch`` pairs (document, claim), and gives as many numbers
from 0 to 1: how probable it is that the document supports the claim. Once, before anything is
judged, it is called with an empty list, so that it can load its model. An attribute ``version`` of
the function is part of the judge's version.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Final, Protocol

from monitor.errors import ConfigurationError, JudgeFailed
from monitor.judge.offline.judge import sentence_claims
from monitor.judge.pipeline.asking import Asker
from monitor.judge.pipeline.extraction import Extraction
from monitor.judge.pipeline.identity import LlmSettings, VerifierSettings, identify
from monitor.judge.pipeline.pairing import PairRequest
from monitor.judge.pipeline.pairs import PairJudge, PairVerifier
from monitor.judge.pipeline.pipeline import Pipeline
from monitor.judge.pipeline.prompts import Prompts
from monitor.judge.ports import CallObserver, Reply, Task, Terms
from monitor.judge.protocol import CostMeter
from monitor.records import Claims, Interaction, JudgeIdentity, Judgement
from monitor.runtime.functions import named
from monitor.runtime.logs import logger
from monitor.runtime.threads import Threads, raised

#: The reason of a judgement that fails since the function did.
REASON: Final = "verifier"

Verify = Callable[..., Any]

#: One batch at a time, of all verifiers of the process: most models are not made for more. So it is
#: where one is given up: the next one waits for its end, or for a deadline of its own.
_THREADS = Threads("verifier", 1, most_lost=0)


class NamedPairJudge(PairJudge, Protocol):
    """A ``PairJudge`` that is no model of the judge's, with its name in the judge's version."""

    @property
    def name(self) -> str:
        """What it is called in the place of a model id."""

    async def prepare(self) -> None:
        """Load what the first judgement would otherwise wait for."""


class LocalVerifier:
    """A ``PairJudge`` that calls a function, in a thread, batch after batch.

    Raises ``ConfigurationError`` for a path that leads to no function.
    """

    def __init__(self, settings: VerifierSettings) -> None:
        self._settings, self._verify = settings, _found(settings.path)

    @property
    def name(self) -> str:
        """Its path, and the ``version`` of the function if it has one."""
        version = getattr(self._verify, "version", None)
        return self._settings.path if version is None else f"{self._settings.path}@{version}"

    async def prepare(self) -> None:
        """Let the function load what it needs; raises ``ConfigurationError`` where it fails."""
        try:
            await _THREADS.run(partial(self._verify, [], device=self._settings.device))
        except Exception as error:
            raise ConfigurationError(
                f"judge.verifier: {self._settings.path} raised {raised(error)} when called "
                f"with no pairs and device={self._settings.device!r}: {error}"
            ) from error

    async def probabilities(
        self, requests: Sequence[PairRequest], spent: CostMeter
    ) -> Sequence[float]:
        """What the function says of them; raises ``JudgeFailed`` where that is no probability."""
        found: list[float] = []
        for start in range(0, len(requests), self._settings.batch):
            batch = requests[start : start + self._settings.batch]
            found += await self._batch([(pair.document, pair.claim) for pair in batch])
        return found

    async def _batch(self, pairs: list[tuple[str, str]]) -> list[float]:
        try:
            probabilities = await _THREADS.run(partial(self._probabilities, pairs))
        except Exception as error:  # noqa: BLE001 - the function may raise any
            # Not its message, and not chained: it may quote the traffic.
            wrong: str | None = f"raised {raised(error)}"
        else:
            wrong = _wrong(probabilities, len(pairs))
            if wrong is None:
                return probabilities
        logger().warning("verifier_failed", verifier=self.name, what=wrong)
        raise JudgeFailed(f"judge.verifier {wrong}", reason=REASON) from None

    def _probabilities(self, pairs: list[tuple[str, str]]) -> list[float]:
        """In the thread, also what makes numbers of the result: it may be computed only then."""
        found = self._verify(pairs, device=self._settings.device)
        if isinstance(found, str | bytes):
            raise TypeError("a text is no list of numbers")
        return [float(value) if not isinstance(value, str) else math.nan for value in found]


def verifier_of(settings: LlmSettings) -> LocalVerifier | None:
    """The one that the settings name, if they do."""
    return None if settings.verifier is None else LocalVerifier(settings.verifier)


class VerifierJudge:
    """A ``Judge`` without any server: claims are sentences, a function verifies them."""

    def __init__(
        self, settings: LlmSettings, verifier: NamedPairJudge, observe: CallObserver | None = None
    ) -> None:
        prompts = Prompts({})
        self._verifier, self._identity = verifier, identify(settings, "-", (verifier.name,))
        self._pipeline = Pipeline(
            Asker(_nobody, prompts, observe),
            _Sentences(),
            lambda _: self._identity,
            pair_verifier=PairVerifier(verifier, settings.caps, settings.threshold, asks=False),
        )

    @property
    def identity(self) -> JudgeIdentity:
        """The same from the first call to the last."""
        return self._identity

    async def judge(
        self,
        interaction: Interaction,
        cost_meter: CostMeter | None = None,
        claims: Claims | None = None,
    ) -> Judgement:
        """All verdicts on one interaction; costs no calls.

        With ``claims`` given, those are verified. Raises ``JudgeFailed``.
        """
        return await self._pipeline.judge(interaction, cost_meter, claims)

    def foresee(self, interaction: Interaction) -> None:
        """Raises ``TooLarge`` where ``judge`` would."""
        response = sentence_claims(interaction.response)
        reference = sentence_claims(interaction.reference or "")
        self._pipeline.foresee(interaction, Claims(response=response, reference=reference))

    async def prepare(self) -> None:
        """Let the function load its model."""
        await self._verifier.prepare()

    async def aclose(self) -> None:
        """Nothing to give back."""


class _Sentences:
    """The claims of a text are its sentences, as the offline judge splits them."""

    def for_one(self) -> AbstractContextManager[Extraction]:
        """Itself."""
        return nullcontext(self)

    async def claims(
        self, question: str, text: str, spent: CostMeter, *, fresh: bool = False
    ) -> tuple[str, ...]:
        """The same every time."""
        return sentence_claims(text)

    async def vouch(self, question: str, text: str, claims: tuple[str, ...]) -> None:
        """Nothing: there is nothing to remember."""


async def _nobody(task: Task, system: str, user: str, terms: Terms) -> Reply:
    raise AssertionError(f"{task}: no model is asked")


def _wrong(probabilities: Sequence[float], pairs: int) -> str | None:
    """What is wrong with numbers that should be probabilities; None where nothing is."""
    if len(probabilities) != pairs:
        return f"gave {len(probabilities)} numbers for {pairs} pairs"
    outside = [value for value in probabilities if not 0.0 <= value <= 1.0]
    return f"gave {outside[0]:.4g}, expected 0 to 1" if outside else None


def _found(path: str) -> Verify:
    """The function; raises ``ConfigurationError`` that says how far the path leads."""
    try:
        return named(path)
    except ValueError as error:
        raise ConfigurationError(f"judge.verifier: {error}") from error
