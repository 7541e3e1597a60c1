"""The three families of errors, each a sentence a user can act on."""


class MichelangeloError(Exception):
    """Base of every error this library raises on purpose."""


class UserError(MichelangeloError):
    """Something the user asked for can't be done; the message names the value and what would be right."""


class TooShortError(UserError):
    """The asked length is below the smallest feasible one.

    Attributes:
        smallest: the smallest length, in tokens, from which on every length can be met.
    """

    def __init__(self, message: str, smallest: int) -> None:
        super().__init__(message)
        self.smallest = smallest


class DataError(MichelangeloError):
    """A file holds something that can't be used; the message names file, row or field, and the remedy."""


class ProviderError(MichelangeloError):
    """A model call failed.

    Attributes:
        status: one of the statuses of a result row that carry no score, e.g. ``"timeout"``.
        retryable: whether asking again can help.
        wait_s: seconds after which the provider wants to be asked again, or ``None`` where it didn't say.
        busy: whether the provider only asks for patience (rate limit, overload): waiting, not a fault of this call.
    """

    def __init__(
        self,
        message: str,
        *,
        status: str = "provider_error",
        retryable: bool = False,
        wait_s: float | None = None,
        busy: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retryable = retryable
        self.wait_s = wait_s
        self.busy = busy
