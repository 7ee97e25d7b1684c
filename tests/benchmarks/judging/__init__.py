"""What a judgement costs: the labelled sets, the server that answers all, and the three clients."""
