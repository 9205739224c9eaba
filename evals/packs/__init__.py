"""`engrain eval packs`: context packs against required and forbidden records."""
