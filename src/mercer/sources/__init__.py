"""Any source of data as Arrow columns, and Arrow columns as codes: one reader of cells."""
