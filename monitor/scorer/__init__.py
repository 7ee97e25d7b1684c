"""What becomes of an interaction: taken or not, judged, counted, and written as a score record."""
