"""What the control topic says, followed and changed: pauses, bursts, calibrations."""
