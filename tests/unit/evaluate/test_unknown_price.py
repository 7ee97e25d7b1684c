"""What a run costs whose model has no price."""

from __future__ import annotations

from monitor.evaluate.summary import Summary, one_line
from monitor.records import Usage


def test_an_unknown_price_is_no_zero() -> None:
    """It is said in words; a price of 0 is a price, and what was paid is known."""
    usage = Usage(calls=3, prompt_tokens=10, completion_tokens=4)
    unknown = Summary(usage=usage, has_price=False)
    assert unknown.usd is None
    assert "4 completion tokens, price not known" in one_line(unknown)
    assert "4 completion tokens, 0.0000 USD" in one_line(Summary(usage=usage))
    paid = usage.model_copy(update={"usd": 0.5})
    assert Summary(usage=paid, has_price=False).usd == 0.5
