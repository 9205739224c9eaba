"""Refusals in the words of OAuth."""

from stores.errors import InvalidRequest


class OAuthRefused(InvalidRequest):
    """400: what a client asks for does not hold; `code` is a word of OAuth (RFC 6749, 7591, 8707)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message, code=code)


class ClientUnknown(OAuthRefused):
    """401: the client does not exist or does not prove who it is."""

    def __init__(self, message: str) -> None:
        super().__init__("invalid_client", message)
