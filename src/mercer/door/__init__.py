"""Where records meet noise: the only package that sees both."""
