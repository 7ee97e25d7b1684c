"""What was forgotten."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "forgotten",
        sa.Column("fingerprint", sa.String(length=128), nullable=False),
        sa.Column("applied_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_forgotten")),
    )


def downgrade() -> None:
    """Drop it: who goes up again looks through all rows once more."""
    op.drop_table("forgotten")
