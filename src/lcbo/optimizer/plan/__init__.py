"""What a run is begun with: its arguments and data, and those of a stored run to go on with."""
