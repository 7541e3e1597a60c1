"""A report in one HTML file that opens without a network."""

from michelangelo.report.document import report_html, write_report
from michelangelo.report.numbers import Settings

__all__ = ["Settings", "report_html", "write_report"]
