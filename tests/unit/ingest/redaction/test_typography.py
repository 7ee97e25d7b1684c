"""Values as typesetters, PDFs and web pages write them: found, and the same token as when typed."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.ingest.redaction.shadow import shadow
from tests.stages.redaction import ALL, KINDS, REDACTOR, TOKEN
from tests.stages.typography import CARD, EMAIL, FRENCH, SPELLINGS, VARIANTS


@pytest.mark.parametrize("name", SPELLINGS)
@pytest.mark.parametrize("around", ["{}", "see {} now", "《{}》", "“{}”,"])
def test_a_value_is_found_however_it_is_set(name: str, around: str) -> None:
    """And becomes the token that it becomes as it is typed; what is around it stays."""
    typed, written = SPELLINGS[name]
    (token,) = TOKEN.findall(REDACTOR.text(typed))
    assert REDACTOR.text(around.format(written)) == around.format(token)


def test_there_are_all_spellings() -> None:
    """Those of the review, and more; each is another text than the typed one."""
    assert len(SPELLINGS) >= 36
    assert all(typed != written for typed, written in SPELLINGS.values())


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic |"),
        ("aws wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY.", "aws |."),
        ("secret key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "secret key |"),
        ("password: correct-horse-battery", "password: |"),
        ('{"passphrase": "correct.horse.battery"}', '{"passphrase": "|"}'),
        ("密码：correct_horse_battery", "密码：|"),
    ],
)
def test_secrets_by_their_place(text: str, clean: str) -> None:
    """A name and password of HTTP, Amazon's secret with its slashes, a password of words."""
    assert TOKEN.sub("|", REDACTOR.text(text)) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"{CARD}² is told below", "|² is told below"),
        (f"{EMAIL}¹", "|¹"),
        (f"¹{FRENCH}, ②{FRENCH}", "¹|, ②|"),
        (f"① {FRENCH}", "① |"),
        (f"{EMAIL}。Thanks", "|。Thanks"),
        (f"{EMAIL}·thanks", "|·thanks"),
        (f"{EMAIL}<br>thanks", "|<br>thanks"),
    ],
)
def test_signs_next_to_a_value_are_not_its_own(text: str, clean: str) -> None:
    """A footnote, the number of a list, the end of a sentence."""
    assert TOKEN.sub("|", REDACTOR.text(text)) == clean


@pytest.mark.parametrize(
    "text",
    [
        "Basic internationalization takes time",
        "basic dXNlcm5hbWVwYXNzd29yZA==",  # no colon in it
        "/static/Js/A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7 is a path",
        "aws s3 cp /var/lib/data/2026/Backups/Monthly/Reports1",
        "password: your-password-here",
        "password: up-to-date",
        "the secret is state-of-the-art-encryption",
        "2019–2020–2021 — 3 000 – 4 000 habitants",
        "1234\t5678\t9012\t3456",
        "meet (at) noon, look [at] it",
        "R&#38;D costs &#8364;5 &nbsp;&ndash; or &#12;",
        "a<br>b &amp;nbsp; 2³·⁴⁵⁶, ① one ② two ③ three, @some·body。",
        "1️⃣ 2️⃣ 3️⃣ and ½ of x² + 10⁶",
    ],
)
def test_what_only_looks_alike_stays(text: str) -> None:
    """Not a sign of it is changed, be it ever so odd."""
    assert REDACTOR.text(text) == text


@pytest.mark.parametrize("name", VARIANTS)
def test_the_strings_of_the_corpus_in_other_type(name: str) -> None:
    """All that is found when it is typed is found, as the same tokens, and nothing else is."""
    set_in, wrong = VARIANTS[name], []
    for one in ALL:
        written = set_in(one.text)
        plain = TOKEN.findall(REDACTOR.text(one.text))
        if sorted(TOKEN.findall(REDACTOR.text(written))) != sorted(plain):
            wrong.append((one.text, REDACTOR.text(written)))
    assert not wrong


def test_the_corpus_has_all_kinds() -> None:
    """So that the variants are of each of them."""
    assert {one.kind for one in ALL if one.values} == set(KINDS)


SIGNS = (
    st.sampled_from("aZ09@.-+ \n¹²³①。·\ufe0f\u00ad\u200b\u202f\u2011\u2013（）５٣ﬃ𝟒&#;")
    | st.characters()
)


@given(
    st.lists(
        SIGNS | st.sampled_from(["&#64;", "&amp;nbsp;", "&nbsp;", "&shy;", "<br>"]), max_size=30
    ).map("".join)
)
def test_places_in_a_shadow_lead_back(text: str) -> None:
    """The shadow sign by sign is the text in order, without gaps but for what has no width."""
    seen = shadow(text)
    last = 0
    for i in range(len(seen.plain)):
        begin, end = seen.place(i, i + 1)
        assert last <= begin < end or (begin, end) == seen.place(i - 1, i)
        assert shadow(text[last:begin]).plain == "" or begin == last
        last = end
    assert shadow(text[last:]).plain == ""


@given(st.text(alphabet=st.characters(max_codepoint=0x7F, exclude_characters="&"), max_size=50))
def test_a_plain_text_is_its_own_shadow(text: str) -> None:
    """Not even copied: who types pays nothing."""
    assert shadow(text).plain is text


@pytest.mark.parametrize("unit", ["4\u00ad", "&amp;nbsp;", "\u202f\u00ad1"])
def test_the_way_back_takes_few_bytes_a_sign(unit: str) -> None:
    """Millions of them come in one record: with an object each they would fill the memory."""
    text = unit * 50_000
    tracemalloc.start()
    try:
        found = shadow(text)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found.plain) < len(text)
    assert most < 100 * 50_000
