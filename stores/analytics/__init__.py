"""Analytics: what is counted over time, apart from the ledger and made from it. What this module names is the contract.

DuckDB itself is imported when the file is opened.
"""

from stores.analytics.analytics import Analytics, AnalyticsStatus
from stores.analytics.query import Activity, ActivityQuery

__all__ = ["Activity", "ActivityQuery", "Analytics", "AnalyticsStatus"]
