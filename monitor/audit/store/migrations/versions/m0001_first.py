"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make them."""
    _batch()
    _evidence()
    _followed()
    _item()
    _label()
    _score()


def _batch() -> None:
    op.create_table(
        "batch",
        sa.Column("id", _ID, nullable=False),
        sa.Column("application", sa.String(length=255), nullable=False),
        sa.Column("judge", sa.String(length=255), nullable=False),
        sa.Column("strategy", sa.String(length=32), nullable=False),
        sa.Column("metric", sa.String(length=64), nullable=False),
        sa.Column("since_ms", sa.BigInteger(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=False),
        sa.Column("candidates", sa.Integer(), nullable=False),
        sa.Column("seed", sa.BigInteger(), nullable=False),
        sa.Column("drawn_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batch")),
    )


def _evidence() -> None:
    op.create_table(
        "evidence",
        sa.Column("id", _ID, nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("application", sa.String(length=255), nullable=False),
        sa.Column("interaction_id", sa.Text(), nullable=False),
        sa.Column("judge", sa.String(length=255), nullable=False),
        sa.Column("event_ms", sa.BigInteger(), nullable=False),
        sa.Column("judged_ms", sa.BigInteger(), nullable=False),
        sa.Column("partition", sa.Integer(), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("segment", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.String(length=64), nullable=True),
        sa.Column("weight", sa.Float(), nullable=True),
        sa.Column("has_texts", sa.Boolean(), nullable=False),
        sa.Column("headline", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence")),
        sa.UniqueConstraint("digest", name=op.f("uq_evidence_digest")),
    )
    op.create_index(
        "ix_evidence_application_event_ms_id",
        "evidence",
        ["application", "event_ms", "id"],
        unique=False,
    )
    op.create_index("ix_evidence_event_ms_id", "evidence", ["event_ms", "id"], unique=False)
    op.create_index("ix_evidence_judged_ms", "evidence", ["judged_ms"], unique=False)


def _followed() -> None:
    op.create_table(
        "followed",
        sa.Column("topic", sa.String(length=249), nullable=False),
        sa.Column("partition", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("next_offset", sa.BigInteger(), nullable=False),
        sa.Column("broker_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("topic", "partition", name=op.f("pk_followed")),
    )


def _item() -> None:
    op.create_table(
        "item",
        sa.Column("id", _ID, nullable=False),
        sa.Column("batch_id", _ID, nullable=False),
        sa.Column("evidence_id", _ID, nullable=False),
        sa.Column("stratum", sa.Text(), nullable=False),
        sa.Column("probability", sa.Float(), nullable=False),
        sa.Column("readings", sa.Integer(), nullable=False),
        sa.Column("leased_by", sa.String(length=128), nullable=True),
        sa.Column("leased_until_ms", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["batch_id"], ["batch.id"], name=op.f("fk_item_batch_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["evidence_id"], ["evidence.id"], name=op.f("fk_item_evidence_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item")),
        sa.UniqueConstraint("evidence_id", name=op.f("uq_item_evidence_id")),
    )
    op.create_index("ix_item_batch_id", "item", ["batch_id"], unique=False)


def _label() -> None:
    op.create_table(
        "label",
        sa.Column("id", _ID, nullable=False),
        sa.Column("evidence_id", _ID, nullable=False),
        sa.Column("reviewer", sa.String(length=128), nullable=False),
        sa.Column("labelled_ms", sa.BigInteger(), nullable=False),
        sa.Column("verdicts", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["evidence_id"], ["evidence.id"], name=op.f("fk_label_evidence_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_label")),
    )
    op.create_index(
        "ix_label_evidence_id_reviewer", "label", ["evidence_id", "reviewer", "id"], unique=False
    )


def _score() -> None:
    op.create_table(
        "score",
        sa.Column("evidence_id", _ID, nullable=False),
        sa.Column("metric", sa.String(length=64), nullable=False),
        sa.Column("application", sa.String(length=255), nullable=False),
        sa.Column("event_ms", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["evidence_id"], ["evidence.id"], name=op.f("fk_score_evidence_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("evidence_id", "metric", name=op.f("pk_score")),
    )
    op.create_index(
        "ix_score_metric_application_event_ms",
        "score",
        ["metric", "application", "event_ms", "evidence_id", "value"],
        unique=False,
    )
    op.create_index(
        "ix_score_metric_event_ms",
        "score",
        ["metric", "event_ms", "evidence_id", "value"],
        unique=False,
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_index("ix_score_metric_event_ms", table_name="score")
    op.drop_index("ix_score_metric_application_event_ms", table_name="score")
    op.drop_table("score")
    op.drop_index("ix_label_evidence_id_reviewer", table_name="label")
    op.drop_table("label")
    op.drop_index("ix_item_batch_id", table_name="item")
    op.drop_table("item")
    op.drop_table("followed")
    op.drop_index("ix_evidence_judged_ms", table_name="evidence")
    op.drop_index("ix_evidence_event_ms_id", table_name="evidence")
    op.drop_index("ix_evidence_application_event_ms_id", table_name="evidence")
    op.drop_table("evidence")
    op.drop_table("batch")
