"""What a caller may want to handle. Wrong arguments are ValueError; messages never hold a context or a reward."""


class ReticentError(Exception):
    """Base of the errors below."""


class UnknownChoice(ReticentError):
    """A reward for a choice that was never made, already has its reward, or has expired."""


class HorizonReached(ReticentError):
    """The plan's noise is calibrated for a number of rounds, and they are used up."""


class BudgetExceeded(ReticentError):
    """The noise that would really be used gives a larger epsilon than the budget allows."""


class BadState(ReticentError):
    """A saved state that is damaged, of another version, of another bandit, or not the last one of its bandit."""


class RolledBack(BadState):
    """A database that is older than what was shown from it, that lacks choices which were answered, or whose witness is
    missing, as where an older copy was put in its place: `restore` makes a new bandit from a backup."""


class Moved(BadState):
    """A bandit that was moved from this database to another, or is on its way."""


class WrongKeys(BadState):
    """A folder of keys that is not the one that a database is sealed with, as a copy of it or an older one."""


class RefusedRequest(ReticentError, ValueError):
    """A bad request of a bandit with a holdout: it has a number, which counts as silence, since everybody's group
    is by number."""


class Retired(ReticentError):
    """A bandit that was retired: it answers nobody any more, and its certificate stays."""


class Unavailable(ReticentError):
    """The database cannot be reached or written. Nothing was acknowledged; the same request may be sent again."""


class Interrupted(ReticentError):
    """A long piece of work was stopped before its end; what was finished is kept where it says."""


class BadReport(ReticentError, ValueError):
    """A report or batch that is truncated, of another version, or outside its range. It changes nothing."""


class WrongBatch(BadReport):
    """A report or batch made for another batch, or by other public parameters."""


class LateReport(BadReport):
    """A report or batch for a batch that is closed."""


class DuplicateReport(BadReport):
    """A report that came before, as a retry does: it counts once."""


class BatchTooSmall(ReticentError):
    """Fewer reports than the noise needs: nothing is handed on, nothing is lost."""


class NotSecure(ReticentError, ValueError):
    """Settings that cannot be served with noise that protects people's data; simulation can still use them."""


class NoHorizon(ReticentError, ValueError):
    """A bandit that is planned for a number of rounds was given none."""


class NotInstalled(ReticentError, ImportError):
    """Something that only experiments need, and that is not installed."""


class TooManyReports(ReticentError):
    """A device's own limit on its reports in a week, whatever a server asks."""


class LifetimeSpent(TooManyReports):
    """A device's own limit on the epsilon and delta of all that it ever tells."""


class BadBillboard(BadReport):
    """A public document that a device does not act by: damaged, or with less protection than it claims or than the
    caller allows."""
