"""How the tables became what they are, one step a file; run by alembic at every start."""
