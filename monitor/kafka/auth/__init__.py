"""Who we are at a broker: certificates, tokens, and secrets that change."""
