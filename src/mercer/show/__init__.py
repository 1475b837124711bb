"""What people see: tables and progress in the terminal, pictures, counts of cells in both."""
