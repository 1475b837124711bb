"""What is said of a column whose values were counted: words, JSON, and what it tells of the records."""
from mercer.releases.findings import Finding
def column_findings(release):
    return ()
