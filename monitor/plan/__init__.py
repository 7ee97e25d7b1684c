"""What a budget buys: how much is judged, how sure the gauges are, how soon drift is seen."""
