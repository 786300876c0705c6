"""Authentication, scopes and rates of callers; bounds for each address; the audit."""
