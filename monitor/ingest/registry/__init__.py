"""A schema registry: schemas are fetched, kept, and made into what decodes by them."""
