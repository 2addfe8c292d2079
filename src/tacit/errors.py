"""What a caller may want to handle. Wrong arguments are ValueError; messages never hold a context or a reward."""


class TacitError(Exception):
    """Base of the errors below."""


class UnknownChoice(TacitError):
    """A reward for a choice that was never made, already has its reward, or has expired."""


class HorizonReached(TacitError):
    """The plan's noise is calibrated for a number of rounds, and they are used up."""


class BudgetExceeded(TacitError):
    """The noise that would really be used gives a larger epsilon than the budget allows."""


class BadState(TacitError):
    """A saved state that is damaged, of another version, or of another bandit."""


class Interrupted(TacitError):
    """A long piece of work was stopped before its end; what was finished is kept where it says."""


class NotSecure(TacitError, ValueError):
    """Settings that cannot be served with noise that protects people's data; simulation can still use them."""


class PersonLimit(TacitError):
    """One round more than max_rounds_per_person for one person."""
