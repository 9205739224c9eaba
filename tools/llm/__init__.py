"""Language models. Optional: rules replace a missing or failing one."""
