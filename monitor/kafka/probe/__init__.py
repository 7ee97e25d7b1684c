"""What is wrong with a connection, found step by step and said in plain words."""
