//! Wires the rooms into running shards; jobs, metrics. Sees ports only.
