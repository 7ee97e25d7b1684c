"""The pages of audits, behind a login."""
