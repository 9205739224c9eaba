"""Context packs: knowledge for a goal, chosen by facets and written for an agent."""
