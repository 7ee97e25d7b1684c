"""What was forgotten; and indexes of names, which lists of them are made from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table and the indexes."""
    op.create_index("ix_evidence_interaction_id", "evidence", ["interaction_id"])
    op.create_index(
        "ix_evidence_application_judge_judged_ms",
        "evidence",
        ["application", "judge", "judged_ms"],
    )
    op.create_index("ix_evidence_judge", "evidence", ["judge"])
    op.create_table(
        "forgotten",
        sa.Column("fingerprint", sa.String(length=128), nullable=False),
        sa.Column("applied_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_forgotten")),
    )


def downgrade() -> None:
    """Drop it: who goes up again looks through all rows once more."""
    op.drop_table("forgotten")
    for name in ("judge", "application_judge_judged_ms", "interaction_id"):
        op.drop_index(f"ix_evidence_{name}", "evidence")
