"""`mercer.mean_curve`, `mercer.mean_curves`, and a private bound for them."""
