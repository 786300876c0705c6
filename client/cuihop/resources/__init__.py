"""Resources of a long computation: cores, memory, interruption and checkpoints."""
