"""The judge that asks a model, through litellm."""
