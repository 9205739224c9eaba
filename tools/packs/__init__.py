"""Context packs: what is known for a goal, chosen by facets and written for an agent. Pure; `tools/context` asks."""
