"""Splitting texts into sentences and sentence claims, in English and Chinese."""

from __future__ import annotations

import re
import unicodedata


def word_list(text: str) -> list[str]:
    """The words of a table kept as text, so that a table stays readable and editable."""
    return text.split()


_END = re.compile(
    r"""(?=[。！？；….!?\n])(?:(?:[。！？；]|……)+["'”’」』）)\]]*"""
    r"""|[.!?]+["'”’)\]]*(?=\s|$|[\u4e00-\u9fff])|\n+)"""
)
_ABBREVIATIONS = frozenset(
    word_list("""mr mrs ms dr prof sr jr st vs e.g i.e eg ie etc inc ltd co corp fig figs no nos
    vol pp approx dept est gen gov sen rep rev hon capt col lt mt jan feb mar apr jun jul aug sep
    sept oct nov dec al cf ca pop min max tel a.m p.m u.s u.k u.n ph.d d.c""")
)
_MAY_END = frozenset(word_list("etc inc ltd co corp a.m p.m u.s u.k u.n ph.d d.c"))
_STARTERS = re.compile(r"(?:The|It|In|This|He|She|They|We|You|A|An|If|But|However|For|At|On)\b")
_MARKER = re.compile(
    r"^\s*(?:>\s+|[-*•·–—▪◦]\s+|\(?\d{1,2}[.)]\s+|\(?[a-zA-Z][)]\s+|\d{1,2}[、．]\s*"
    r"|[（(][\d一二三四五六七八九十]+[)）]\s*|[一二三四五六七八九十]+、\s*|[①-⑳]\s*)+"
)
_CITATION = re.compile(r"\s?\[(?:\d+(?:\s?[,–-]\s?\d+)*|doc(?:ument)?\s?\d+)\]", re.IGNORECASE)
_EMPHASIS = re.compile(r"\*\*|__|`")
_LEAD = re.compile(
    r"^(?:(?:yes|no|sure|certainly|of course|ok(?:ay)?|well|sorry|apologies|i(?:'m| am) sorry"
    r"|i apologi[sz]e|unfortunately|hello|hi|hey|thank you|thanks|good question|great question)"
    r"(?:\s+there)?\s*[,!.—–-]+\s*|(?:but|and|so)[,]?\s+"
    r"|(?:是的|不是的|对的|好的|当然|您好|你好|抱歉|很抱歉|非常抱歉|对不起|不好意思|遗憾的是|但是?)"
    r"[，,！!]\s*)+",
    re.IGNORECASE,
)
_NO_CLAIM = re.compile(
    r"""(?:i(?:'m|\ am)\ (?:sorry|afraid|unable|not\ (?:sure|able|aware|certain))\b
    |i\ (?:really\ )?(?:do\ not|don't|did\ not|didn't)\ (?:know|have|find|see)\b
    |i\ (?:cannot|can't|can\ not|could\ not|couldn't|was\ unable)\b
    |(?:sorry|apologies|i\ apologi[sz]e|unfortunately,?\ i)\b|as\ an\ ai\b
    |(?:hi|hello|hey|greetings|dear|welcome|good\ (?:morning|afternoon|evening|day))\b[^.]{0,24}$
    |(?:thanks|thank\ you|you're\ welcome|you\ are\ welcome|sure|of\ course|certainly|absolutely
      |great\ question|good\ question|happy\ to\ help|glad\ to\ help|best\ regards)\b[^.]{0,40}$
    |(?:please\ )?(?:let\ me\ know|feel\ free|don't\ hesitate|do\ not\ hesitate)\b
    |i\ hope\ (?:this|that)\b|(?:is|are)\ there\ anything\b
    |if\ you\ have\ (?:any|further|more|other)\b.*(?:question|let\ me|feel\ free|ask)
    |(?:i'd|i\ would|i'll|i\ will)\ be\ (?:happy|glad)\b|here(?:'s|\ is|\ are)\b.*:$
    |(?:the|this|your)?\ ?(?:provided|given|retrieved|available|supplied)?\ ?(?:context|documents?
      |passages?|information|sources?)(?:\ provided|\ given|\ above)?\ (?:does|do)(?:\ not|n't)\b
    |there\ is\ (?:no|not\ enough|insufficient)\ (?:relevant\ )?(?:information|context|mention)\b
    |(?:非常|很|十分|实在)?(?:抱歉|对不起|不好意思)|(?:我|我们)(?:并)?(?:不知道|不清楚|不确定|无法
      |不能|没有找到|找不到)|(?:您好|你好|大家好|谢谢|感谢|不客气|好的|当然可以|没问题|欢迎)[^，]{0,10}$
    |(?:很高兴|乐意)为您|希望(?:这|以上|能|对)|如(?:果您|果你|您|你)?(?:还)?有(?:任何|其他|其它|更多)
    |(?:请)?(?:随时)(?:告诉|联系|提问)|无法(?:回答|确定|提供)|作为(?:一个)?(?:AI|人工智能)
    |根据(?:提供的|现有的?|已有的?)?(?:资料|信息|上下文|文档|内容)，?(?:我)?(?:无法|不能|没有)
    |(?:提供的)?(?:资料|文档|上下文)(?:中)?(?:没有|并未|未))""",
    re.IGNORECASE | re.VERBOSE,
)
_BUT = re.compile(r"[,，;；]?\s*(?:\bbut\b|\bhowever\b,?|，但是?)\s*", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"[^\W_]")


def normalise(text: str) -> str:
    """Full-width forms made half-width (NFKC), curly apostrophes straight.

    >>> normalise("ＡＢＣ１２３。")
    'ABC123。'
    """
    return text if text.isascii() else unicodedata.normalize("NFKC", text.replace("’", "'"))


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order, stripped; abbreviations and decimals do not end one.

    >>> split_sentences("Dr. Wu paid 3.5 dollars. 很好。Fine!")
    ['Dr. Wu paid 3.5 dollars.', '很好。', 'Fine!']
    """
    sentences, start = [], 0
    for match in _END.finditer(text):
        if match[0][0] == "." and not _ends_sentence(text, match):
            continue
        if sentence := text[start : match.end()].strip():
            sentences.append(sentence)
        start = match.end()
    if rest := text[start:].strip():
        sentences.append(rest)
    return sentences


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    after = text[match.end() : match.end() + 12].lstrip()
    if after and after[0].islower():
        return False
    window = text[max(0, match.start() - 16) : match.start()]
    head = window.split()[-1] if window.split() else ""
    word = head.strip("(\"'“‘").lower()
    line = window.rpartition("\n")[2].strip()
    if len(line) <= 2 and line.isalnum() and after:
        return False  # "1." at the start of a line is a list marker
    if word == "no":
        return not after[:1].isdigit()
    if word in _ABBREVIATIONS:
        return word in _MAY_END and (not after or bool(_STARTERS.match(after)))
    if len(word) == 1 and word.isalpha() and head.isupper():
        return not after or bool(_STARTERS.match(after))
    return True


def split_claims(text: str) -> tuple[str, ...]:
    """The sentence claims of a response or a reference.

    Questions, headings, greetings, offers of help and refusals claim nothing; list markers,
    citations and emphasis are stripped.

    >>> split_claims("Hello! I'm sorry, I can't find the fee. 1) Delivery is free. Anything else?")
    ('Delivery is free.',)
    """
    found = (_claim(sentence) for sentence in split_sentences(text))
    return tuple(claim for claim in found if claim)


def _claim(sentence: str) -> str:
    if sentence.startswith("#"):
        return ""
    text = _EMPHASIS.sub("", _CITATION.sub("", sentence))
    text = _SPACE.sub(" ", _MARKER.sub("", text)).strip()
    if text.rstrip("\"'”’」』)）").endswith(("?", "？", ":", "：")):
        return ""
    text = _LEAD.sub("", text)
    if _NO_CLAIM.match(text):
        text = _LEAD.sub("", "".join(_BUT.split(text, maxsplit=1)[1:]))
        if _NO_CLAIM.match(text):
            return ""
    return text if _WORD.search(text) else ""
