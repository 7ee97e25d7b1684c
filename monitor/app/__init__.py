"""Where settings become objects (policies, judges, formats), and the process that these make up."""
