"""Why two evaluations differ: the queries that flipped, what each side retrieved, and what was asked for."""
