"""The index of interaction ids holds what fits into it: an id may be longer than its row."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_INDEX = "ix_evidence_interaction_id"


def upgrade() -> None:
    """By the beginning of an id."""
    op.drop_index(_INDEX, "evidence")
    op.create_index(_INDEX, "evidence", [sa.text("substr(interaction_id, 1, 200)")])


def downgrade() -> None:
    """As it was; longer ids, which were not there before, stay without it."""
    op.drop_index(_INDEX, "evidence")
    fits = sa.text("length(interaction_id) <= 200")
    op.create_index(
        _INDEX, "evidence", ["interaction_id"], postgresql_where=fits, sqlite_where=fits
    )
