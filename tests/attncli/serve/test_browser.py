"""The page in a real browser, Chromium. Skipped where there is none."""

from __future__ import annotations

import http.server
import io
import json
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import httpx
import pytest
from PIL import Image

selenium = pytest.importorskip("selenium")
CHROMIUM, DRIVER = shutil.which("chromium") or "", shutil.which("chromedriver") or ""
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="no chromium with its driver")

from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

from tests.attncli.serve.conftest import SPEECH  # noqa: E402

NUMBERS = "The+score+was+3+to+2+in+1998,+5+to+4+in+2003,+7+to+6+in+2008,+and+9+to+8+in+2013."
READS = ["argmax", "sample", "expectation"]
LOCAL = ("http://127.0.0.1:", "data:", "blob:", "chrome:", "about:")


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    fake = [f"use-fake-{part}-for-media-stream" for part in ("device", "ui")]  # a microphone
    usual = ("headless=new", "no-sandbox", "disable-dev-shm-usage", "window-size=1200,900")
    for argument in (*usual, *fake, "host-resolver-rules=MAP rebound.test 127.0.0.1"):
        options.add_argument(f"--{argument}")
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def page(driver: Any, url: str) -> Iterator[Callable[[str], Any]]:
    """Return a function that opens the page with a fragment; then check console and requests."""

    def opened(fragment: str = "") -> Any:
        driver.get("about:blank")
        driver.get(f"{url}/{fragment}")
        until(driver, lambda: driver.execute_script("return document.body.dataset.ready"))
        return driver

    yield opened
    assert not [line for line in driver.get_log("browser") if line["level"] != "INFO"]
    events = [json.loads(row["message"])["message"] for row in driver.get_log("performance")]
    asked = [
        e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"
    ]
    assert asked and not [address for address in asked if not address.startswith(LOCAL)]


OUTPUT = "return [...document.querySelectorAll('#output .word')].map((w) => w.innerText).join(' ')"


def until(driver: Any, check: Callable[[], Any]) -> Any:
    return WebDriverWait(driver, 60, 0.05).until(lambda _: check())


def one(driver: Any, selector: str) -> Any:
    return driver.find_element(By.CSS_SELECTOR, selector)


def all_of(driver: Any, selector: str) -> list[Any]:
    found: list[Any] = driver.find_elements(By.CSS_SELECTOR, selector)
    return found


def output(driver: Any) -> str:
    return str(driver.execute_script(OUTPUT))


def test_type_point_swap_and_link(page: Callable[..., Any], url: str) -> None:
    driver = page()
    one(driver, "#input").send_keys("The old dog sleeps.")
    until(driver, lambda: all_of(driver, "#map td.strong"))
    words = output(driver)
    webdriver.ActionChains(driver).move_to_element(all_of(driver, "#output .word")[2]).perform()
    lit = [m for m in all_of(driver, "#lights mark") if "color-mix" in (m.get_attribute("style"))]
    assert "dog" in [mark.get_attribute("textContent") for mark in lit]
    assert "#source=auto" in driver.current_url and "dog" in driver.current_url
    one(driver, "#swap").click()
    until(driver, lambda: one(driver, "#input").get_property("value") == words)
    until(driver, lambda: "dog" in output(driver))
    assert Select(one(driver, "#source")).first_selected_option.text == "German"
    link = driver.current_url
    driver = page(link.partition("/#")[2].join(["#", ""]))
    assert one(driver, "#input").get_property("value") == words


def test_the_keyboard_alone(page: Callable[..., Any]) -> None:
    driver = page("#q=The+old+dog+sleeps.&source=en&target=de")
    until(driver, lambda: all_of(driver, "#map td.strong"))
    active = driver.switch_to
    assert active.active_element.get_attribute("id") == "input"
    for _ in range(4):  # Look here, Clear, Copy link, the first word
        active.active_element.send_keys(Keys.TAB)
    active.active_element.send_keys(
        Keys.ARROW_RIGHT,
    )
    assert active.active_element.text == all_of(driver, "#output .word")[1].text
    assert all_of(driver, "#map .at")
    one(driver, "#tab-text").send_keys(Keys.ARROW_RIGHT)
    assert one(driver, "#image").is_displayed() and not one(driver, "#text").is_displayed()
    assert driver.switch_to.active_element.get_attribute("id") == "tab-image"


def test_a_layer_a_head_and_another_model(page: Callable[..., Any]) -> None:
    driver = page("#q=The+old+dog+sees+the+house.&source=en&target=de")
    until(driver, lambda: all_of(driver, "#map td.strong"))
    before = one(driver, "#map").text
    assert "(head 4 of layer 1)" in before and not one(driver, "#head").is_displayed()
    Select(one(driver, "#layer")).select_by_value("0")
    assert one(driver, "#head").is_displayed()
    Select(one(driver, "#head")).select_by_value("1")
    assert one(driver, "#map").text != before
    Select(one(driver, "#rival")).select_by_value("grammar-en-de")
    until(driver, lambda: all_of(driver, "#rival-output .word"))
    until(driver, lambda: all_of(driver, "#rival-map td"))


SAVED = (  # keeps what the page saves, and the names of the files
    "window.saved = []; window.names = []; const make = URL.createObjectURL;"
    "const click = HTMLAnchorElement.prototype.click;"
    "HTMLAnchorElement.prototype.click = function () {"
    "  window.names.push(this.download); click.call(this); };"
    "URL.createObjectURL = (blob) => { window.saved.push(blob); return make.call(URL, blob); };"
)
KEPT = "window.saved.at(-1).arrayBuffer().then((b) => arguments[0]([...new Uint8Array(b)]))"


def saved(driver: Any, button: str) -> bytes:
    """Return the file that a button saves."""
    count = "return window.saved.length"
    before = driver.execute_script(count)
    one(driver, button).click()
    files = 2 if button.endswith("png") else 1  # a PNG is drawn from an SVG
    until(driver, lambda: driver.execute_script(count) == before + files)
    return bytes(driver.execute_async_script(KEPT))


def test_self_attention_is_named_and_every_map_is_saved(page: Callable[..., Any]) -> None:
    driver = page("#q=The+old+dog+sleeps.&source=en&target=de")
    driver.execute_script(SAVED)
    until(driver, lambda: all_of(driver, "#map td.strong"))
    for kind, words in (("source", "#lights"), ("target", "#output")):
        Select(one(driver, "#kind")).select_by_value(kind)
        count = len((one(driver, words).get_attribute("textContent") or "").split())
        assert len(all_of(driver, "#map tbody tr")) == len(all_of(driver, "#map thead th"))
        assert len(all_of(driver, "#map tbody tr")) == count or words == "#lights"
        name = {"source": "encoder self-attention, layer 1", "target": "decoder self-attention"}
        assert name[kind] in one(driver, "#map caption").text
    note = "Rows leave out the weight on the start mark"
    assert note in one(driver, "#map p").text and note in saved(driver, "#attention-svg").decode()
    one(driver, "#heads summary").click()
    thumbs = until(driver, lambda: all_of(driver, ".thumb"))
    layers = len(all_of(driver, "#layer option"))
    heads = len(all_of(driver, "#head option")) - 1
    assert len(thumbs) == layers * heads
    thumbs[-1].click()
    assert f"layer {layers}, head {heads};" in one(driver, "#map caption").text
    drawing = saved(driver, "#attention-svg").decode()
    assert drawing.startswith("<svg")
    title = drawing.index(f"layer {layers}, head {heads};")
    assert title < drawing.index('text-anchor="end"') < drawing.index(">0 %<")
    assert ">100 %<" in drawing
    with Image.open(io.BytesIO(saved(driver, "#attention-png"))) as picture:
        assert picture.format == "PNG" and len(picture.convert("L").getcolors() or [0]) > 2


AMBER = "return getComputedStyle(document.querySelector(arguments[0])).backgroundColor"


def test_a_doubtful_output_is_marked_amber_and_its_line_is_named(page: Callable[..., Any]) -> None:
    driver = page("#q=The+old+dog+sleeps.%0A" + NUMBERS + "&source=en&target=de")
    until(driver, lambda: one(driver, "#notes").is_displayed())
    assert "line 2: The output has other numbers: " in one(driver, "#notes").text
    doubtful = [line.get_attribute("class") for line in all_of(driver, "#output p")]
    assert doubtful == ["", "doubtful"]
    colours = [driver.execute_script(AMBER, place) for place in ("#notes", "#output .doubtful")]
    red, _, blue = map(int, re.findall(r"\d+", colours[0]))
    assert colours[0] == colours[1] and red > blue + 30
    one(driver, "#clear").click()
    one(driver, "#input").send_keys(" ".join(["and"] * 20))
    until(driver, lambda: "a repetition loop" in one(driver, "#notes").text)
    assert (
        len(all_of(driver, "#output .doubtful")) == 1 and "line" not in one(driver, "#notes").text
    )


PASTE = (
    "const input = document.querySelector('#input');"
    "input.value = arguments[0]; input.dispatchEvent(new Event('input'))"
)


def test_a_text_that_is_too_long_is_refused_at_once(page: Callable[..., Any]) -> None:
    driver = page("#q=Good+morning.&source=en&target=de")
    until(driver, lambda: output(driver))
    driver.execute_script(PASTE, "Good morning.\n" * 9000)
    until(driver, lambda: "has 126,000 characters" in one(driver, "#state").text)
    assert "at most 100,000" in one(driver, "#state").text and not output(driver)
    one(driver, "#clear").click()
    one(driver, "#input").send_keys("Good morning.")
    until(driver, lambda: output(driver))


def test_a_glossary(page: Callable[..., Any]) -> None:
    driver = page("#q=The+old+dog+sleeps.&source=en&target=de")
    until(driver, lambda: output(driver))
    one(driver, "#text .glossary summary").click()
    one(driver, "#glossary").send_keys("dog = Dackel")
    until(driver, lambda: "Dackel" in (one(driver, "#output").get_attribute("textContent") or ""))


def is_shown(driver: Any, text: str) -> bool:
    return bool(
        driver.execute_script("return document.querySelector('#output').innerText.trim()") == text
    )


def test_another_word_another_look_and_back(page: Callable[..., Any]) -> None:
    driver = page("#q=The+old+dog+sleeps.&source=en&target=de")
    until(driver, lambda: all_of(driver, "#map td.strong"))
    before, lines = output(driver), "return document.querySelector('#output').innerText.trim()"
    all_of(driver, "#output .word")[2].send_keys(Keys.ENTER)
    until(driver, lambda: len(all_of(driver, "#choices [role=option]")) > 1)
    driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    chosen = driver.switch_to.active_element
    word = chosen.find_element(By.TAG_NAME, "bdi").text
    chosen.send_keys(Keys.ENTER)
    until(driver, lambda: all_of(driver, "#output .steered"))
    first = before.split()
    assert output(driver).split()[:2] == first[:2] and output(driver).split()[2].startswith(word)
    assert not one(driver, "#choices").is_displayed()
    second = driver.execute_script(lines)
    all_of(driver, "#output .word")[1].click()
    sources = until(driver, lambda: all_of(driver, "#choices .looks button"))
    assert [one.text for one in sources] == ["The", "old", "dog", "sleeps."]
    sources[2].click()
    until(driver, lambda: all_of(driver, "#lights mark.looked"))
    assert one(driver, "#lights mark.looked").get_attribute("textContent") == "dog"
    assert output(driver).split()[0] == first[0] and "Hund" in output(driver).split()[1]
    until(driver, lambda: all_of(driver, "#map td.strong"))
    for text in (second, before):
        one(driver, "#undo").click()
        until(driver, partial(is_shown, driver, text))
    assert not one(driver, "#undo").is_displayed() and not all_of(driver, "#output .steered")
    one(driver, "#input").send_keys(Keys.HOME)
    one(driver, "#look").click()
    until(driver, lambda: all_of(driver, "#lights mark.looked"))
    assert one(driver, "#lights mark.looked").get_attribute("textContent") == "The"


def test_a_frame_that_is_dragged_and_moved_steers_a_caption(page: Callable[..., Any]) -> None:
    driver = page("#view=image")
    one(driver, "#image-example").click()
    words = until(driver, lambda: all_of(driver, ".film .word"))
    words[0].click()
    caption = "return document.querySelector('.film .caption').innerText.trim()"
    before, stage = driver.execute_script(caption), one(driver, ".stage")
    assert "red circle" in before and "blue square" in before
    width, height = stage.size["width"], stage.size["height"]
    drag = webdriver.ActionChains(driver).move_to_element_with_offset(stage, 10, -height // 4)
    drag.click_and_hold().move_by_offset(width // 4, height // 4)
    drag.move_by_offset(width // 4 - 15, height // 4).release().perform()
    until(driver, lambda: all_of(driver, ".film .word.steered"))
    until(driver, lambda: "blue square" in driver.execute_script(caption).split(" and")[0])
    assert "red" not in driver.execute_script(caption)
    for _ in range(10):
        driver.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    until(driver, lambda: "blue" not in driver.execute_script(caption))
    until(driver, lambda: "red circle" in driver.execute_script(caption))
    driver.switch_to.active_element.send_keys(Keys.DELETE)
    until(driver, lambda: driver.execute_script(caption) == before)
    assert not all_of(driver, ".film .word.steered") and not one(driver, ".frame").is_displayed()


def test_back_instead_address_and_examples(page: Callable[..., Any]) -> None:
    driver = page("#source=auto&target=de")
    one(driver, "#example").click()
    until(driver, lambda: "Hund" in output(driver))
    one(driver, "#back").click()
    until(driver, lambda: "dog" in one(driver, "#back-output").text)
    assert one(driver, "#address").is_displayed()
    one(driver, "#clear").click()
    one(driver, "#input").send_keys("Ich sehe das alte Haus neben dem Bahnhof.")
    until(driver, lambda: one(driver, "#instead").is_displayed())
    until(driver, lambda: not one(driver, "#back-pane").is_displayed())  # it is German already
    one(driver, "#instead").click()
    until(driver, lambda: "house" in output(driver))
    until(driver, lambda: "Bahnhof" in one(driver, "#back-output").text)
    assert Select(one(driver, "#target")).first_selected_option.text == "English"
    one(driver, "#tab-document").click()
    one(driver, "#document-example").click()
    until(driver, lambda: all_of(driver, "#documents a"))


def test_a_document_tells_the_sense_of_its_direction_and_takes_a_form_of_address(
    page: Callable[..., Any], tmp_path: Path
) -> None:
    driver = page("#view=document")
    assert Select(one(driver, "#document-source")).first_selected_option.text == "Detect language"
    Select(one(driver, "#document-target")).select_by_value("de")
    path, outputs = tmp_path / "a.txt", list[str]()
    path.write_text("Where do you live? I hope that you are well.")
    for form in ("formal", "informal"):
        Select(one(driver, "#document-address")).select_by_value(form)
        chosen = one(driver, "#document-file")
        driver.execute_script("arguments[0].value = ''", chosen)
        chosen.send_keys(str(path))
        until(driver, lambda: len(all_of(driver, "#documents a")) > len(outputs))
        item = one(driver, "#documents li")
        assert "changes the sense of about" in item.text and "opus-mt-en-de" in item.text
        link = item.find_element(By.TAG_NAME, "a").get_attribute("href")
        outputs.append(httpx.get(str(link)).text)
    assert "Sie" in outputs[0] and "du" in outputs[1]


def test_the_example_of_the_sound_view_is_transcribed(page: Callable[..., Any]) -> None:
    driver = page()
    one(driver, "#tab-sound").click()
    one(driver, "#sound-example").click()
    until(driver, lambda: one(driver, "#transcript").text)
    assert one(driver, "#transcript .caption").text.split() == ["three", "one", "four"]


def test_the_page_in_another_language(page: Callable[..., Any], driver: Any) -> None:
    page()
    try:
        Select(one(driver, "#page-language")).select_by_value("de")
        until(driver, lambda: one(driver, "#tab-document").text == "Dokument")
        until(driver, lambda: driver.execute_script("return document.body.dataset.ready"))
        assert "Sprache erkennen" in one(driver, "#source").text
        assert one(driver, "#source option[value=es]").text == "Spanisch"
    finally:
        driver.execute_script("localStorage.clear()")


def test_a_doubtful_language_and_labels(page: Callable[..., Any]) -> None:
    driver = page("#q=Ein+Gift&source=auto&target=fr")
    until(driver, lambda: one(driver, "#instead").is_displayed())
    one(driver, "#instead").click()
    assert not one(driver, "#instead").is_displayed()
    assert Select(one(driver, "#source")).first_selected_option.text == "English"
    one(driver, "#tab-label").click()
    one(driver, "#label-input").send_keys("Wo ist der Bahnhof?")
    until(driver, lambda: all_of(driver, "#labels li"))
    assert one(driver, "#labels strong").text == "de"


def test_a_photo_and_how_its_hard_attention_is_drawn(
    page: Callable[..., Any], tmp_path: Path
) -> None:
    Image.effect_noise((300, 200), 80).convert("RGB").save(tmp_path / "<b>photo.png")
    driver = page("#view=image&q=The+old+dog+sleeps.&source=en&target=de")
    one(driver, "#image-file").send_keys(str(tmp_path / "<b>photo.png"))
    words = until(driver, lambda: all_of(driver, ".film .word"))
    words[0].click()  # ends the film
    slider = one(driver, ".film input[type=range]")
    slider.send_keys(Keys.HOME)
    whole = driver.execute_script("return document.querySelector('canvas').toDataURL()")
    driver.execute_script(SAVED)
    every = saved(driver, ".film button.plain:last-of-type")
    assert every.count(b"<image") == len(words) == every.count(b'font-weight="bold"')
    assert driver.execute_script("return document.querySelector('canvas').toDataURL()") == whole
    assert driver.execute_script("return window.names.at(-1)") == "caption-photos.svg"
    words[-1].click()
    shown = driver.execute_script("return document.querySelector('canvas').toDataURL()")
    assert shown != whole and "at" in words[-1].get_attribute("class")
    choice = one(driver, "#image-read")
    assert not choice.is_displayed()  # the attention of the default model is soft
    Select(one(driver, "#image-model")).select_by_value("photos-hard")
    assert [option.text for option in Select(choice).options] == READS
    until(driver, lambda: "hard expected attention, drawn by argmax" in one(driver, "#films").text)
    Select(choice).select_by_value("sample")
    until(driver, lambda: "hard sample attention" in one(driver, "#films").text)
    drawing = saved(driver, ".film button.plain:last-of-type").decode()
    assert drawing.index("photos-hard, hard sample attention") < drawing.index("<image")
    assert "weight 0<" in drawing and "largest of the word<" in drawing
    one(driver, "#tab-text").click()
    until(driver, lambda: all_of(driver, "#map td.strong"))
    assert not one(driver, "#read").is_displayed()


def test_a_document(page: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "film.srt"
    path.write_text("1\n00:00:01,000 --> 00:00:02,000\nGood morning.\n")
    driver = page("#view=document")
    one(driver, "#document-file").send_keys(str(path))
    link = until(driver, lambda: all_of(driver, "#documents a"))[0]
    assert link.text.endswith("film.de.srt") or "Save film." in link.text
    path = tmp_path / "bill.txt"
    path.write_text(f"Good morning.\n{unquote_plus(NUMBERS)}\n")
    one(driver, "#document-file").send_keys(str(path))
    note = until(driver, lambda: all_of(driver, "#documents .doubtful"))[0]
    assert note.text.startswith("line 2, “The score") and "other numbers" in note.text


def test_a_recording_of_a_file_and_of_the_microphone(
    driver: Any, speech: tuple[str, Path], wav: bytes, tmp_path: Path
) -> None:
    (tmp_path / "a.wav").write_bytes(wav)
    driver.get(f"{speech[0]}/#view=sound")
    until(driver, lambda: driver.execute_script("return document.body.dataset.ready"))
    assert "zero to nine" in one(driver, "#sound-knows").text  # of digits, which refuses tones
    Select(one(driver, "#sound-model")).select_by_value(SPEECH)
    one(driver, "#sound-file").send_keys(str(tmp_path / "a.wav"))
    words = until(driver, lambda: all_of(driver, "#transcript .word"))
    webdriver.ActionChains(driver).move_to_element(words[-1]).perform()
    band = one(driver, ".time .span")
    assert band.size["width"] > 0 and len(all_of(driver, ".time canvas")) >= len(words)
    driver.execute_script(SAVED)
    assert b"<image" in saved(driver, "#transcript p button:nth-of-type(2)")
    before = one(driver, "#transcript .caption").text
    spectrogram = one(driver, ".time .framed")
    drag = webdriver.ActionChains(driver).move_to_element_with_offset(spectrogram, 0, 0)
    drag.click_and_hold().move_by_offset(spectrogram.size["width"] // 3, 0).release().perform()
    until(driver, lambda: all_of(driver, "#transcript .word.steered"))
    driver.switch_to.active_element.send_keys(Keys.DELETE)
    until(driver, lambda: not all_of(driver, "#transcript .word.steered"))
    assert one(driver, "#transcript .caption").text == before
    one(driver, "#record").click()
    until(driver, lambda: one(driver, "#record").text == "Stop")
    time.sleep(1.2)  # of beeps
    one(driver, "#record").click()
    until(driver, lambda: " s of sound in " in one(driver, "#sound-state").text)
    assert "0." not in one(driver, "#sound-state").text.split(" s of")[0][:2]
    size = "return document.documentElement.scrollWidth"
    shape = {"width": 320, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    try:
        driver.execute_script(WIDE)
        assert driver.execute_script(size) <= 320, widest(driver, 320)
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert not [line for line in driver.get_log("browser") if line["level"] != "INFO"]


WIDE = (  # as a font whose letters are a third wider, and a larger text
    "document.styleSheets[0].insertRule("
    "'* { letter-spacing: .2em !important; word-spacing: .3em !important }');"
    "document.body.style.fontSize = '19px'"
)


@pytest.mark.parametrize("scheme, width", [("light", 320), ("dark", 360)])
def test_phone_width(page: Callable[..., Any], driver: Any, scheme: str, width: int) -> None:
    size = {"width": width, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    try:
        page("#q=Where+is+the+station%3F&source=en&target=fr")
        until(driver, lambda: all_of(driver, "#map td.strong"))
        for font in ("", WIDE):
            driver.execute_script(font)
            for view in ("text", "image", "document", "label", "models"):
                one(driver, f"#tab-{view}").click()
                found = driver.execute_script("return document.documentElement.scrollWidth")
                assert found <= width, (view, font, widest(driver, width))
        ground = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (int(ground.split("(")[1].split(",")[0]) < 128) is (scheme == "dark")
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def widest(driver: Any, width: int) -> list[str]:
    """Return the elements that end beyond the width."""
    found: list[str] = driver.execute_script(
        "return [...document.querySelectorAll('body *')].filter(e => "
        f"e.getBoundingClientRect().right > {width}).map(e => e.outerHTML.slice(0, 80))"
    )
    return found


def test_right_to_left_text_and_markup_are_shown_as_text(page: Callable[..., Any]) -> None:
    driver = page()
    text = "שלום עולם <img src=x onerror=alert(1)>"
    one(driver, "#input").send_keys(text)
    until(driver, lambda: all_of(driver, "#output .word"))
    way = driver.execute_script(
        "return getComputedStyle(document.querySelector('#input')).direction"
    )
    assert way == "rtl" and not all_of(driver, "#views img")


def test_a_service_that_has_gone_is_named(page: Callable[..., Any], driver: Any) -> None:
    page()
    driver.execute_script(
        "window.kept = window.fetch; window.fetch = () => Promise.reject(new TypeError())"
    )
    one(driver, "#input").send_keys("Good morning.")
    until(driver, lambda: "The service has gone" in one(driver, "#banner").text)
    driver.execute_script("window.fetch = window.kept")
    until(driver, lambda: output(driver))
    until(driver, lambda: not one(driver, "#banner").is_displayed())


ASK = (  # every way in which a page can reach another site; which of them got an answer to read
    "const [url, done] = arguments, body = JSON.stringify({q: 'Hi', source: 'en', target: 'de'});"
    "const form = new URLSearchParams({q: 'Hi', source: 'en', target: 'de'});"
    "const read = (path, more) => fetch(url + path, more).then((a) => a.text(), () => '');"
    "const load = (tag, path) => new Promise((end) => { const one = document.createElement(tag);"
    "  one.onload = () => end('loaded'); one.onerror = () => end(''); one.src = url + path;"
    "  document.head.append(one); });"
    "Promise.all([read('/models'), read('/metrics'),"
    "  read('/translate', {method: 'POST', body: form}),"
    "  read('/translate', {method: 'POST', body, mode: 'no-cors'}),"
    "  read('/translate', {method: 'POST', body, headers: {'Content-Type': 'application/json'}}),"
    "  load('img', '/page/icon.svg'), load('script', '/page/api.js')]).then(done);"
)
FORM = (
    "const form = document.body.appendChild(document.createElement('form'));"
    "form.action = arguments[0] + '/translate'; form.method = 'post'; form.submit();"
)


@pytest.fixture
def stranger() -> Iterator[str]:
    """Return the address of a page of another origin."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_a_page_of_another_site_gets_nothing(driver: Any, url: str, stranger: str) -> None:
    count = 'attn_requests_total{endpoint="/translate".*'
    before = re.findall(count, httpx.get(f"{url}/metrics").text)
    driver.get(f"{stranger}/nothing")
    assert set(driver.execute_async_script(ASK, url)) == {""}
    driver.execute_script(FORM, url)
    until(driver, lambda: "another site" in driver.page_source)
    assert re.findall(count, httpx.get(f"{url}/metrics").text) == before
    rebound = url.replace("127.0.0.1", "rebound.test")  # a name that resolves to this machine
    driver.get(f"{rebound}/models")
    assert "This Host is not served here" in driver.page_source
    driver.get_log("browser")
