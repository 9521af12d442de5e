"""What can go wrong, as the user is told it."""


class Missing(Exception):
    """A server that cannot be had here, and why."""


class Wrong(Exception):
    """What was asked for makes no sense."""
