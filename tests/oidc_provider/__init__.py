"""An OpenID Connect provider and a code host, in a process of their own, that misbehave when they are told to."""
