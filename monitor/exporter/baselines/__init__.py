"""What is normal: learned from scored slots, published, set by people."""
