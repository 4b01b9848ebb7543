"""The CSV of attention maps has one row per word and cell."""

from pathlib import Path

from attncli.shell import app


def test_each_cell_of_each_word_has_a_row(
    soft_captioner: Path, photos: Path, tmp_path: Path
) -> None:
    table = tmp_path / "maps.csv"
    image = str(photos / "a.png")
    assert app.run(["caption", "-m", str(soft_captioner), image, "--picture", str(table)]) == 0
    rows = table.read_text().splitlines()
    assert rows[0] == "word,row,column,weight" and len(rows) % 16 == 1  # 4 x 4 cells
