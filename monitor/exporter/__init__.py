"""Score records → rolling sums → gauges at scrape time, and the HTTP server that serves them."""
