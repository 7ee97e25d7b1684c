"""``Interaction`` → ``Judgement``: prompts and parsing (pure), pipelines, LLM and offline judge."""
