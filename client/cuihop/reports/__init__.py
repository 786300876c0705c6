"""Self-contained HTML reports of evaluations and comparisons."""

from cuihop.reports.report import html_report

__all__ = ["html_report"]
