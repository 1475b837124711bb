"""What may hold people's records: nothing here may be shown, copied or saved."""
