"""Who may ask: keys, tokens, certificates, rates; the audit; and Cypher of a curator's own."""
