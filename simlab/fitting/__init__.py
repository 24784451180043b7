"""Fit laws (distributions of answers) to real ratings, make worlds of them, and compare predictions with real studies.

`laws.laws` lists the laws, `report.report` chooses and fits one; `backtest` compares predictions with studies.
"""
