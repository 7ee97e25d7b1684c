"""For an auditor: how the numbers of a span came about, and a seal on what they rest on."""
