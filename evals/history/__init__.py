"""`engrain eval history`: gain of relations and recency on commits of real projects."""
