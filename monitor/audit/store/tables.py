"""The tables. Times are epoch milliseconds; what stands on a record is kept as its JSON.

The score records are a copy of their topic, which can be read again. Labels are nowhere else.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    func,
    literal_column,
)

#: SQLite numbers rows by itself only where the key is an ``INTEGER``.
_ID: Final = BigInteger().with_variant(Integer(), "sqlite")

metadata: Final = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(column_0_label)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
    }
)

#: How far each partition of the topic of score records was taken in, and the broker's time there.
followed = Table(
    "followed",
    metadata,
    Column("topic", String(249), primary_key=True),
    Column("partition", Integer, primary_key=True, autoincrement=False),
    Column("next_offset", BigInteger, nullable=False),
    Column("broker_ms", BigInteger, nullable=False),
)

#: One judged interaction. ``digest`` is that of application, id and judge. ``record`` is the score
#: record as it was read; without its texts once these were forgotten (``has_texts``).
evidence = Table(
    "evidence",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("digest", LargeBinary(32), nullable=False, unique=True),
    Column("application", String(255), nullable=False),
    Column("interaction_id", Text, nullable=False),
    Column("judge", String(255), nullable=False),
    Column("event_ms", BigInteger, nullable=False),
    Column("judged_ms", BigInteger, nullable=False),
    Column("partition", Integer, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("segment", Text, nullable=False),
    Column("outcome", String(32), nullable=False),
    Column("reason", String(64)),
    Column("weight", Float),
    Column("has_texts", Boolean, nullable=False),
    Column("doubt", Float, nullable=False, server_default="0"),
    Column("bytes", BigInteger, nullable=False, server_default="0"),
    Column("headline", Text, nullable=False),
    Column("record", Text, nullable=False),
    Index("ix_evidence_event_ms_id", "event_ms", "id"),
    Index("ix_evidence_application_event_ms_id", "application", "event_ms", "id"),
    Index("ix_evidence_judged_ms", "judged_ms"),
    Index("ix_evidence_judged_ms_bytes", "judged_ms", "bytes"),
    Index("ix_evidence_application_judge_judged_ms", "application", "judge", "judged_ms"),
    Index("ix_evidence_judge", "judge"),
    Index("ix_evidence_outcome_event_ms_id", "outcome", "event_ms", "id"),
    Index("ix_evidence_segment_event_ms_id", "segment", "event_ms", "id"),
)

#: Of an id of any length what an index takes: a row of one in PostgreSQL has some 2,700 bytes. The
#: numbers stand in the statement, else SQLite does not see that it is the same expression.
id_key = func.substr(evidence.c.interaction_id, literal_column("1"), literal_column("200"))
#: So many characters it has.
ID_KEY_LENGTH: Final = 200
Index("ix_evidence_interaction_id", id_key)

#: The judge was in doubt: a probability between a quarter and three. The number stands in the
#: statement, else no database sees that its index of those in doubt holds them all.
is_in_doubt = evidence.c.doubt >= literal_column("0.5")
Index(
    "ix_evidence_in_doubt",
    evidence.c.application,
    evidence.c.judge,
    sqlite_where=is_in_doubt,
    postgresql_where=is_in_doubt,
)

#: The values of a record, by metric; ``worse`` is the value with larger meaning worse.
score = Table(
    "score",
    metadata,
    Column("evidence_id", _ID, ForeignKey("evidence.id", ondelete="CASCADE"), primary_key=True),
    Column("metric", String(64), primary_key=True),
    Column("application", String(255), nullable=False),
    Column("event_ms", BigInteger, nullable=False),
    Column("value", Float, nullable=False),
    Column("worse", Float, nullable=False, server_default="0"),
    Index("ix_score_metric_worse", "metric", "worse", "evidence_id"),
    Index("ix_score_metric_event_ms", "metric", "event_ms", "evidence_id", "value"),
    Index(
        "ix_score_metric_application_event_ms",
        *("metric", "application", "event_ms", "evidence_id", "value"),
    ),
)

#: One drawing of interactions to be audited.
batch = Table(
    "batch",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("application", String(255), nullable=False),
    Column("judge", String(255), nullable=False),
    Column("strategy", String(32), nullable=False),
    Column("metric", String(64), nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Column("until_ms", BigInteger, nullable=False),
    Column("candidates", Integer, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("drawn_ms", BigInteger, nullable=False),
)

#: An interaction to be audited. ``probability`` is π, 0 where nothing follows for others.
item = Table(
    "item",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("batch_id", _ID, ForeignKey("batch.id", ondelete="CASCADE"), nullable=False),
    Column("evidence_id", _ID, ForeignKey("evidence.id", ondelete="CASCADE"), nullable=False),
    Column("stratum", Text, nullable=False),
    Column("probability", Float, nullable=False),
    Column("readings", Integer, nullable=False),
    Column("leased_by", String(128)),
    Column("leased_until_ms", BigInteger),
    UniqueConstraint("evidence_id"),
    Index("ix_item_batch_id", "batch_id"),
)

#: What a person says of the verdicts on an interaction: the latest of each reviewer holds.
#: ``verdicts`` are all of them, the corrected ones among them, as JSON.
label = Table(
    "label",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("evidence_id", _ID, ForeignKey("evidence.id", ondelete="CASCADE"), nullable=False),
    Column("reviewer", String(128), nullable=False),
    Column("labelled_ms", BigInteger, nullable=False),
    Column("verdicts", Text, nullable=False),
    Column("note", Text, nullable=False),
    Index("ix_label_evidence_id_reviewer", "evidence_id", "reviewer", "id"),
)

#: What must be forgotten, once all rows were looked through for it.
forgotten = Table(
    "forgotten",
    metadata,
    Column("fingerprint", String(128), primary_key=True),
    Column("applied_ms", BigInteger, nullable=False),
)

#: What is drawn anew each week; ``drawn_until_ms`` is the Monday up to which that was done.
weekly = Table(
    "weekly",
    metadata,
    Column("application", String(255), primary_key=True),
    Column("metric", String(64), nullable=False),
    Column("strategy", String(32), nullable=False),
    Column("places", Integer, nullable=False),
    Column("drawn_until_ms", BigInteger, nullable=False),
)
