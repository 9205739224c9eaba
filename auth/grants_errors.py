"""OAuth errors."""

from stores.errors import InvalidRequest


class OAuthRefused(InvalidRequest):
    """400 with an error code of OAuth (RFC 6749, 7591, 8707)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code=code)


class ClientUnknown(OAuthRefused):
    """401: there is no such client, or its secret is wrong."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_client", message)
