"""Which language a text is in, as far as frequent small words and its script tell. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Final

#: Words that hardly any text of a language is without, and that few others have.
_WORDS: Final = {
    "English": "the of and to is what how do does can i my you are for with it in this",
    "German": "der die das und ist nicht wie was ich kann mein ein eine den von zu mit für wird",
    "French": "le la les des et est que je mon une pour dans comment quel quelle pas vous ce du",
    "Spanish": "el la los las de y es que como mi una para por cuál qué con puedo no en",
    "Italian": "il lo gli di e è che come mio una per quale non con posso del della sono",
    "Portuguese": "o os as de e é que como meu uma para por qual não com posso do da em",
    "Dutch": "de het een en is niet hoe wat ik kan mijn van voor met welke zijn op te dat",
    "Polish": "i w na nie jest jak co mój się do z czy to że jaki dla mogę",
}
_OF = {language: frozenset(words.split()) for language, words in _WORDS.items()}
#: As much as tells.
_LOOKED_AT = 2_000
_SCRIPTS: Final = {"CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese"}
_NAMED: Final = {"HANGUL": "Korean", "THAI": "Thai", "HEBREW": "Hebrew", "GREEK": "Greek"}


def language(text: str) -> str:
    """Its likeliest language; where only the script is known that, like ``Arabic script``.

    >>> language("Wie lange gilt die Garantie?"), language("How long is the warranty?")
    ('German', 'English')
    >>> language("保修期多长?"), language("保証期間はどのくらいですか"), language("42?")
    ('Chinese', 'Japanese', 'no words')
    """
    text = text[:_LOOKED_AT]
    scripts = Counter(_script(sign) for sign in text if sign.isalpha())
    if not scripts:
        return "no words"
    if scripts["Japanese"]:
        return "Japanese"
    most = scripts.most_common(1)[0][0]
    return _latin(text) if most == "Latin" else most


def _script(sign: str) -> str:
    name = unicodedata.name(sign, "UNKNOWN").split()[0].split("-")[0]
    return (
        _SCRIPTS.get(name)
        or _NAMED.get(name)
        or ("Latin" if name == "LATIN" else f"{name.capitalize()} script")
    )


def _latin(text: str) -> str:
    words = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    hits = {name: sum(words[word] for word in small) for name, small in _OF.items()}
    best, second = sorted(hits, key=lambda name: -hits[name])[:2]
    return best if hits[best] > hits[second] else "Latin script"
