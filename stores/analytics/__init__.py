"""Analytics in DuckDB: task metrics from the ledger, and exposures."""

from stores.analytics.analytics import Analytics, AnalyticsStatus
from stores.analytics.exposures import Exposure, Exposures, Shown
from stores.analytics.parquet import parquet
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
    "parquet",
]
