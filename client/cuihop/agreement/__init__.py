"""Agreement of similarity measures with people: human scores of pairs of terms against distances and similarities."""
