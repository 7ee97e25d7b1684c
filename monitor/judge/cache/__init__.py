"""What has been judged need not be asked again: claims of texts, and whole judgements."""
