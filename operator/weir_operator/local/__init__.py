"""The loop's ports on one machine: fragments as processes, everything else as files below one run folder."""
