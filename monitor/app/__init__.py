"""From settings to objects, and the process that they make up."""
