"""How good is a judge? Its verdicts, claims and metrics, held against labels."""
