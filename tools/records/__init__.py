"""Write rules shared by entities and memories."""
