"""`mercer.synthetic`: weighted tables that stand for a noisy mean embedding."""
