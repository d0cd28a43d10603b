"""The back ends that confine a tool host: bubblewrap, Landlock, or none."""
