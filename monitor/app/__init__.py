"""Where settings become objects, and the process that these make up."""
