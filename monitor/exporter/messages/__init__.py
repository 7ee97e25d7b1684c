"""What is told of alarms: the lines of a message, and which of them are one incident."""
