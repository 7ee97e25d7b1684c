"""How much may be asked, and when: limits, money, deadlines, and a provider that refuses."""
