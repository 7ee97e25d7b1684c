"""From a judgement to a value, or to the named reason why there is none; pure functions."""
