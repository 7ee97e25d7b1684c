"""Interactions in which the judge was in doubt, by judge: there are few of them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_INDEX = "ix_evidence_in_doubt"


def upgrade() -> None:
    """Of those alone."""
    is_in_doubt = sa.text("doubt >= 0.5")
    op.create_index(
        _INDEX,
        "evidence",
        ["application", "judge"],
        postgresql_where=is_in_doubt,
        sqlite_where=is_in_doubt,
    )


def downgrade() -> None:
    """Without it."""
    op.drop_index(_INDEX, "evidence")
