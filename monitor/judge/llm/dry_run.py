"""An LLM judge that asks nobody: what would be sent is built, and what it would cost counted.

Claims are the sentences of a text, as the offline judge splits them, and every pair is answered
with yes. So the calls and their prompts are those of production but for the model's own claims;
tokens are counted by one tokenizer, cl100k_base, whatever the model has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from monitor.judge.limits.provider_gates import ProviderGates
from monitor.judge.llm.judge import LlmJudge, LlmSettings
from monitor.judge.llm.library import count_tokens
from monitor.judge.pipeline.pairing import PairRequest
from monitor.judge.pipeline.parsing import VerifyRequest, has_words
from monitor.judge.pipeline.relating import ANSWER
from monitor.judge.ports import Reply, Task, Terms
from monitor.judge.protocol import CostMeter
from monitor.judge.text import split_claims
from monitor.records import Claims, Interaction, Usage


class DryRunJudge(LlmJudge):
    """Costs what the judge of these settings would, without evidence.

    A model without a price costs nothing. What the models would be asked is counted with the
    ``provider_gates`` that production shares.
    """

    def __init__(self, settings: LlmSettings, provider_gates: ProviderGates | None = None) -> None:
        plain = replace(settings, evidence="off")
        shared = provider_gates or ProviderGates()
        verifier = None if plain.verifier is None else _Agreeing(plain.verifier.path)
        super().__init__(plain, provider_gates=shared, verifier=verifier)
        self._asked = shared.all_of(plain)

    def foresee(self, interaction: Interaction) -> None:
        """Raises ``TooLarge`` where ``judge`` would; nothing is built, and nothing counted."""
        texts = interaction.response, interaction.reference or ""
        found = (tuple(_sentences(text)) if has_words(text) else () for text in texts)
        self._foresee(interaction, Claims(response=next(found), reference=next(found)))

    async def _complete(self, task: Task, system: str, user: str, terms: Terms) -> Reply:
        text = _reply(task, user)
        sent = (system, *(part for turn in terms.turns for part in turn), user)
        prompt, completion = sum(map(count_tokens, sent)), count_tokens(text)
        price = self.price_per_million() or (0.0, 0.0)
        usd = (prompt * price[0] + completion * price[1]) / 1e6
        self._asked[-1 if task == "extract_claims" else 0].count(prompt + completion)
        usage = Usage(calls=1, prompt_tokens=prompt, completion_tokens=completion, usd=usd)
        return Reply(text, "stop", usage)


class _Agreeing:
    """In the place of a verifier, whose model is not loaded: every pair holds."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def prepare(self) -> None:
        """Nothing to load."""

    async def probabilities(
        self, requests: Sequence[PairRequest], spent: CostMeter
    ) -> Sequence[float]:
        """1 for each."""
        return [1.0] * len(requests)


def _sentences(text: str) -> Sequence[str]:
    return split_claims(text) or (text.strip(),)


def _reply(task: Task, user: str) -> str:
    asked = json.loads(user)
    if task == "extract_claims":
        return json.dumps({"claims": _sentences(asked["text"])}, ensure_ascii=False)
    if task == "judge_pair":
        return "yes"
    if task == "judge_relevance":
        verdicts = " ".join(f"{name}y" for name in asked["documents"])
        return json.dumps({"n": asked["n"], ANSWER: verdicts})
    request = VerifyRequest(asked["n"], asked["question"], asked["documents"], asked["claims"])
    answers = {
        claim: " ".join(f"{name}y" for name in request.asked(claim)) for claim in request.claims
    }
    return json.dumps({"n": request.nonce, **answers}, ensure_ascii=False)
