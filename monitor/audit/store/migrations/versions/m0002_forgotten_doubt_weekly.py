"""What was forgotten, what the judge doubts, what is drawn each week; and indexes of names."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

#: As it was when this step was written.
_HIGHER_IS_BETTER = (
    *("faithfulness", "faithfulness_by_passage", "claim_precision", "claim_recall", "claim_f1"),
    *("context_recall", "context_precision", "context_utilization"),
    *("answered", "retrieved", "answer_relevance"),
)


def upgrade() -> None:
    """Make them."""
    op.add_column("score", sa.Column("worse", sa.Float(), nullable=False, server_default="0"))
    score = sa.table("score", *map(sa.column, ("metric", "value", "worse")))
    is_better = score.c.metric.in_(_HIGHER_IS_BETTER)
    op.execute(
        score.update().values(worse=sa.case((is_better, 1.0 - score.c.value), else_=score.c.value))
    )
    op.create_index("ix_score_metric_worse", "score", ["metric", "worse", "evidence_id"])
    op.add_column(
        "evidence", sa.Column("bytes", sa.BigInteger(), nullable=False, server_default="0")
    )
    evidence = sa.table("evidence", *map(sa.column, ("record", "bytes")))
    op.execute(evidence.update().values(bytes=sa.func.length(evidence.c.record)))
    op.create_index("ix_evidence_judged_ms_bytes", "evidence", ["judged_ms", "bytes"])
    op.add_column("evidence", sa.Column("doubt", sa.Float(), nullable=False, server_default="0"))
    op.create_table(
        "weekly",
        sa.Column("application", sa.String(length=255), nullable=False),
        sa.Column("metric", sa.String(length=64), nullable=False),
        sa.Column("strategy", sa.String(length=32), nullable=False),
        sa.Column("places", sa.Integer(), nullable=False),
        sa.Column("drawn_until_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("application", name=op.f("pk_weekly")),
    )
    # Ids that are too long for an index may be there already; the next step takes them in.
    fits = sa.text("length(interaction_id) <= 200")
    op.create_index(
        "ix_evidence_interaction_id",
        "evidence",
        ["interaction_id"],
        postgresql_where=fits,
        sqlite_where=fits,
    )
    op.create_index(
        "ix_evidence_application_judge_judged_ms",
        "evidence",
        ["application", "judge", "judged_ms"],
    )
    op.create_index("ix_evidence_judge", "evidence", ["judge"])
    for name in ("outcome", "segment"):
        columns = [name, "event_ms", "id"]
        op.create_index(f"ix_evidence_{name}_event_ms_id", "evidence", columns)
    op.create_table(
        "forgotten",
        sa.Column("fingerprint", sa.String(length=128), nullable=False),
        sa.Column("applied_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_forgotten")),
    )


def downgrade() -> None:
    """Drop it: who goes up again looks through all rows once more."""
    op.drop_table("weekly")
    op.drop_index("ix_score_metric_worse", "score")
    op.drop_column("score", "worse")
    op.drop_column("evidence", "doubt")
    op.drop_index("ix_evidence_judged_ms_bytes", "evidence")
    op.drop_column("evidence", "bytes")
    op.drop_table("forgotten")
    found = ("outcome_event_ms_id", "segment_event_ms_id", "judge", "application_judge_judged_ms")
    for name in (*found, "interaction_id"):
        op.drop_index(f"ix_evidence_{name}", "evidence")
