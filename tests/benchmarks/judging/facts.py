"""What the labelled sets speak of: made-up products with ten properties each, in two languages.

Every sentence states one property of one product, so that which text supports which claim follows
from how the texts were put together, and not from anybody's reading.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

LANGUAGES: Final = ("en", "zh")


class Statement(NamedTuple):
    """That a product's property has a value; the same statement in whichever wording."""

    product: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Property:
    """A question, the wordings of a statement ({s}: product, {v}: value) and possible values."""

    question: str
    wordings: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All that is said in one language."""

    separator: str
    products: tuple[str, ...]
    properties: Mapping[str, Property]
    fillers: tuple[str, ...]

    def truth(self, product: str, key: str) -> Statement:
        """What is true of a product."""
        return Statement(
            product, key, Random(f"{product}/{key}").choice(self.properties[key].values)
        )

    def mistake(self, truth: Statement, rng: Random) -> Statement:
        """Another value of the same property."""
        others = [value for value in self.properties[truth.key].values if value != truth.value]
        return truth._replace(value=rng.choice(others))

    def sentence(self, said: Statement, rng: Random) -> str:
        """A statement in one of its wordings."""
        return rng.choice(self.properties[said.key].wordings).format(s=said.product, v=said.value)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _property(question: str, wordings: str, values: str) -> Property:
    return Property(question, tuple(wordings.split("|")), _words(values))


_ENGLISH = Catalogue(
    separator=" ",
    products=_words(
        """Pico Ibis Aria Solis Vega Corvid Tern Marlin Finch Juniper Basalt Harrier Kestrel Onyx
        Poppy Quartz Raven Saffron Tansy Umber Willow Yarrow Zephyr Cobalt Dune"""
    ),
    properties={
        "price": _property(
            "How much is the {s}?",
            "The {s} costs {v} euros.|A {s} costs {v} euros.|For the {s} you pay {v} euros.",
            "45 95 120 180 250 310 475 640",
        ),
        "weight": _property(
            "How heavy is the {s}?",
            "The {s} weighs {v} grams.|A {s} weighs {v} grams.|With the {s} you carry {v} grams.",
            "85 140 210 305 420 530 760 890",
        ),
        "battery": _property(
            "How long does the {s} run?",
            "The {s} runs for {v} hours.|A {s} lasts {v} hours.|Charged, a {s} runs {v} hours.",
            "6 9 14 18 22 27 33 38",
        ),
        "colour": _property(
            "What colour is the {s}?",
            "The {s} is {v}.|The {s} comes in {v}.|In shops the {s} is {v}.",
            "red blue green black white yellow silver orange",
        ),
        "launch": _property(
            "When did the {s} come out?",
            "The {s} came out in {v}.|The {s} dates from {v}.|In {v} the {s} came out.",
            "2015 2016 2017 2018 2019 2020 2021 2022",
        ),
        "designer": _property(
            "Who designed the {s}?",
            "{v} designed the {s}.|The {s} is a design by {v}.|It was {v} who designed the {s}.",
            "Haldane Castellan Abebe Novak Moreau Tanaka Okafor Brandt",
        ),
        "city": _property(
            "Where is the {s} made?",
            "The {s} is made in {v}.|{v} makes the {s}.|In {v} the {s} is made.",
            "Lisbon Oslo Lyon Turin Ghent Porto Graz Brno",
        ),
        "warranty": _property(
            "How long is the {s} guaranteed?",
            "The {s} has {v} months of warranty.|Warranty on the {s} is {v} months.",
            "12 18 24 30 36 48 60 72",
        ),
        "screen": _property(
            "How big is the screen of the {s}?",
            "The screen of the {s} is {v} inches.|The screen of a {s} has {v} inches.",
            "4 5 7 8 10 11 13 15",
        ),
        "storage": _property(
            "How much does the {s} store?",
            "The {s} stores {v} gigabytes.|A {s} holds {v} gigabytes.|{v} gigabytes fit the {s}.",
            "16 32 64 128 256 512 1024 2048",
        ),
    },
    fillers=(
        "Please read the manual first.",
        "A soft cloth is enough for cleaning.",
        "Our shops are happy to help.",
        "Spare parts are sold online.",
        "The box can be recycled.",
        "Updates are free.",
    ),
)
_CHINESE = Catalogue(
    separator="",
    products=_words(
        """雪松 云雀 旗鱼 燕鸥 青松 白杨 山雀 海棠 银杏 紫藤 丁香 芦苇 石英 玛瑙 琥珀 珊瑚 晨星 北斗
        长风 飞鱼 木兰 金盏 玉兰 秋水 春雷"""
    ),
    properties={
        "price": _property(
            "{s}多少钱？",
            "{s}售价{v}元。|{s}的价格是{v}元。|买{s}要花{v}元。",
            "45 95 120 180 250 310 475 640",
        ),
        "weight": _property(
            "{s}有多重？",
            "{s}重{v}克。|{s}的重量是{v}克。|带上{s}就是{v}克。",
            "85 140 210 305 420 530 760 890",
        ),
        "battery": _property(
            "{s}能用多久？",
            "{s}续航{v}小时。|{s}可用{v}小时。|充一次电，{s}可用{v}小时。",
            "6 9 14 18 22 27 33 38",
        ),
        "colour": _property(
            "{s}是什么颜色？",
            "{s}是{v}的。|{s}为{v}。|店里的{s}是{v}的。",
            "红色 蓝色 绿色 黑色 白色 黄色 银色 橙色",
        ),
        "launch": _property(
            "{s}什么时候上市？",
            "{s}{v}年上市。|{s}在{v}年推出。|{v}年{s}上市。",
            "2015 2016 2017 2018 2019 2020 2021 2022",
        ),
        "designer": _property(
            "{s}是谁设计的？",
            "{s}由{v}设计。|{v}设计了{s}。|设计{s}的是{v}。",
            "王明 李华 张伟 刘洋 陈静 杨帆 周平 林海",
        ),
        "city": _property(
            "{s}在哪里生产？",
            "{s}在{v}生产。|{s}产自{v}。|{v}生产{s}。",
            "上海 北京 广州 南京 天津 成都 西安 大连",
        ),
        "warranty": _property(
            "{s}保修多久？",
            "{s}保修{v}个月。|{s}的保修期是{v}个月。",
            "12 18 24 30 36 48 60 72",
        ),
        "screen": _property(
            "{s}的屏幕多大？",
            "{s}的屏幕是{v}寸。|{s}有{v}寸的屏幕。",
            "4 5 7 8 10 11 13 15",
        ),
        "storage": _property(
            "{s}能存多少？",
            "{s}可存{v}GB。|{s}的容量是{v}GB。|用{s}能存{v}GB。",
            "16 32 64 128 256 512 1024 2048",
        ),
    },
    fillers=(
        "请先看说明书。",
        "用软布清洁即可。",
        "门店乐意帮忙。",
        "网上可买到配件。",
        "包装盒可以回收。",
        "更新是免费的。",
    ),
)
CATALOGUES: Final[Mapping[str, Catalogue]] = {"en": _ENGLISH, "zh": _CHINESE}
