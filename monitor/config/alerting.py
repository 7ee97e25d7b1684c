"""Settings of the alerts: where they lead to, what they wait for, and from where on they fire.

Only ``rag-monitor rules render`` reads them, but for ``clock``, by which processes go, too. What an
application has promised stands under ``objectives``, and what drift is under ``drift``.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, field_validator
from pydantic.config import JsonDict

from monitor.config.base import AGE_SCHEMA, Age, Fraction, Section, mapping, seconds, split

AlertName = Literal[
    "RagQualityDrift",
    "RagQualityDriftMany",
    "RagQualityBelowObjective",
    "RagQualityMissing",
    "RagQualityUnwatched",
    "RagMonitorBlind",
    "RagMonitorNoTraffic",
    "RagMonitorDown",
    "RagMonitorLagging",
    "RagMonitorJudgeFailing",
    "RagMonitorJudgeStopped",
    "RagMonitorJudgeDoubtful",
    "RagMonitorBudgetExhausted",
    "RagMonitorDeadLetters",
    "RagMonitorRecordsLost",
    "RagMonitorUnscorable",
    "RagMonitorWatchdog",
]
#: Minutes make nobody's night worse; what passes by itself within them wakes nobody.
PENDING: Final[dict[AlertName, str]] = {
    "RagQualityDrift": "1m",
    "RagQualityDriftMany": "1m",
    "RagQualityBelowObjective": "10m",
    "RagQualityMissing": "5m",
    "RagQualityUnwatched": "1h",
    "RagMonitorBlind": "5m",
    "RagMonitorNoTraffic": "15m",
    "RagMonitorDown": "5m",
    "RagMonitorLagging": "5m",
    "RagMonitorJudgeFailing": "5m",
    "RagMonitorJudgeStopped": "5m",
    "RagMonitorJudgeDoubtful": "5m",
    "RagMonitorBudgetExhausted": "0s",
    "RagMonitorDeadLetters": "0s",
    "RagMonitorRecordsLost": "0s",
    "RagMonitorUnscorable": "5m",
    "RagMonitorWatchdog": "0s",
}
#: A gap (an exporter that replays after a restart) or the next of some rare events is no news.
KEEP_FIRING: Final[dict[AlertName, str]] = {
    **dict.fromkeys(PENDING, "0s"),
    "RagQualityDrift": "5m",
    "RagQualityDriftMany": "5m",
    "RagQualityBelowObjective": "5m",
    "RagQualityMissing": "5m",
    "RagMonitorBudgetExhausted": "15m",
    "RagMonitorDeadLetters": "1h",
    "RagMonitorRecordsLost": "1h",
}

#: Labels that rules give their alerts, or that say what they are about.
OWN_LABELS: Final = (
    *("alertname", "severity", "cause", "held_by", "role", "seen_by", "state"),
    *("metric", "application", "judge", "window", "direction", "incident", "topic", "model"),
)


def _is_duration(text: str) -> str:
    """The same; unlike elsewhere it may be ``0s``."""
    if not re.fullmatch("0+s", text):
        seconds(text)
    return text


def _is_free(name: str) -> str:
    """A label that the rules do not set themselves."""
    if name in OWN_LABELS:
        raise ValueError(f"found {name!r}, which the rules set themselves")
    return _is_label(name)


def _is_label(name: str) -> str:
    if not re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name):
        raise ValueError(f"found {name!r}, no name of a label")
    return name


_LABEL_SCHEMA: Final[JsonDict] = {"type": "string", "pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"}
Duration = Annotated[
    str,
    AfterValidator(_is_duration),
    WithJsonSchema({"type": "string", "anyOf": [{"pattern": "^0+s$"}, AGE_SCHEMA]}),
]
AlertLabel = Annotated[str, AfterValidator(_is_label), WithJsonSchema(_LABEL_SCHEMA)]
AlertLabels = Annotated[
    tuple[AlertLabel, ...],
    BeforeValidator(split, json_schema_input_type=tuple[AlertLabel, ...] | str),
]
FreeLabel = Annotated[
    str,
    AfterValidator(_is_free),
    WithJsonSchema({**_LABEL_SCHEMA, "not": {"enum": list(OWN_LABELS)}}),
]


_LINK_PATTERN: Final = r"^https?://[^\s{}]+$"
_LINK: Final[JsonDict] = {"pattern": _LINK_PATTERN}


class Alerts(Section):
    """What ``rules render`` writes into the rules of Prometheus."""

    runbook_url: str = Field(
        "https://runbooks.example.com/rag-monitor",
        description="where you publish deploy/runbooks. An alert links to RUNBOOK_URL/NAME.md",
        json_schema_extra=_LINK,
    )
    dashboard_url: str = Field(
        "https://grafana.example.com/d",
        description="Grafana's address with /d. An alert links to DASHBOARD_URL/UID",
        json_schema_extra=_LINK,
    )
    pages_url: str | None = Field(
        None,
        description="address of the pages of audits, or of the exporter. RagQualityDrift links "
        "to PAGES_URL/alarms/KEY",
        json_schema_extra=_LINK,
    )
    job: str = Field(
        "(.*/)?rag-monitor(-(score|export|run|audit))?",
        description="regular expression of the scrape jobs of the monitor's processes",
    )
    by: AlertLabels = Field(
        ("cluster", "namespace"),
        description="labels of the scrape that tell several monitors apart. Labels that no "
        "series has do no harm",
    )
    replicas: AlertLabels = Field(
        ("instance", "pod"),
        description="labels of the scrape that tell processes of one monitor apart: several "
        "exporters make one alert",
    )
    labels: Annotated[dict[FreeLabel, str], BeforeValidator(mapping)] = Field(
        {},
        description="label: value, given to every alert, for the routes of an Alertmanager",
        json_schema_extra={"additionalProperties": False},
    )
    window: Age = Field("15m", description="time over which alerts count")
    long_window: Age = Field(
        "6h",
        description="time over which they count where `window` has fewer than `least` interactions",
    )
    least: int = Field(20, ge=1, description="interactions to judge. With fewer there is no share")
    failing_ratio: Fraction = Field(
        0.1, description="share of failed judgements from which RagMonitorJudgeFailing fires"
    )
    missing_ratio: Fraction = Field(
        0.2,
        description="share of failed judgements of one application and judge from which it fires "
        "for them, where all together are below failing_ratio",
    )
    unscorable_ratio: Fraction = Field(
        0.5, description="share of unscorable interactions from which RagMonitorUnscorable fires"
    )
    dead_letters: int = Field(
        3, ge=1, description="dead letters within `window` from which RagMonitorDeadLetters fires"
    )
    dead_letter_ratio: Fraction = Field(
        0.01,
        description="share of dead letters within `long_window` from which it fires, too, where "
        "there are as many of them",
    )
    newer_schema: int = Field(
        1,
        ge=1,
        description="records of a newer schema on a topic of the monitor's own, left out by one "
        "process, from which RagMonitorDown fires, for a day",
    )
    lag: Age = Field("5m", description="age of unjudged records from which RagMonitorLagging fires")
    not_ready: Duration = Field(
        "15m",
        description="time without being ready (/readyz) after which RagMonitorDown fires",
    )
    together: int = Field(
        3,
        ge=2,
        description="applications whose alarms open within 15 minutes of each other from which on "
        "they are one page, RagQualityDriftMany",
    )
    unwatched: Age = Field(
        "8d",
        description="time without a baseline after which a watched metric is a ticket, "
        "RagQualityUnwatched. Learning takes a week at most",
    )
    agreement: Fraction = Field(
        0.8,
        description="agreement of the judge with itself (judge.recheck) that it surely misses when "
        "RagMonitorJudgeDoubtful fires",
    )
    rechecks: int = Field(50, ge=1, description="rechecked interactions that this takes")
    audit_kappa: Fraction = Field(
        0.6,
        description="Cohen's kappa of judge and people that audits of 50 interactions or more "
        "surely miss when RagMonitorJudgeDoubtful fires",
    )
    sampled: Fraction = Field(
        0.1,
        description="share of sampling.rate below which RagMonitorBlind fires as a ticket, where "
        "it is taken because reading is behind",
    )
    forecast: Age = Field(
        "30m",
        description="time before midnight (UTC) at which the day's money must last when "
        "RagMonitorBudgetExhausted fires ahead of it. Shorter times are not told at all",
    )
    paused: Age = Field("1d", description="time after which a pause is a ticket, RagMonitorBlind")
    clock: Duration = Field(
        "5m",
        description="difference between a machine's clock and the brokers' from which a process is "
        "not ready, and RagMonitorDown fires",
    )
    held: Duration = Field(
        "5m",
        description="time for which dead letters must hold up reading before they are a page",
    )
    pending: Annotated[dict[AlertName, Duration], BeforeValidator(mapping)] = Field(
        PENDING, description="alert: how long it must be true before it fires (`for`)"
    )
    keep_firing: Annotated[dict[AlertName, Duration], BeforeValidator(mapping)] = Field(
        KEEP_FIRING,
        description="alert: how long it goes on firing when it is not true any more "
        "(`keep_firing_for`)",
    )

    @field_validator("job")
    @classmethod
    def _compiles(cls, regex: str) -> str:
        try:
            re.compile(regex)
        except re.error as error:
            raise ValueError(f"found {regex!r}, no regular expression: {error.msg}") from None
        return regex

    @field_validator("runbook_url", "dashboard_url", "pages_url")
    @classmethod
    def _has_no_slash_at_its_end(cls, url: str | None) -> str | None:
        if url is None:
            return None
        if not re.fullmatch(_LINK_PATTERN, url):
            raise ValueError(f"found {url!r}, expected an address that begins with http(s)://")
        return url.rstrip("/")

    @field_validator("pending", mode="after")
    @classmethod
    def _others_are_pending_as_ever(cls, given: dict[AlertName, str]) -> dict[AlertName, str]:
        return {**PENDING, **given}

    @field_validator("keep_firing", mode="after")
    @classmethod
    def _others_keep_firing_as_ever(cls, given: dict[AlertName, str]) -> dict[AlertName, str]:
        return {**KEEP_FIRING, **given}
