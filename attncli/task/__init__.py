"""Tasks: translate, caption, classify, align, explain. A task is a folder and a row of table.py."""
