"""Rules of Prometheus (the 2.42 subset), written from the settings; pure.

Files load unchanged in Prometheus and in Mimir's ruler.
"""
