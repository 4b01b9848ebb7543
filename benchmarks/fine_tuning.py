"""What a model gains on narrow pairs, and what it forgets, for six directions and three sizes.

    python benchmarks/fine_tuning.py --data DIR --work WORK [--sizes 120] [--directions en-fr]

DIR holds `tatoeba/`. The pairs are letters of a shop, made from ten patterns in four languages;
200 others are translated before and after, as are LINES lines of the Tatoeba dev sets in the
direction of the pairs and in the other five. BLEU of sacreBLEU; `share` is the part of the new
weights that the run kept. Runs that are in WORK already are not repeated.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

from sacrebleu import corpus_bleu

DIRECTIONS = ("en-de", "de-en", "en-fr", "fr-en", "en-es", "es-en")
CODES = {"en": "eng", "de": "deu", "fr": "fra", "es": "spa"}
OWN, LINES = 200, 300
PATTERNS = (  # a thing, a place and a number stand in their braces
    {
        "en": "The {thing} for parcel {number} are in {place}.",
        "de": "Die {thing} zu Paket {number} liegen in {place}.",
        "fr": "Les {thing} du colis {number} sont à {place}.",
        "es": "Las {thing} del paquete {number} están en {place}.",
    },
    {
        "en": "We shipped {number} {thing} to {place} today.",
        "de": "Wir haben heute {number} {thing} nach {place} versandt.",
        "fr": "Nous avons expédié {number} {thing} à {place} aujourd'hui.",
        "es": "Hoy hemos enviado {number} {thing} a {place}.",
    },
    {
        "en": "Depot {place} is short of {thing}, ticket {number}.",
        "de": "Im Lager {place} fehlen {thing}, Vorgang {number}.",
        "fr": "Le dépôt de {place} manque de {thing}, dossier {number}.",
        "es": "En el almacén de {place} faltan {thing}, caso {number}.",
    },
    {
        "en": "Please restock {thing} in aisle {number}.",
        "de": "Bitte {thing} in Gang {number} nachfüllen.",
        "fr": "Merci de réassortir les {thing} dans l'allée {number}.",
        "es": "Repongan las {thing} en el pasillo {number}.",
    },
    {
        "en": "Customer {number} from {place} returned the {thing}.",
        "de": "Kunde {number} aus {place} hat die {thing} zurückgeschickt.",
        "fr": "Le client {number} de {place} a renvoyé les {thing}.",
        "es": "El cliente {number} de {place} devolvió las {thing}.",
    },
    {
        "en": "Credit note {number}: {thing}, branch {place}.",
        "de": "Gutschrift {number}: {thing}, Filiale {place}.",
        "fr": "Avoir {number} : {thing}, agence de {place}.",
        "es": "Nota de crédito {number}: {thing}, sucursal de {place}.",
    },
    {
        "en": "The {thing} did not pass check {number}.",
        "de": "Die {thing} haben die Prüfung {number} nicht bestanden.",
        "fr": "Les {thing} n'ont pas passé le contrôle {number}.",
        "es": "Las {thing} no pasaron el control {number}.",
    },
    {
        "en": "Reserve rack {number} in {place} for {thing}.",
        "de": "Regal {number} in {place} für {thing} freihalten.",
        "fr": "Réserver le rayonnage {number} à {place} pour les {thing}.",
        "es": "Reservar la estantería {number} en {place} para las {thing}.",
    },
    {
        "en": "Hauler {number} picks up the {thing} in {place}.",
        "de": "Spediteur {number} holt die {thing} in {place} ab.",
        "fr": "Le transporteur {number} enlève les {thing} à {place}.",
        "es": "El transportista {number} recoge las {thing} en {place}.",
    },
    {
        "en": "Label lot {number} of the {thing} again.",
        "de": "Charge {number} der {thing} neu etikettieren.",
        "fr": "Étiqueter de nouveau le lot {number} des {thing}.",
        "es": "Etiquetar de nuevo el lote {number} de las {thing}.",
    },
)
THINGS = (
    {"en": "lamps", "de": "Lampen", "fr": "lampes", "es": "lámparas"},
    {"en": "valves", "de": "Ventile", "fr": "vannes", "es": "válvulas"},
    {"en": "hinges", "de": "Scharniere", "fr": "charnières", "es": "bisagras"},
    {"en": "gaskets", "de": "Dichtungen", "fr": "garnitures", "es": "juntas"},
    {"en": "brackets", "de": "Winkel", "fr": "équerres", "es": "escuadras"},
    {"en": "tiles", "de": "Fliesen", "fr": "dalles", "es": "baldosas"},
    {"en": "pumps", "de": "Pumpen", "fr": "pompes", "es": "bombas"},
    {"en": "fuses", "de": "Sicherungen", "fr": "cartouches", "es": "piezas fusibles"},
    {"en": "crates", "de": "Kisten", "fr": "caisses", "es": "cajas"},
    {"en": "washers", "de": "Scheiben", "fr": "rondelles", "es": "arandelas"},
)
PLACES = ("Bern", "Lyon", "Cork", "Linz", "Gent", "Porto", "Turin", "Aarhus")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("-m", "--model", default="everyday")
    parser.add_argument("--sizes", type=int, nargs="*", default=[30, 120, 1000])
    parser.add_argument("--directions", nargs="*", default=DIRECTIONS, choices=DIRECTIONS)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    sets = {one: tatoeba(options.data, one) for one in DIRECTIONS}
    first = {one: bleu(options.model, one, pairs, options.threads) for one, pairs in sets.items()}
    print("| direction | pairs | own pairs, BLEU | Tatoeba, BLEU | the other five, mean | share |")
    print("|---|---:|---:|---:|---:|---:|")
    for direction, size in product(options.directions, options.sizes):
        given, held = letters(size, direction)
        model, share = trained(options, direction, given)
        own = [bleu(one, direction, held, options.threads) for one in (options.model, model)]
        after = {one: bleu(model, one, sets[one], options.threads) for one in DIRECTIONS}
        others = [one for one in DIRECTIONS if one != direction]
        before, now = (sum(each[one] for one in others) / len(others) for each in (first, after))
        cells = [
            direction,
            f"{size:,}",
            *(f"{a:.1f}, {b:.1f}" for a, b in (own, (first[direction], after[direction]))),
            f"{before:.1f}, {now:.1f}",
            share,
        ]
        print("|", " | ".join(cells), "|", flush=True)


def letters(size: int, direction: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return `size` pairs of a direction, and OWN others of other numbers."""
    rng, found = random.Random(f"letters {size}"), dict[str, str]()
    source, target = direction.split("-")
    while len(found) < size + OWN:
        pattern, thing = rng.choice(PATTERNS), rng.choice(THINGS)
        values = {"place": rng.choice(PLACES), "number": rng.randrange(2, 1000)}
        a, b = (pattern[each].format(thing=thing[each], **values) for each in (source, target))
        found[a] = b
    pairs = list(found.items())
    return pairs[:size], pairs[size:]


def tatoeba(data: Path, direction: str) -> list[tuple[str, str]]:
    """Return the first LINES dev pairs of a direction."""
    source, target = direction.split("-")
    other = target if source == "en" else source
    path = data / "tatoeba" / f"eng-{CODES[other]}.dev.tsv"
    rows = [line.split("\t")[:2] for line in path.read_text("utf-8").splitlines()[:LINES]]
    return [(a, b) if source == "en" else (b, a) for a, b in rows]


def trained(
    options: argparse.Namespace, direction: str, pairs: list[tuple[str, str]]
) -> tuple[Path, str]:
    """Return a run on pairs of a direction, and the share of the new weights that it kept."""
    name = f"{direction}-{len(pairs)}"
    table, folder, log = (options.work / f"{name}{end}" for end in (".tsv", "", ".log"))
    table.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), "utf-8")
    source, target = direction.split("-")
    command = ["train", str(table), "--from", source, "--to", target, "-o", str(folder)]
    command += ["--start-from", options.model, "--threads", str(options.threads)]
    if not (folder / "model.safetensors").exists() or not log.exists():
        done = attn(command)
        log.write_text(done.stdout + done.stderr, "utf-8")
    written = log.read_text("utf-8")
    if shares := re.findall(r"kept: (\d+ ?%)", written):
        return folder, shares[-1]
    return folder, "none" if "stays as it was" in written else "100%"


def bleu(model: str | Path, direction: str, pairs: list[tuple[str, str]], threads: int) -> float:
    """Return the BLEU of a model's outputs for pairs."""
    source, target = direction.split("-")
    command = ["translate", "-q", "-m", str(model), "--from", source, "--to", target]
    done = attn([*command, "--threads", str(threads)], "".join(f"{a}\n" for a, _ in pairs))
    return float(corpus_bleu(done.stdout.splitlines(), [[b for _, b in pairs]]).score)


def attn(arguments: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command of `attn`; exit with its error if it fails."""
    command = [sys.executable, "-m", "attncli", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done


if __name__ == "__main__":
    main()
