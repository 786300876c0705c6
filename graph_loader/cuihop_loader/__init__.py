"""From UMLS RRF files, and from OBO ontologies, to a snapshot."""
