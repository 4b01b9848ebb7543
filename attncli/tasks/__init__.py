"""Tasks: translate, caption, classify, align. A task is a folder and a row of a registry."""
