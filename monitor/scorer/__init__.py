"""What becomes of an interaction: taken or not, judged, counted, and written as a score record.

Why was it not scored? Not readable: ``ingest.reading``. Not taken: ``intake``. Taken, and then:
``scorer``. Counted: ``ledger``.
"""
