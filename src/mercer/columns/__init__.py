"""What is public about records: columns, domains, cells, conditions, and how cells are read."""
