"""The judge without a model: what it splits, what it compares, what it must not overlook."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.errors import TooLarge
from monitor.judge.offline.judge import (
    THRESHOLD,
    OfflineJudge,
    rules_hash,
    support_score,
    supported,
)
from monitor.judge.offline.overlap import (
    BOTH_CHARACTERS,
    MANY,
    SentenceEvidence,
    gather,
    scored,
    steps,
)
from monitor.judge.offline.quantities import read_facts
from monitor.judge.offline.sentences import read_sentence, read_text
from monitor.judge.protocol import Judge
from monitor.judge.text import split_claims, split_sentences
from monitor.records import Claims, Interaction, Passage, Source, Usage
from monitor.stats.ranking import area
from tests.stages.overlap import labelled_pairs, plain_share

PUMPS = ("careful", "winter", "maintenance", "protects", "garden", "pumps")
PIECES = (
    "3",
    "may",
    "12:30",
    "pm",
    "5%",
    "1,200",
    "third",
    "half",
    "第三",
    "百分之",
    "二十",
    "万",
    "年",
    "月",
    "日",
    "not",
    "5.3.2",
    "$",
)
PLANS = "The Basic plan costs €12 per month. The Pro plan costs €20 per month."


def interaction(
    response: str, *passages: str, reference: str | None = None, user_input: str = "?"
) -> Interaction:
    return Interaction(
        interaction_id="i-1",
        event_time=datetime(2026, 11, 20, 12, tzinfo=UTC),
        application="support-bot",
        user_input=user_input,
        response=response,
        retrieved_contexts=tuple(Passage(text=text) for text in passages),
        reference=reference,
        source=Source(topic="t", partition=0, offset=0),
    )


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Dr. Wu paid 3.5 dollars. Fine!", ["Dr. Wu paid 3.5 dollars.", "Fine!"]),
        ("Use No. 5, e.g. the red one. It fits.", ["Use No. 5, e.g. the red one.", "It fits."]),
        (
            "He came at 9 a.m. The U.S. team left.",
            ["He came at 9 a.m.", "The U.S. team left."],
        ),
        ("价格为3.5元。送货免费！真的？", ["价格为3.5元。", "送货免费！", "真的？"]),
        ("One line\nanother line", ["One line", "another line"]),
        ("See example.com for more. Bye.", ["See example.com for more.", "Bye."]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_says(text: str, sentences: list[str]) -> None:
    """Abbreviations, decimals and addresses end no sentence, in either language's punctuation."""
    assert split_sentences(text) == sentences


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  \n ",
        "...",
        "！！？",
        "I don't know.",
        "I'm sorry, I can't answer that.",
        "抱歉，我不知道。",
        "对不起，我无法回答这个问题。",
        "Hello! How can I help you?",
        "您好！请问有什么可以帮您？",
        "The provided context does not contain this information.",
        "Let me know if you need more help!",
        "## Summary",
        "Here are the steps:",
    ],
)
async def test_a_text_that_asserts_nothing_has_no_claims(text: str) -> None:
    """Questions, greetings, refusals, headings and bare punctuation give no claims."""
    judgement = await OfflineJudge().judge(interaction(text, "Some passage.", reference=text))
    assert judgement.claims.response == ()
    assert judgement.claims.reference == ()


def test_claims_lose_their_list_markers() -> None:
    """Numbers, bullets, emphasis and citations around a claim are not part of it."""
    text = "1. Delivery is free.\n- **Returns** take 5 days [2].\n（二）运费为10元。"
    assert split_claims(text) == ("Delivery is free.", "Returns take 5 days.", "运费为10元。")


def test_an_apology_does_not_swallow_the_claim_after_it() -> None:
    """What follows "sorry" or "I don't know …, but" is still a claim."""
    assert split_claims("Sorry, refunds take 5 days.") == ("refunds take 5 days.",)
    assert split_claims("I don't know why, but the fee is 5 euros.") == ("the fee is 5 euros.",)
    assert split_claims("抱歉，退款需要5天。") == ("退款需要5天。",)


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The Basic plan costs 12 euros a month.", PLANS),
        ("Refunds are processed within 14 days.", "We process refunds within two weeks."),
        ("The company has 1,200 employees.", "The company has 1200 employees worldwide."),
        ("The contract was signed on May 3, 2024.", "The contract was signed on 3 May 2024."),
        ("The contract was signed on 2024-05-03.", "The contract was signed on May 3rd, 2024."),
        ("The museum opens at 9 am.", "The museum opens at 09:00 every day."),
        ("Sales rose by five percent.", "Last year sales rose by 5%."),
        ("Smoking is prohibited in the lobby.", "Smoking is not allowed in the lobby."),
        ("Radium was discovered by Marie Curie.", "Marie Curie discovered radium in 1898."),
        ("会员可享受百分之五的折扣。", "会员可享受5%的折扣。"),
        ("退款将在５个工作日内到账。", "退款将在五个工作日内到账。"),
        ("会议于5月3日举行。", "会议于五月三日在北京举行。"),
        ("公司有一千二百名员工。", "公司有1,200名员工。"),
    ],
)
def test_another_spelling_of_the_same_is_supported(claim: str, passage: str) -> None:
    """Numbers, dates, times and negations are compared by meaning, words by stem."""
    assert supported(claim, passage)


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("The Basic plan costs 20 euros a month.", PLANS),
        ("The Basic plan costs 13 euros a month.", PLANS),
        ("The trial lasts 14 hours.", "The trial lasts 14 days."),
        ("The contract was signed on May 4, 2024.", "The contract was signed on 3 May 2024."),
        ("The museum opens at 9 pm.", "The museum opens at 9 am."),
        ("Bob founded Acme in 1999.", "Alice founded Acme in 1999."),
        ("The service is available in Berlin.", "The service is available in Munich."),
        ("Refunds are possible after 30 days.", "Refunds are not possible after 30 days."),
        ("Refunds are not possible after 30 days.", "Refunds are possible after 30 days."),
        ("Smoking is allowed in the lobby.", "Smoking is prohibited in the lobby."),
        ("The office opens before noon.", "The office opens after noon."),
        ("退款将在7个工作日内到账。", "退款将在五个工作日内到账。"),
        ("会议于5月4日举行。", "会议于五月三日在北京举行。"),
        ("该产品支持无线充电。", "该产品不支持无线充电。"),
        ("该产品不支持无线充电。", "该产品支持无线充电。"),
        ("Cats sleep a lot.", "The router ships with a power cable."),
        ("猫喜欢睡觉。", "路由器附带电源线。"),
    ],
)
def test_one_wrong_piece_is_enough(claim: str, passage: str) -> None:
    """A number, unit, date, time, name or negation that differs makes a claim unsupported."""
    assert not supported(claim, passage)


@pytest.mark.parametrize("words", [0, 1, 2, 3, 4, 5, 6])
def test_no_overlap_outweighs_a_missing_number(words: int) -> None:
    """A missing number keeps the score below the threshold, however much else is shared."""
    shared = " ".join(PUMPS[:words])
    assert support_score(f"{shared} 17 times.", "Careful winter maintenance protects pumps.") < 0.37


@pytest.mark.parametrize("copied", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("pieces", [1, MANY])
@pytest.mark.parametrize(("differs", "replaced"), [(True, True), (True, False), (False, False)])
def test_who_says_more_of_a_claim_supports_it_no_less(
    differs: bool, replaced: bool, pieces: int, copied: float
) -> None:
    """Whether a piece differs or not; where one does, the score stays below the threshold."""
    shares = [n / 20 for n in range(20)]
    scores = [
        scored(SentenceEvidence(share, 0.0, pieces, differs, replaced, False, False, copied))
        for share in shares
    ]
    assert scores == sorted(scores)
    assert (max(scores) < THRESHOLD) is differs


def test_a_text_about_the_claim_comes_before_one_about_its_topic() -> None:
    """Also where both lack the claim's number: neither supports it, the first one rather."""
    claim = "The Aurora tablet by Norvik weighs 450 grams with its pen."
    near, far = "Norvik sells the Aurora tablet with a pen.", "A tablet is no phone."
    assert 0.0 < support_score(claim, far) < support_score(claim, near) < THRESHOLD


def test_what_lacks_a_piece_comes_before_what_says_another() -> None:
    """Neither supports the claim; but silence about a number counts for more than another one."""
    claim = "With its pen the Aurora tablet weighs 450 grams."
    silent, other = "The Aurora tablet weighs little.", "The Aurora tablet weighs 390 grams."
    assert support_score(claim, other) < support_score(claim, silent) < THRESHOLD


def test_names_in_a_row_are_no_copied_wording() -> None:
    """A claim of many pieces that lacks one is not cut for the run of the others."""
    evidence = SentenceEvidence(0.8, 0.0, MANY, True, True, False, False, 0.6)
    assert scored(evidence) > scored(evidence._replace(pieces=MANY - 1))


@pytest.mark.parametrize("name", ["dev", "held_out", "shipped"])
def test_the_screen_ranks_better_than_plain_overlap(name: str) -> None:
    """On every labelled set at hand: what it knows beside the shared words costs no order."""
    pairs = labelled_pairs(name)
    screen, plain = (
        area([[(supported, score(claim, text))] for claim, text, supported in pairs]).value
        for score in (support_score, plain_share)
    )
    assert screen is not None
    assert plain is not None
    assert screen >= plain


def test_two_sentences_may_support_a_claim_together() -> None:
    """A claim spread over two sentences of a passage is found in both."""
    passage = "Aurora is a tablet. It weighs 450 grams. Returns are free."
    assert supported("The Aurora tablet weighs 450 grams.", passage)


async def test_passages_may_support_a_claim_together() -> None:
    """The context is asked as one: two passages can support what neither does alone."""
    first, second = "The Aurora tablet was presented in Oslo.", "The new tablet weighs 450 grams."
    judgement = await OfflineJudge().judge(
        interaction("The Aurora tablet presented in Oslo weighs 450 grams.", first, second)
    )
    assert judgement.verdicts.response_by_passage == ((False, False),)
    assert judgement.verdicts.response_by_context == (True,)


async def test_a_contradicting_passage_does_not_undo_support() -> None:
    """One supporting passage is enough, also beside one that says the opposite."""
    passages = ("Smoking is allowed in the lobby.", "Smoking is prohibited in the lobby.")
    judgement = await OfflineJudge().judge(
        interaction("Smoking is allowed in the lobby.", *passages)
    )
    assert judgement.verdicts.response_by_passage == ((True, False),)
    assert judgement.verdicts.response_by_context == (True,)


async def test_a_judgement_with_a_reference_has_all_five_parts() -> None:
    """Response claims meet passages and reference; reference claims meet passages and response."""
    judgement = await OfflineJudge().judge(
        interaction(
            "Delivery is free. Returns take 30 days.",
            "Delivery is free.",
            "Returns take 30 days.",
            reference="Delivery is free. Returns take 14 days. Support is open on Sundays.",
        )
    )
    verdicts = judgement.verdicts
    assert verdicts.response_by_passage == ((True, False), (False, True))
    assert verdicts.response_by_context == (True, True)
    assert verdicts.response_by_reference == (True, False)
    assert verdicts.reference_by_passage == ((True, False), (False, False), (False, False))
    assert verdicts.reference_by_response == (True, False, False)
    assert judgement.usage == Usage()


async def test_without_a_reference_its_parts_are_empty() -> None:
    """No reference: no reference claims and no verdicts about them."""
    judgement = await OfflineJudge().judge(interaction("Delivery is free.", "Delivery is free."))
    assert not judgement.has_reference
    assert judgement.claims.reference == ()
    assert judgement.verdicts.response_by_reference == ()
    assert judgement.verdicts.reference_by_passage == ()
    assert judgement.verdicts.reference_by_response == ()


async def test_without_passages_nothing_is_supported_by_the_context() -> None:
    """An empty context supports no claim."""
    judgement = await OfflineJudge().judge(interaction("Delivery is free."))
    assert judgement.verdicts.response_by_passage == ((),)
    assert judgement.verdicts.response_by_context == (False,)


async def test_the_identity_names_the_rules() -> None:
    """The version is six hexadecimal digits that change with the rules and the threshold."""
    judge: Judge = OfflineJudge(name="screen")
    judgement = await judge.judge(interaction("Delivery is free.", "Delivery is free."))
    await judge.aclose()
    assert judgement.judge == judge.identity
    assert judge.identity.name == "screen"
    assert re.fullmatch("[0-9a-f]{6}", judge.identity.version)
    assert OfflineJudge().identity.name == "offline"
    assert len({rules_hash("1", 0.4), rules_hash("2", 0.4), rules_hash("1", 0.5)}) == 3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["three"], ["3"]),
        (["1,200"], ["1200"]),
        (["two", "hundred", "and", "fifty"], ["250"]),
        (["1.5", "million"], ["1500000"]),
        (["5", "percent"], ["5", "%"]),
        (["2", "weeks"], ["14", "days"]),
        (["may", "3"], ["3", "may"]),
        (["3:30", "pm"], ["15:30"]),
    ],
)
def test_equal_amounts_are_the_same_fact(one: list[str], other: list[str]) -> None:
    """However a number, amount, date or time is written, its first spelling is the same."""
    (left,), (right,) = read_facts(one), read_facts(other)
    assert left.need[0] == right.need[0]


def test_characters_of_a_chinese_word_count_where_they_stand_apart() -> None:
    """Both of 完成 are there, and not side by side: seven tenths of its weight."""
    claim = read_sentence("报告完成。")
    found = gather(claim, read_text("报纸告诉大家工作完毕成功。"))
    assert found is not None
    share = claim.weights["完成"] / sum(claim.weights.values())
    assert found.share == pytest.approx(BOTH_CHARACTERS * share)


@pytest.mark.parametrize(
    ("chinese", "digits"),
    [
        ("共三百二十人", "共320人"),
        ("百分之十二点五", "12.5%"),
        ("一万两千元", "12000元"),
        ("下午三点半", "下午3点半"),
        ("二〇二四年五月三日", "2024年5月3日"),
        ("１２００元", "1200元"),
    ],
)
def test_chinese_numerals_are_numbers(chinese: str, digits: str) -> None:
    """A Chinese numeral, or one in full width, is read as the number it names."""
    needs = [mark.need for mark in read_sentence(chinese).marks]
    assert needs
    assert needs == [mark.need for mark in read_sentence(digits).marks]


@given(claim=st.text(max_size=80), text=st.text(max_size=200))
def test_any_text_gets_a_score_between_0_and_1(claim: str, text: str) -> None:
    """No text makes the scoring fail or leave its range."""
    assert 0.0 <= support_score(claim, text) <= 1.0
    assert supported(claim, text) == (support_score(claim, text) >= THRESHOLD)


@given(
    st.lists(
        st.sampled_from(PIECES),
        max_size=12,
    )
)
def test_any_mix_of_numeric_pieces_can_be_read(pieces: list[str]) -> None:
    """Broken dates, times and numerals are read without an error, and alike on both sides."""
    for text in ("".join(pieces), " ".join(pieces)):
        assert 0.0 <= support_score(text, text) <= 1.0


@pytest.mark.parametrize(
    "monster",
    [
        "9" * 5000,
        "9" * 5000 + "th",
        "第" + "9" * 5000,
        "亿" * 500,
        "1" + "万" * 500,
        "፩ may ፩",
        "two hundred and " * 2000,
    ],
)
def test_absurd_numbers_do_no_harm(monster: str) -> None:
    """A number beyond every range is still only a token."""
    assert not supported(f"It costs 5 {monster}.", "It costs 6 euros.")


def test_a_sentence_supports_itself() -> None:
    """What is copied word for word scores 1."""
    for text in (*split_sentences(PLANS), "退款将在五个工作日内到账。"):
        assert support_score(text, text) == pytest.approx(1.0)


async def test_what_would_take_minutes_is_refused_by_name() -> None:
    """A thread cannot be stopped: too many claims against too much text do not even begin."""
    endless = " ".join(f"Pump {i} needs careful winter maintenance." for i in range(3_000))
    with pytest.raises(TooLarge, match="3,000 claims against") as caught:
        await OfflineJudge().judge(interaction(endless, endless))
    assert caught.value.reason == "too_large"
    with pytest.raises(TooLarge):
        OfflineJudge().foresee(interaction(endless, endless))


@pytest.mark.parametrize(
    ("response", "passage"),
    [
        ("好。" * 4_000, "好。" * 8_000),
        # One claim of as many words as a book against as many sentences.
        ("".join(chr(0x4E00 + i % 5_000) for i in range(20_000)) + "。", "好。" * 8_000),
        ("Pump needs care. " * 3_000, "Pump. " * 3_000),
        ("The fee is 5 euros.", "2024年" * 100_000),
    ],
    ids=["short_claims", "one_long_claim", "short_words", "too_much_to_read"],
)
async def test_the_bound_is_about_what_is_compared(response: str, passage: str) -> None:
    """Words against sentences, not claims against characters: these took 6 to 50 seconds."""
    with pytest.raises(TooLarge) as caught:
        await OfflineJudge().judge(interaction(response, passage))
    assert caught.value.reason == "too_large"


def test_steps_are_words_against_sentences() -> None:
    """Four words and the claim itself, against three sentences; and the pair of claim and text."""
    claims, texts = [read_sentence("Delivery takes long weeks.")], [read_text("One. Two. Three.")]
    words = len(claims[0].weights)
    assert steps(claims, texts) >= (1 + words) * 3
    assert steps(claims * 2, texts) == 2 * steps(claims, texts)
    assert steps(claims, texts * 2) == 2 * steps(claims, texts)


def test_a_page_of_digits_is_read_once() -> None:
    """Each tenfold used to take a hundred times as long: these took minutes."""
    assert not supported("It costs 5 euros.", "1" * 100_000 + "中")
    assert not supported("It costs 5 euros.", ",234" * 20_000 + "中")
    assert supported("有1,200万人。", "共有1200万人。")


async def test_given_claims_are_verified_as_they_are() -> None:
    """Nothing is extracted, and every verdict is a score that reaches the threshold."""
    claims = Claims(
        response=("The fee is 5 euros.", "The fee is 9 euros.", "Delivery takes two days."),
        reference=("The fee is 5 euros.",),
    )
    asked = Interaction(
        interaction_id="i",
        event_time=datetime(2026, 1, 1, tzinfo=UTC),
        application="a",
        user_input="",
        response="Hello.",
        retrieved_contexts=(Passage(text="The fee is 5 euros."), Passage(text="Delivery: 2 days.")),
        reference="The fee is 9 euros.",
        source=Source(topic="t", partition=0, offset=0),
    )
    judge = OfflineJudge()
    judgement, scores = await judge.judge(asked, claims=claims), await judge.scores(asked, claims)
    assert judgement.claims == claims
    seen = set()
    for field in scores._fields:
        rows = zip(getattr(judgement.verdicts, field), getattr(scores, field), strict=True)
        for verdict, score in rows:
            cells = (
                zip(verdict, score, strict=True)
                if field.endswith("passage")
                else [(verdict, score)]
            )
            for yes, value in cells:
                assert yes == (value >= THRESHOLD)
                seen.add(yes)
    assert seen == {True, False}
