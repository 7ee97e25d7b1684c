"""Reading no more than may be held, whatever was written: batches, unpacked step by step."""
