"""Claims that two passages support together and neither of them alone, in English and Chinese."""

from __future__ import annotations

from typing import Final, NamedTuple


class Together(NamedTuple):
    """A claim, and the two sentences from which together it follows."""

    language: str
    claim: str
    halves: tuple[str, str]


def _made(language: str, product: str, place: str, person: str) -> Together:
    if language == "en":
        return Together(
            language,
            f"The {product} is built in a plant that {person} runs.",
            (f"The {product} is built in the {place} plant.", f"{person} runs the {place} plant."),
        )
    return Together(
        language,
        f"{product}产自由{person}管理的工厂。",
        (f"{product}产自{place}工厂。", f"{place}工厂由{person}管理。"),
    )


def _counted(language: str, first: tuple[str, int], second: tuple[str, int]) -> Together:
    (here, some), (there, more) = first, second
    if language == "en":
        return Together(
            language,
            f"The {here} and the {there} have {some + more} desks between them.",
            (f"The {here} has {some} desks.", f"The {there} has {more} desks."),
        )
    return Together(
        language,
        f"{here}和{there}一共有{some + more}张办公桌。",
        (f"{here}有{some}张办公桌。", f"{there}有{more}张办公桌。"),
    )


TOGETHER: Final = (
    _made("en", "Lumo lamp", "Trelby", "Ines Haldane"),
    _made("zh", "流光台灯", "柳川", "韩若溪"),
    _counted("en", ("harbour office", 17), ("airport office", 26)),
    _counted("zh", ("港口办公室", 17), ("机场办公室", 26)),
    _made("en", "Corvid drone", "Maddock", "Petra Lindqvist"),
    _made("zh", "鸦羽无人机", "石塘", "陆景行"),
    _counted("en", ("north annex", 34), ("south annex", 29)),
    _counted("zh", ("北配楼", 34), ("南配楼", 29)),
    _made("en", "Finch speaker", "Ostrava", "Jonas Abebe"),
    _made("zh", "云雀音箱", "松江", "顾明远"),
    _counted("en", ("repair hall", 41), ("packing hall", 13)),
    _counted("zh", ("维修大厅", 41), ("打包大厅", 13)),
    _made("en", "Marlin scooter", "Benedorf", "Aoife Castellan"),
    _made("zh", "旗鱼滑板车", "临溪", "沈知夏"),
    _counted("en", ("training room", 22), ("reading room", 37)),
    _counted("zh", ("培训室", 22), ("阅览室", 37)),
    _made("en", "Tern router", "Kilmory", "Matteo Osei"),
    _made("zh", "燕鸥路由器", "白河", "程望舒"),
    _counted("en", ("data floor", 58), ("studio floor", 19)),
    _counted("zh", ("数据楼层", 58), ("录音楼层", 19)),
)
"""Ten in each language."""
