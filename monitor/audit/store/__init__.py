"""The database of audits: score records, what was drawn to be audited, and people's labels."""
