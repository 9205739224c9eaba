"""Analytics over time in DuckDB: task metrics, derived from the ledger, and exposures, stored only here.

DuckDB is imported when the file is opened.
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
