"""Analytics: what is counted over time, apart from the ledger. What this module names is the contract.

Tasks are made from it; exposures, what was returned to whom, are kept here alone. DuckDB itself is imported when the
file is opened.
"""

from stores.analytics.analytics import Analytics, AnalyticsStatus
from stores.analytics.exposures import Exposure, Exposures, Shown
from stores.analytics.query import Activity, ActivityQuery, Uses

__all__ = [
    "Activity",
    "ActivityQuery",
    "Analytics",
    "AnalyticsStatus",
    "Exposure",
    "Exposures",
    "Shown",
    "Uses",
]
