"""Values as people and programs spell them: what redaction must find all the same."""

from __future__ import annotations

from collections.abc import Callable

CARD, IBAN = "4111 1111 1111 1111", "DE89 3704 0044 0532 0130 00"
PHONE, FRENCH, EMAIL = "+49 30 901820", "01 42 68 53 00", "bob@example.com"
WIDE = dict(zip(map(ord, "0123456789@.+"), "０１２３４５６７８９＠．＋", strict=True))
ARABIC = dict(zip(map(ord, "0123456789"), "٠١٢٣٤٥٦٧٨٩", strict=True))
RAISED = dict(zip(map(ord, "0123456789"), "⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True))
CIRCLED = dict(zip(map(ord, "0123456789"), "⓪①②③④⑤⑥⑦⑧⑨", strict=True))
#: What stands between groups instead of a blank.
BETWEEN = {
    "braille_blank": "\u2800",
    "hair_entity": "&hairsp;",
    "figure_entity": "&numsp;",
    "narrow_no_break_space": "\u202f",
    "thin_space": "\u2009",
    "figure_space": "\u2007",
    "no_break_hyphen": "\u2011",
    "en_dash": "\u2013",
    "newline": "\n",
    "tab": "\t",
    "hyphen_with_blanks": " - ",
}
#: What has no width, in the middle of a value.
NO_WIDTH = {
    "zero_width_space": "\u200b",
    "word_joiner": "\u2060",
    "soft_hyphen": "\u00ad",
    "far_variation_selector": "\U000e0100",
    "mongolian_selector": "\u180f",
    "musical_sign": "\U0001d173",
    "khmer_vowel": "\u17b4",
}


def inside(value: str, sign: str) -> str:
    """With the sign in its middle."""
    middle = len(value) // 2
    return value[:middle] + sign + value[middle:]


SPELLINGS = {
    **{f"card_{name}": (CARD, CARD.replace(" ", sign)) for name, sign in BETWEEN.items()},
    **{f"iban_{name}": (IBAN, IBAN.replace(" ", sign)) for name, sign in BETWEEN.items()},
    **{f"card_{name}": (CARD, inside(CARD, sign)) for name, sign in NO_WIDTH.items()},
    **{f"iban_{name}": (IBAN, inside(IBAN, sign)) for name, sign in NO_WIDTH.items()},
    **{f"phone_{name}": (PHONE, inside(PHONE, sign)) for name, sign in NO_WIDTH.items()},
    **{f"email_{name}": (EMAIL, inside(EMAIL, sign)) for name, sign in NO_WIDTH.items()},
    "card_arabic_digits": (CARD, CARD.translate(ARABIC)),
    "card_segmented_digits": (
        CARD,
        CARD.translate({ord("0") + n: 0x1FBF0 + n for n in range(10)}),
    ),
    "card_full_width": (CARD, CARD.translate(WIDE)),
    "iban_full_width": (IBAN, IBAN.translate(WIDE)),
    "phone_full_width": (PHONE, PHONE.translate(WIDE)),
    "phone_french_narrow": (FRENCH, FRENCH.replace(" ", "\u202f")),
    "phone_french_no_break": (FRENCH, FRENCH.replace(" ", "\u00a0")),
    "phone_wrapped": (PHONE, PHONE.replace(" ", "\n", 1)),
    "phone_no_break_hyphen": ("030-901820", "030\u2011901820"),
    "email_full_width_at": (EMAIL, EMAIL.replace("@", "＠")),
    "email_full_width_dot": (EMAIL, EMAIL.replace(".", "．")),
    "email_small_at": (EMAIL, EMAIL.replace("@", "\ufe6b")),
    "email_entity": (EMAIL, EMAIL.replace("@", "&#64;")),
    "email_hexadecimal_entity": (EMAIL, EMAIL.replace("@", "&#x40;")),
    "email_named_entity": (EMAIL, EMAIL.replace("@", "&commat;")),
    "email_at_in_brackets": (EMAIL, EMAIL.replace("@", "(at)")),
    "email_at_and_dot_in_words": (EMAIL, "bob [at] example [dot] com"),
    "email_no_break_hyphen": ("jo-ann@example.com", "jo\u2011ann@example.com"),
    "email_ligature": ("office@example.com", "o\ufb03ce@example.com"),
    "card_no_break_entities": (CARD, CARD.replace(" ", "&nbsp;")),
    "card_variation_selector": (CARD, inside(CARD, "\ufe0f")),
    "card_grapheme_joiner": (CARD, inside(CARD, "\u034f")),
    "card_hangul_filler": (CARD, inside(CARD, "\u3164")),
    "card_superscript": (CARD, CARD.translate(RAISED)),
    "card_circled": (CARD, CARD.translate(CIRCLED)),
    "phone_superscript": ("030 901820", "030 901820".translate(RAISED)),
    "email_ideographic_stop": (EMAIL, EMAIL.replace(".", "\u3002")),
    "email_middle_dots": ("bob@mail.example.com", "bob@mail·example·com"),
    "card_line_break": (CARD, CARD.replace(" ", "<br>")),
    "iban_line_break": (IBAN, IBAN.replace(" ", "<BR />")),
    "phone_line_break": (PHONE, PHONE.replace(" ", "<br/>", 1)),
    "card_escaped_twice": (CARD, CARD.replace(" ", "&amp;nbsp;")),
    "email_escaped_twice": (EMAIL, EMAIL.replace("@", "&amp;#64;")),
    "card_wrapped": (CARD, "4111 1111\n1111 1111"),
}


def digits(table: dict[int, str]) -> Callable[[str], str]:
    """Other digits."""
    return lambda text: text.translate(table)


#: The strings of the corpus, values and what only looks like them, as others would set them.
VARIANTS: dict[str, Callable[[str], str]] = {
    "narrow_no_break_space": lambda text: text.replace(" ", "\u202f"),
    "thin_space": lambda text: text.replace(" ", "\u2009"),
    "figure_space": lambda text: text.replace(" ", "\u2007"),
    "no_break_hyphen": lambda text: text.replace("-", "\u2011"),
    "soft_hyphens": lambda text: "\u00ad".join(text),
    "zero_width_spaces": lambda text: "\u200b".join(text),
    "word_joiners": lambda text: "\u2060".join(text),
    "full_width": digits(WIDE),
    "arabic_digits": digits(ARABIC),
    "entities": lambda text: text.replace("@", "&#64;"),
}
