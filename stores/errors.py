"""The errors a caller can act on. HTTP and MCP each translate this one hierarchy; anything else is a bug."""

from collections.abc import Mapping


class EngrainError(Exception):
    """A refusal with a stable code, a message that names the thing and a remediation that names the way out."""

    code = "internal_error"
    default_remediation = "Try again; if it persists, report the request id to the operator."

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        word: str | None = None,
        remediation: str | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        self.message = message if word in (None, message) else f"{word}: {message}"
        super().__init__(self.message)
        self.word = word
        self.code = code or self.code
        self.remediation = remediation or self.default_remediation
        self.details = dict(details or {})


class InvalidRequest(EngrainError):
    """400: the request does not fit the present state."""

    code = "invalid_request"
    default_remediation = "Correct the request and send it again."


class AuthenticationRequired(EngrainError):
    """401: no credential, or one that does not hold."""

    code = "authentication_required"
    default_remediation = "Log in, and send the access token as `Authorization: Bearer <token>`."


class Forbidden(EngrainError):
    """403: the caller is known and may not do this."""

    code = "forbidden"
    default_remediation = "Ask an owner or admin of the organization for the role that this needs."


class NotFound(EngrainError):
    """404: it does not exist, or the caller may not know that it does."""

    code = "not_found"
    default_remediation = "Check the id, which search and lists name, and the organization that you are signed in to."


class MethodNotAllowed(EngrainError):
    """405: the path exists with other methods."""

    code = "method_not_allowed"
    default_remediation = "Use one of the methods in the Allow header."


class Conflict(EngrainError):
    """409: another request changed it first, or the name is taken."""

    code = "conflict"
    default_remediation = "Read the current state and retry with exponential backoff."


class PayloadTooLarge(EngrainError):
    """413: the body is over the limit."""

    code = "payload_too_large"
    default_remediation = "Split the content into several smaller requests."


class ValidationFailed(EngrainError):
    """422: a field is missing or outside its bounds."""

    code = "validation_error"
    default_remediation = "Correct the named field and send the request again."


class RateLimited(EngrainError):
    """429: too many tries."""

    code = "rate_limited"
    default_remediation = "Wait for the number of seconds in Retry-After, then try again."

    def __init__(self, message: str, *, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class BadGateway(EngrainError):
    """502: an upstream server sent an invalid answer."""

    code = "bad_gateway"
    default_remediation = "Ask the operator to look at the settings of that server and at its log."


class Unavailable(EngrainError):
    """503: something that this needs is not there now."""

    code = "unavailable"
    default_remediation = "Wait a moment and try again; the server's readiness says which part is missing."


class RecordUnreadable(EngrainError):
    """500: the row of a record is damaged; every other record is as good as before."""

    code = "record_unreadable"
    default_remediation = "Delete the record, or ask the operator to put it back from a backup of the ledger."

    def __init__(self, kind: str, record_id: str = "", reason: str = "", visibility: str = "") -> None:
        named = f"The {kind} {record_id}" if record_id else f"A {kind} that this needs"
        super().__init__(f"{named} cannot be read: its row in the ledger is damaged.")
        self.record_id = record_id
        self.visibility = visibility
        self.reason = f"its row in the ledger is damaged: {reason}"


class InvalidSetting(EngrainError):
    """A setting stops the start, with a sentence that says what to do."""

    code = "invalid_setting"
