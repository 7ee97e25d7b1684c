"""Why an interaction was judged, or was not: from all that the topics hold of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from monitor.judge.provider.remedies import REMEDIES
from monitor.lookup.findings import LookupFindings, PlacedInput, PlacedScore
from monitor.lookup.shown import latest_first, shown_time
from monitor.records import Outcome, Reason, ScoreRecord

#: What has become of an interaction, beside the outcomes.
WAITING: Final = "waiting"
NEVER_SEEN: Final = "never_seen"
UNKNOWN: Final = "unknown"
_REDACTED: Final = "redacted"
#: What reasons mean, where their name does not say it.
_MEANS: Final[Mapping[str, str]] = {
    Reason.USD_PER_DAY: "the day's money was spent",
    Reason.DEADLINE: "the judge took longer than judge.deadline_s",
    Reason.NOT_JUDGING: "the judge failed its canaries: it guesses",
    "no_reference": "there is no reference, and every metric needs one",
    "no_claims": "the response claims nothing",
    "no_contexts": "nothing was retrieved",
    _REDACTED: "the log hides what is to be judged",
    "too_large": "judging it would take more than judge.max_calls or judge.max_input_tokens",
    "malformed_reply": "the judge's reply broke the format twice",
}


class WhyAnswer(NamedTuple):
    """What became of it: an outcome, or that it waits, was never seen, or nobody knows.

    ``sentence`` says it in words; ``facts`` are lines below it, ``data`` the same for programs.
    """

    outcome: str
    reason: str | None
    sentence: str
    facts: tuple[str, ...]
    data: dict[str, Any]


def answer(found: LookupFindings) -> WhyAnswer:
    """The latest that is known: a score record, a dead letter, then the log itself."""
    if found.scores:
        return _judged(found, latest_first(found.scores)[0])
    # One that was sent back is on its topic again.
    sent_back = [each for each in found.inputs if each.is_read is False and each.error is None]
    if found.dead_letters and not sent_back:
        return _dead_lettered(found)
    if found.inputs:
        # What became of a copy says nothing of why its original has no score.
        originals = [each for each in found.inputs if not each.is_copy]
        return _logged(found, (originals or found.inputs)[-1])
    searched = ", ".join(found.searched)
    return WhyAnswer(
        NEVER_SEEN,
        None,
        f"never seen: no record on {searched} has this id",
        ("it was not sent, has another id, or its records are older than the topics keep",),
        {"searched": list(found.searched)},
    )


def as_json(found: LookupFindings, said: WhyAnswer) -> dict[str, Any]:
    """The answer for programs."""
    return {
        "interaction_id": found.interaction_id,
        "outcome": said.outcome,
        "reason": said.reason,
        "sentence": said.sentence,
        **said.data,
    }


def lines(found: LookupFindings, said: WhyAnswer) -> Iterator[str]:
    """The answer for people."""
    yield f"{found.interaction_id}: {said.sentence}"
    for fact in said.facts:
        yield f"  {fact}"


def _judged(found: LookupFindings, placed: PlacedScore) -> WhyAnswer:
    record = placed.record
    reason = f" ({record.reason})" if record.reason else ""
    means = _meaning(record.reason)
    facts = [*_sampling_facts(found, record), *_judging_facts(record)]
    if len(found.scores) > 1:
        facts.append(f"{len(found.scores)} score records have this id; this is the latest")
    data = {
        "application": record.application,
        "source": record.source.model_dump(),
        "sampling": record.sampling.model_dump(),
        "weight": _weight(record),
        "hash": _hash(found, record),
        "judge": record.judge.model_dump(),
        "usage": record.usage.model_dump(),
        "unscored": _unscored(record),
        "score_record": {"partition": placed.partition, "offset": placed.offset},
    }
    sentence = f"{record.outcome}{reason} for {record.application}{means and f': {means}'}"
    return WhyAnswer(record.outcome.value, record.reason, sentence, tuple(facts), data)


def _meaning(reason: str | None) -> str:
    """In words; empty where nobody has any."""
    remedy = REMEDIES.get(reason or "")
    return _MEANS.get(reason or "", "" if remedy is None else remedy.what)


def _weight(record: ScoreRecord) -> float | None:
    sampling = record.sampling
    return None if sampling.m is None or sampling.q is None else sampling.m / sampling.q


def _hash(found: LookupFindings, record: ScoreRecord) -> float | None:
    """Of its sampling key; None where what was logged is no longer on its topic."""
    place = (record.source.topic, record.source.partition, record.source.offset)
    for each in found.inputs:
        if each.interaction is not None and (each.topic, each.partition, each.offset) == place:
            return each.hash_value
    return None


def _sampling_facts(found: LookupFindings, record: ScoreRecord) -> Iterator[str]:
    sampling, hashed = record.sampling, _hash(found, record)
    if sampling.forced:
        yield "forced: a rule of sampling.forced takes it; it has no weight, and is in no gauge"
        return
    if sampling.q is not None:
        said = f"its hash {hashed:.4f} is below" if hashed is not None else "its hash was below"
        yield f"sampled: {said} {sampling.q:g}, the probability of being taken"
    if sampling.m == 1 and sampling.first_offset == sampling.last_offset:
        yield f"alone in its slot: it stands for 1/q = {_weight(record):g} interactions"
    else:
        directed = ""
        if sampling.signal is not None and sampling.u not in (None, 1.0):
            directed = f", directed by risk signal {sampling.signal:.2f}"
        yield (
            f"picked among {sampling.m} of the slot of offsets {sampling.first_offset} to "
            f"{sampling.last_offset}{directed}: it stands for m/q = {_weight(record):g} "
            f"interactions, corrected by u = {sampling.u:g}"
        )


def _judging_facts(record: ScoreRecord) -> Iterator[str]:
    judge, usage, source = record.judge, record.usage, record.source
    yield (
        f"judge {judge.label}: model {judge.model}, prompts {judge.prompts}, pipeline "
        f"{judge.pipeline}"
    )
    timings = ", ".join(f"{name} {s:.2f}" for name, s in record.timings.items())
    spent = f"{usage.calls} calls, {usage.usd:.4f} USD"
    yield f"judged at {shown_time(record.judged_at)}, {spent}{f', {timings}' if timings else ''}"
    yield (
        f"logged at {source.topic}/{source.partition}/{source.offset}, happened at "
        f"{shown_time(record.event_time)}"
    )
    for why, names in _unscored(record).items():
        yield f"no value ({why}): {', '.join(names)}"


def _unscored(record: ScoreRecord) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, score in record.scores.items():
        if not isinstance(score, float):
            found.setdefault(score.unscored, []).append(name)
    return found


def _dead_lettered(found: LookupFindings) -> WhyAnswer:
    dead_letter = found.dead_letters[-1]
    reason = f"{dead_letter['stage']}/{dead_letter['class']}"
    place = f"{dead_letter['partition']}/{dead_letter['offset']}"
    facts = (
        f"{dead_letter['message']}",
        f"failed first at {dead_letter['first_failed_at']}, attempts {dead_letter['attempts']}",
        f"rag-monitor dead-letters show {place} shows it; redrive sends it back once it is mended",
    )
    return WhyAnswer(
        Outcome.DEAD_LETTERED,
        str(dead_letter["class"]),
        f"dead_lettered ({reason})",
        facts,
        {"dead_letter": dead_letter},
    )


def _logged(found: LookupFindings, one: PlacedInput) -> WhyAnswer:
    """It is on its topic, and on no other."""
    outcome, reason, sentence, facts = _ended(found, one)
    facts = [*facts, *_place_facts(one)]
    if len(found.inputs) > 1:
        copies = sum(each.is_copy for each in found.inputs)
        of_them = f"; copies of it: {copies} (duplicate)" if copies else ""
        number = len(found.inputs)
        facts.append(f"{number} logged records have this id; this is the last one{of_them}")
    data: dict[str, Any] = {
        "application": one.interaction and one.interaction.application,
        "source": {"topic": one.topic, "partition": one.partition, "offset": one.offset},
        "committed": one.committed,
        "hash": one.hash_value if one.interaction else None,
        "rate": one.rate if one.interaction else None,
        "error": one.error,
        "slot": found.slot and _slot_json(found.slot),
    }
    return WhyAnswer(outcome, reason, sentence, tuple(facts), data)


def _slot_json(slot: PlacedScore) -> dict[str, Any]:
    sampling = slot.record.sampling
    return {
        "first_offset": sampling.first_offset,
        "last_offset": sampling.last_offset,
        "m": sampling.m,
        "picked": slot.record.interaction_id,
    }


_Ending = tuple[str, str | None, str, list[str]]


def _ended(found: LookupFindings, one: PlacedInput) -> _Ending:
    will = " once it is read" if one.is_read is False else ""
    if one.error is not None:
        sentence = f"dead_lettered ({one.cause}){will}: {one.error}"
        kept = ["it is not on the dead letter topic (any more)"] if one.is_read else []
        return Outcome.DEAD_LETTERED, one.cause, sentence, kept
    if one.hash_value >= one.rate:
        return _beyond_rate(one, will)
    if one.of_offsets and one.dropped:  # a trace, whose block is asked before it is read
        return _beyond_share(one, one.of_offsets, will)
    if one.was_too_old:
        sentence = f"not_sampled (too_old){will}: no gauge looks back that far (ingest.start)"
        return Outcome.NOT_SAMPLED, Reason.TOO_OLD, sentence, []
    if one.held_back is not None:
        sentence = f"not_sampled (filtered){will}: ingest.{one.held_back} holds it back"
        return Outcome.NOT_SAMPLED, Reason.FILTERED, sentence, []
    if one.of_offsets and one.hash_value >= one.rate / one.of_offsets:
        return _beyond_share(one, one.of_offsets, will)
    if one.is_copy:
        sentence = f"not_sampled (duplicate){will}: an equal record comes before it"
        return Outcome.NOT_SAMPLED, Reason.DUPLICATE, sentence, []
    if one.is_hidden:
        sentence = f"unscorable (redacted){will}: {_MEANS['redacted']}"
        return Outcome.UNSCORABLE, _REDACTED, sentence, []
    if one.is_read is False:
        return _waiting(found, one)
    if found.slot is not None:
        return _in_slot(found.slot)
    return _untold(found, one)


def _beyond_rate(one: PlacedInput, will: str) -> _Ending:
    if one.rate == 0.0:
        # Of another reason where no rule takes it, which is known before it is decoded.
        reason = one.dropped or Reason.FILTERED
        return Outcome.NOT_SAMPLED, reason, f"not_sampled ({reason}){will}: sampling.rate is 0", []
    reason = one.dropped or Reason.HASH
    sentence = (
        f"not_sampled ({reason}){will}: its hash {one.hash_value:.4f} is not below sampling.rate "
        f"{one.rate:g}"
    )
    hint = [] if one.has_key else ["it lacks sampling.key, so that its id was hashed"]
    return Outcome.NOT_SAMPLED, reason, sentence, hint


def _beyond_share(one: PlacedInput, offsets: int, will: str) -> _Ending:
    """It is alone of all offsets of its block, and not picked among others."""
    reason = Reason.SLOT if one.is_trace else Reason.HASH
    sentence = (
        f"not_sampled ({reason}){will}: its hash {one.hash_value:.4f} is not below sampling.rate "
        f"{one.rate:g} / {offsets}, the offsets of a block"
    )
    return Outcome.NOT_SAMPLED, reason, sentence, [_alone(one)]


def _alone(one: PlacedInput) -> str:
    split = "rules tell interactions of its application apart, so that each is"
    what = "a trace is" if one.is_trace else split
    return f"{what} picked by its hash, and not among those of its block (sampling.block)"


def _waiting(found: LookupFindings, one: PlacedInput) -> _Ending:
    before = one.offset - (one.committed or 0)
    facts = [
        f"the scorers' group is at offset {one.committed}, {before} before it: it is unread, "
        "under way, or in a block that is still open"
    ]
    facts += [f"judging is paused: {each}" for each in found.paused]
    hashed = f"its hash {one.hash_value:.4f} is below sampling.rate {one.rate:g}"
    return WAITING, None, f"waiting: {hashed}, and it has not ended yet", facts


def _in_slot(slot: PlacedScore) -> _Ending:
    sampling, picked = slot.record.sampling, slot.record.interaction_id
    sentence = (
        f"not_sampled (slot): {picked} was judged for the slot of offsets "
        f"{sampling.first_offset} to {sampling.last_offset}, which has {sampling.m} interactions"
    )
    return Outcome.NOT_SAMPLED, Reason.SLOT, sentence, []


def _untold(found: LookupFindings, one: PlacedInput) -> _Ending:
    """It would be judged with the present settings, and left no record: several things do that."""
    hashed = f"its hash {one.hash_value:.4f} is below sampling.rate {one.rate:g}"
    if one.is_read is None:
        sentence = f"unknown whether it was read: {hashed}, and no record is of it"
        return UNKNOWN, None, sentence, ["the group's offsets may not be read, or it is unknown"]
    facts = [
        "judging was paused (paused), or the scorer was behind and passed it over (lag)",
        "or its score record is older than the topic keeps, or settings were others then",
    ]
    if one.has_slot:
        gone = "or the pick of its slot became a dead letter: no record stands for the slot (slot)"
        facts.insert(1, gone)
    if one.of_offsets is None:
        facts.insert(0, f"its block may have been too long for its hash: {_alone(one)}")
    if one.is_too_old:
        facts.insert(0, "it was too old when it was read (too_old): no gauge looks back that far")
    facts += [f"judging is paused: {each}" for each in found.paused]
    reason = Reason.PAUSED if found.paused else None
    return Outcome.NOT_SAMPLED, reason, f"not_sampled: {hashed}, but no record is of it", facts


def _place_facts(one: PlacedInput) -> Iterator[str]:
    yield f"logged at {one.topic}/{one.partition}/{one.offset}"
    if one.interaction is not None:
        happened = shown_time(one.interaction.event_time)
        yield f"for {one.interaction.application}, happened at {happened}"
