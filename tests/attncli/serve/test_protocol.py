"""LibreTranslate's protocol: answers, errors, and what is refused."""

from __future__ import annotations

import io
import json
import re
import socket
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from attncli import load
from attncli.serve import _information as information
from attncli.serve import _service as service_module
from attncli.serve._app import ENDPOINTS
from attncli.serve._fields import PAGE
from models.core.errors import NotFoundError
from tests.attncli.command_line import Attn
from tests.attncli.serve.conftest import Start

httpx = pytest.importorskip("httpx")

CURL = {"Content-Type": "application/x-www-form-urlencoded"}  # its default, for any body
TEXTS = ["Good morning.", "", "Where is the station?", "I am tired."]


def post(url: str, path: str = "/translate", **values: Any) -> Any:
    return httpx.post(url + path, json=values, timeout=60)


def test_json_form_query_and_multipart_mean_the_same(url: str) -> None:
    given = {"q": TEXTS[0], "source": "en", "target": "fr"}
    answers = [
        httpx.post(f"{url}/translate", json=given),
        httpx.post(f"{url}/translate", data=given),
        httpx.post(f"{url}/translate", params=given),
        httpx.post(f"{url}/translate", files={name: (None, v) for name, v in given.items()}),
        httpx.post(f"{url}/translate", content=json.dumps(given), headers=CURL),
    ]
    assert len({answer.text for answer in answers}) == 1 and answers[0].status_code == 200


@pytest.mark.parametrize("charset", ["", "; charset=utf-8"])
def test_a_form_is_utf_8_even_if_it_is_not_percent_encoded(url: str, charset: str) -> None:
    """As `curl -d` sends it; a semicolon does not divide fields."""
    given = {"q": "Où est la gare ; ici ?", "source": "fr", "target": "en"}
    body = "&".join(f"{name}={value}" for name, value in given.items()).encode()
    headers = {"Content-Type": CURL["Content-Type"] + charset}
    answer = httpx.post(f"{url}/translate", content=body, headers=headers)
    assert answer.text == post(url, **given).text


def test_an_answer_on_an_open_connection_does_not_wait(url: str) -> None:
    """Without TCP_NODELAY, the body of each answer waits 40 ms for the client's acknowledgement."""
    times = []
    with httpx.Client(base_url=url) as client:
        for _ in range(20):
            started = time.monotonic()
            client.post("/translate", json={"q": "12", "source": "en", "target": "de"})
            times.append(time.monotonic() - started)
    assert min(times) < 0.03


def test_requests_and_the_command_agree_on_a_language(url: str, attn: Attn) -> None:
    texts = ["The dog is in the garden.", "Where is it?", "Mit freundlichen Grüßen", "Où est-il ?"]
    answers = post(url, q=texts, source="auto", target="fr").json()
    detected = post(url, "/detect", q=texts).json()
    languages = [one["language"] for one in answers["detectedLanguage"]]
    assert languages == [one[0]["language"] for one in detected] == ["en", "en", "de", "fr"]
    given = "".join(f"{text}\n" for text in texts)
    out = attn("translate", "--to", "fr", "--from", "auto", given=given).out
    assert out.splitlines() == answers["translatedText"]
    [alone] = post(url, "/detect", q=texts[:1]).json()
    assert alone[0]["language"] == detected[0][0]["language"]


def test_a_glossary_is_a_text_a_list_or_an_object(url: str) -> None:
    given: dict[str, Any] = {
        "q": "The delivery will arrive on Monday.",
        "source": "en",
        "target": "de",
    }
    forms: tuple[Any, ...] = (
        "delivery\tZustellung\n",
        [["delivery", "Zustellung"]],
        {"delivery": "Zustellung"},
    )
    answers = [post(url, **given, glossary=form).json()["translatedText"] for form in forms]
    assert len({*answers}) == 1 and "Zustellung" in answers[0]
    assert (
        answers[0].replace("Zustellung", "Lieferung") == post(url, **given).json()["translatedText"]
    )
    for wrong in ("delivery", [["a"]], [["a", "b"], ["A", "c"]], {"a": 1}, 7):
        refused = post(url, **given, glossary=wrong)
        assert refused.status_code == 400 and "glossary" in refused.json()["error"]
    document = uploaded(url, "a.md", given["q"].encode(), target="de", glossary=forms[0]).json()
    assert "Zustellung" in httpx.get(document["translatedFileUrl"]).text


def test_a_memory_gives_its_lines_as_they_are(url: str) -> None:
    given: dict[str, Any] = {
        "q": ["The box has 45 screws.", "A dog."],
        "source": "en",
        "target": "de",
    }
    forms: tuple[Any, ...] = (
        "The box has 12 screws.\tDie Kiste hat 12 Schrauben!\n",
        {"The box has 12 screws.": "Die Kiste hat 12 Schrauben!", "a": "b", "A": "c"},
    )
    for form in forms:
        answer = post(url, **given, memory=form).json()
        assert answer["translatedText"][0] == "Die Kiste hat 45 Schrauben!"
        assert answer["memory"] == ["numbers", ""]
        assert answer["translatedText"][1:] == post(url, **given).json()["translatedText"][1:]
    assert "memory" not in post(url, **given).json()
    document = uploaded(url, "a.md", b"The box has 12 screws.", target="de", memory=forms[0]).json()
    assert httpx.get(document["translatedFileUrl"]).text == "Die Kiste hat 12 Schrauben!"


def test_alternatives(url: str) -> None:
    one = post(url, q=TEXTS[0], source="en", target="de", alternatives=3).json()
    assert len(one["alternatives"]) == 3 and one["translatedText"] not in one["alternatives"]
    more = post(url, q=TEXTS, source="en", target="de", alternatives=1).json()
    assert [len(found) for found in more["alternatives"]] == [1, 0, 1, 1]


def test_alignments_have_a_weight_for_each_pair_of_words(url: str) -> None:
    values: dict[str, Any] = {"q": "The old dog sleeps.", "source": "en", "target": "de"}
    values["heads"] = True
    answer = post(url, **values).json()
    [found] = answer["alignments"]
    assert " ".join(found["target"]) == answer["translatedText"]
    sizes = {(len(rows), len(rows[0])) for layer in found["heads"] for rows in layer}
    assert sizes == {(len(found["target"]), len(found["source"]))}
    assert found["shown"].startswith("what the model reads")
    again = {**values, "translation": answer["translatedText"]}
    aligned = post(url, "/align", **again).json()
    assert aligned["links"] == found["links"]
    for name, side in (("source_heads", "source"), ("target_heads", "target")):
        sizes = {(len(rows), len(rows[0])) for layer in aligned[name] for rows in layer}
        assert sizes == {(len(found[side]),) * 2}
    empty = post(url, "/align", **{**again, "q": ["", "A dog."], "translation": ["Ein", ""]})
    assert [one["links"] for one in empty.json()] == [[], []]


def test_html_keeps_tags_entities_and_placeholders(url: str) -> None:
    text = (
        '<p>The <b class="x">red</b> car.</p><p>5 &amp; 7</p><p translate="no">Keep me</p>'
        "<p>I saw [X7X] and {name}.</p><script>let a = 1 < 2;</script>"
    )
    found = post(url, q=text, source="en", target="de", format="html").json()["translatedText"]
    assert '<b class="x">rote</b>' in found and "&amp;" in found
    assert '<p translate="no">Keep me</p>' in found and "[X7X]" in found and "{name}" in found
    assert "<script>let a = 1 < 2;</script>" in found


@pytest.mark.parametrize(
    "values, message",
    [
        ({}, "Invalid request: missing q parameter"),
        ({"q": ""}, "Invalid request: missing q parameter"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"source": None}, "Invalid request: missing source parameter"),
        ({"target": "zz"}, "zz is not supported"),
        ({"source": "zz"}, "zz is not supported"),
        ({"format": "xml"}, "xml format is not supported"),
        ({"q": 5}, "Invalid request: q must be a text or a list of texts"),
        ({"q": ["a", 5]}, "q must be a text or a list"),
        ({"q": "\ud800"}, "not Unicode"),
        ({"alternatives": -1}, "alternatives must be a number from 0 to 20"),
        ({"alternatives": "many"}, "alternatives must be a number"),
        ({"model": "../../etc"}, "no model"),
        ({"alignments": True, "format": "html"}, "alignments are of texts"),
        ({"alignments": "perhaps"}, "alignments must be true or false"),
    ],
)
def test_mistakes_are_refused_with_a_message(url: str, values: Any, message: str) -> None:
    given = {"q": "Hello.", "source": "en", "target": "de", **values} if values else {}
    body = json.dumps(given)
    answer = httpx.post(url + "/translate", content=body, timeout=60)
    assert answer.status_code == 400 and message in answer.json()["error"], answer.text


@pytest.mark.parametrize(
    "body", ["{", "[1]", '"a"', "[" * 100_000, '{"q": ' + "[" * 50_000, b"\xff\xfe", "1" * 5000]
)
def test_a_body_that_is_not_an_object_is_refused(url: str, body: Any) -> None:
    answer = httpx.post(url + "/translate", content=body)
    assert answer.status_code == 400 and "error" in answer.json()


def test_a_direction_that_no_model_has(start: Start) -> None:
    url = start(models=(Path("grammar-en-de"),))
    answer = post(url, q="Hallo.", source="de", target="en")
    assert answer.status_code == 400
    expected = "English (en) is not available as a target language from German (de)"
    assert answer.json() == {"error": expected}
    assert {row["code"]: row["targets"] for row in httpx.get(f"{url}/languages").json()} == {
        "en": ["de", "en"],
        "de": ["de"],
    }


def test_limits_of_text_body_and_pixels(start: Start) -> None:
    url = start(max_text=20, max_body=1, max_pixels=1)  # MiB, megapixels
    answer = post(url, q="x" * 21, source="en", target="de")
    expected = "Invalid request: request (21) exceeds text limit (20)"
    assert answer.status_code == 400 and answer.json() == {"error": expected}
    assert post(url, q="x" * 2**20).status_code == 413
    parts = (b"x" * 2**19 for _ in range(3))
    assert httpx.post(f"{url}/translate", content=parts).status_code == 413
    image = io.BytesIO()
    Image.new("RGB", (1001, 1000)).save(image, "PNG")
    assert httpx.post(f"{url}/caption", files={"file": image.getvalue()}).status_code == 413


def test_work_without_a_bound_is_refused_before_it_begins(url: str) -> None:
    given: dict[str, Any] = {"q": "dog " * 6000, "source": "en", "target": "de"}
    assert post(url, **given, alignments=True).status_code == 400
    assert post(url, "/align", **given, translation="Hund " * 6000).status_code == 400
    terms = [[f"{n} {'term ' * 100}", "x"] for n in range(500)]
    assert post(url, **given | {"q": "Hi"}, glossary=terms).status_code == 400
    for more in ({"q": [""] * 100_001}, {"q": "Hi", "a": [[]] * 500_001}):
        assert post(url, **given | more).status_code == 400
    for method, tags in ((zipfile.ZIP_BZIP2, 9999), (zipfile.ZIP_DEFLATED, 4_000_001)):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", method) as archive:
            archive.writestr("word/document.xml", b"<w/>" * tags)
        assert uploaded(url, "a.docx", content.getvalue()).status_code == 400
    assert uploaded(url, "a.html", b"a" * 6_000_001).status_code == 413
    assert post(url, q="<a " * 3000, format="html", source="en", target="de").status_code == 400


def test_bodies_that_do_not_end_are_refused_together(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attncli.serve._app.REFUSED_SECONDS", 0.1)
    url = start(max_body=1)
    port, open_bodies = int(url.rpartition(":")[2]), []
    head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n"
    for _ in range(12):
        client = socket.create_connection(("127.0.0.1", port))
        client.settimeout(20)
        client.sendall(head + b"a" * ((1 << 20) - 1))
        open_bodies.append(client)
    time.sleep(0.5)
    answers = [client.recv(12) for client in open_bodies[9:]]
    assert set(answers) == {b"HTTP/1.1 503"}
    assert post(url, q="Hello.", source="en", target="de").status_code == 200


def test_the_memory_of_large_bodies_goes_back_to_the_system(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    freed = threading.Event()
    monkeypatch.setattr(service_module, "FREE_SECONDS", 0.0)
    monkeypatch.setattr(service_module, "free_memory", freed.set)
    post(start(), q="a", source="en", target="de", unknown="a" * service_module.LARGE_BODY)
    assert freed.wait(10)


def test_what_clients_send_is_not_logged(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = httpx.post(f"{start()}/translate_file", content=b"private", headers=form)
    assert answer.status_code == 400 and not caplog.records


def test_a_request_that_is_not_done_in_time_is_refused(start: Start) -> None:
    url = start(time_limit=0.001)
    answer = uploaded(url, "a.md", b"Hello.\n\n" * 1000)
    assert answer.status_code == 503 and "Not done within" in answer.json()["error"]
    answer = post(url, q="Hello.", source="en", target="de")
    assert answer.status_code == 503 and answer.headers["Retry-After"]
    assert answer.json() == {"error": "Not done within 0.001 seconds"}


def test_keys(start: Start, keys: Path) -> None:
    url = start(api_keys=keys)
    given = {"q": "Hello.", "source": "en", "target": "de"}
    refused = post(url, **given)
    missing = "This service needs an API key: send it as api_key, or as a bearer token"
    assert refused.status_code == 403 and refused.json() == {"error": missing}
    for wrong in ("wrong", "# people", "é", 5):
        refused = post(url, **given, api_key=wrong)
        assert refused.status_code == 403 and refused.json() == {"error": "Invalid API key"}
    assert post(url, **given, api_key="secret-2").status_code == 200
    assert post(url, **given, apiKey="secret-1").status_code == 200
    openai = httpx.post(f"{url}/v1/audio/transcriptions", headers={"Authorization": "Bearer wrong"})
    assert openai.status_code == 401 and openai.headers["WWW-Authenticate"] == "Bearer"
    assert openai.json()["error"]["code"] == "invalid_api_key"
    bearer = {"Authorization": "Bearer secret-1"}
    assert httpx.post(f"{url}/translate", json=given, headers=bearer).status_code == 200


def test_a_rate_is_counted_for_each_client(start: Start, keys: Path) -> None:
    url, clients = start(rate_limit=2, api_keys=keys), ["secret-1", "secret-2"]
    answers = [post(url, "/detect", q="Hello", api_key=key) for key in 2 * clients]
    assert {answer.status_code for answer in answers} == {200}
    slow = post(url, "/detect", q="Hello", api_key=clients[0])
    assert slow.status_code == 429
    assert slow.json() == {"error": "Slowdown: 2 per 1 minute"}
    assert 1 <= int(slow.headers["Retry-After"]) <= 60


def test_other_sites_are_refused_and_errors_are_json(url: str) -> None:
    answers = [
        httpx.get(f"{url}/health"),
        httpx.get(f"{url}/nothing"),
        httpx.get(f"{url}/translate"),
        post(url),
        httpx.options(f"{url}/translate"),
        httpx.post(f"{url}/languages"),
        httpx.get(f"{url}/spec"),
        httpx.post(f"{url}/translate", content="{}", headers={"Content-Type": "text/plain"}),
        httpx.get(f"{url}/health", headers={"Host": "evil.example"}),
        httpx.get(f"{url}/health", headers={"Origin": "http://evil.example"}),
        httpx.options(f"{url}/translate", headers={"Origin": "null"}),
    ]
    codes = [200, 404, 405, 400, 204, 405, 200, 415, 403, 403, 403]
    assert [answer.status_code for answer in answers] == codes
    assert not any("Access-Control-Allow-Origin" in answer.headers for answer in answers)
    own = httpx.get(f"{url}/health", headers={"Origin": url}).headers
    assert own["Access-Control-Allow-Origin"] == url
    assert all("error" in a.json() for a in answers if a.status_code >= 400)


def test_caption(url: str, photos: Path) -> None:
    content = (photos / "a.png").read_bytes()
    address, kind = f"{url}/caption?nbest=3", {"Content-Type": "image/png"}
    raw = httpx.post(address, content=content, headers=kind, timeout=60)
    form = httpx.post(address, files={"file": ("<b>.png", content)}, timeout=60)
    untold = [httpx.post(address, content=content, headers=h, timeout=60) for h in (CURL, {})]
    assert raw.json() == form.json() == untold[0].json() == untold[1].json()
    found = raw.json()
    assert found["caption"] == " ".join(found["words"]) and len(found["captions"]) == 3
    assert len(found["maps"]) == len(found["words"])
    assert sum(map(sum, found["maps"][0])) == pytest.approx(1, abs=0.01)
    assert httpx.post(f"{url}/caption", files={"file": b"no image"}).status_code == 400


def test_classify(url: str) -> None:
    found = post(url, "/classify", q=["Wo ist er?", "Where is he?"]).json()
    assert [one["label"] for one in found] == ["de", "en"]
    assert sum(word["weight"] for word in found[0]["words"]) == pytest.approx(1, abs=0.01)


def uploaded(url: str, name: str, content: bytes, **form: str) -> Any:
    values, files = {"source": "auto", "target": "de", **form}, {"file": (name, content)}
    return httpx.post(f"{url}/translate_file", data=values, files=files, timeout=60)


@pytest.mark.parametrize("name", ["a.txt", "a.srt", "a.html", "a.json", "a.po"])
def test_no_document_that_is_not_utf_8_ends_in_an_error_of_ours(url: str, name: str) -> None:
    forms = {
        "a.json": b'{"a": "%s"}\n',
        "a.srt": b"1\r\n00:00:01,000 --> 00:00:02,000\r\n%s\r\n",
        "a.po": b'msgid "%s"\nmsgstr ""\n',
    }
    content = forms.get(name, b"%s\r\nBonjour.\r\n") % b"Caf\xe9 au lait"
    answer = uploaded(url, name, content).json()
    assert any("Windows-1252" in note for note in answer["notes"])
    assert uploaded(url, name, b"\xff\xe9 au lait").status_code == 400


def test_each_text_of_a_document_has_its_language(url: str) -> None:
    content = (
        '{"a":"The dog sees the red car.","b":"Der Hund ist rot.","c":"Le chien dort.","d":"7"}'
    )
    answer = uploaded(url, "a.json", content.encode(), target="de-DE").json()
    found = json.loads(httpx.get(answer["translatedFileUrl"]).content)
    assert found["a"].startswith("Der Hund") and found["c"].startswith("Der Hund")
    assert found["b"] == "Der Hund ist rot." and found["d"] == "7"
    assert len(answer["notes"]) == 1 and "line 1" not in answer["notes"][0]
    assert 'the same, “{"a":"The dog sees' in answer["notes"][0]


NUMBERS = "The score was 3 to 2 in 1998, 5 to 4 in 2003, 7 to 6 in 2008, and 9 to 8 in 2013."


def test_checks_are_in_the_answer_only_if_an_output_fails_one(url: str, attn: Attn) -> None:
    rows = attn(
        "translate", "--to", "de", "--format", "jsonl", given=f"{NUMBERS}\n{TEXTS[0]}\n"
    ).out
    failed, passed = map(json.loads, rows.splitlines())
    given = {"source": "en", "target": "de"}
    assert post(url, q=NUMBERS, **given).json()["checks"] == failed["checks"]
    assert post(url, q=[TEXTS[0], NUMBERS], **given).json()["checks"] == [[], failed["checks"]]
    html = post(url, q=f"<p>{NUMBERS}</p>", format="html", notes=True, **given).json()
    assert html["checks"] and any("other numbers" in note for note in html["notes"])
    assert "checks" not in passed and "checks" not in post(url, q=TEXTS[0], **given).json()
    translator: Any = load("everyday")
    assert translator.translate(NUMBERS, to="de").checks[0]._asdict() == failed["checks"][0]


def test_a_model_that_was_removed_a_moment_ago_is_no_error(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(folder: Path) -> str:
        raise NotFoundError(str(folder), "a model")

    count = len(httpx.get(f"{url}/models").json())
    monkeypatch.setattr(information, "read_card", gone)
    assert count > 3 and httpx.get(f"{url}/models").json() == []


def test_a_file_with_another_ending_is_text_as_for_the_command(
    url: str, attn: Attn, tmp_path: Path
) -> None:
    path = tmp_path / "letters.en"
    path.write_text("The old dog sleeps.\n")
    answer = uploaded(url, path.name, path.read_bytes()).json()
    assert answer["name"] == "letters.de.en"
    out = attn("translate", "--to", "de", "-i", path).out
    assert httpx.get(answer["translatedFileUrl"]).text == out
    assert uploaded(url, "a.bin", b"\x00\xff\xfe").status_code == 400


def test_a_document_of_several_texts_in_a_line_names_this_line(url: str) -> None:
    content = "The old dog sleeps.\tA cat.\n\u16a0\u16a2\u16a6\u16a8\tThe \u16a0 dog.\n"
    first, *_ = uploaded(url, "a.txt", content.encode()).json()["notes"]
    assert first.startswith("line 2, ")


def test_the_notes_of_a_document_name_what_fails_a_check(url: str, attn: Attn) -> None:
    content = f"The old dog sleeps.\n\n{NUMBERS}\n"
    notes = uploaded(url, "a.txt", content.encode()).json()["notes"]
    err = attn("translate", "--to", "de", given=content).err
    [message] = [line.removeprefix("attn: ") for line in err.splitlines() if "line 3: " in line]
    where = ", “The score was 3 to 2 in 1998, 5 to 4 in …”"
    assert message in [note.replace(where, "") for note in notes]
    assert message.startswith("line 3: other numbers: ")


def test_line_ends_codes_and_several_texts_of_a_form(url: str) -> None:
    text = "A dog.\r\n\r\nA cat.\n"
    found = post(url, q=text, source="EN", target="de_DE").json()["translatedText"]
    assert re.fullmatch("[^\r\n]+\r\n\r\n[^\r\n]+\n", found)
    given = {"q": ["A dog.", "A cat."], "source": "en", "target": "fr"}
    one = {"source": "en", "target": "fr"}
    answers = [
        httpx.post(f"{url}/translate", data=given),
        httpx.post(f"{url}/translate", params=given),
        httpx.post(f"{url}/translate", files=[("q", (None, q)) for q in given["q"]], params=one),
    ]
    assert all(len(answer.json()["translatedText"]) == 2 for answer in answers)


def test_a_text_without_known_letters_has_no_language(url: str) -> None:
    found = post(url, "/classify", q=["犬", "12"]).json()
    assert [one["label"] for one in found] == ["unknown"] * 2
    assert post(url, "/detect", q="犬").json()[0] == {"language": "en", "confidence": 0.0}


def test_a_document_with_progress(url: str) -> None:
    srt = b"1\n00:00:01,000 --> 00:00:02,000\nGood <i>morning</i>.\n"

    def sent(name: str, content: bytes, **headers: str) -> Any:
        form, files = {"source": "en", "target": "de"}, {"file": (name, content)}
        address = f"{url}/translate_file"
        return httpx.post(address, data=form, files=files, headers=headers, timeout=60)

    plain = sent("../<x>.srt", srt).json()
    document = httpx.get(plain["translatedFileUrl"])
    assert document.content.startswith(b"1\n00:00:01,000 --> 00:00:02,000\n")
    assert b"<i>" in document.content and "<" not in document.headers["Content-Disposition"]
    stream = sent("../<x>.srt", srt, Accept="text/event-stream")
    events = [json.loads(line[6:]) for line in stream.text.split("\n\n") if line]
    assert events[0] == {"done": 0, "total": 1} and events[1] == {"done": 1, "total": 1}
    assert httpx.get(events[-1]["translatedFileUrl"]).content == document.content
    assert "pdftotext" in sent("a.pdf", b"x").json()["error"]
    assert httpx.get(f"{url}/download_file/guessed/x").status_code == 404


def test_metrics_count_without_texts(url: str) -> None:
    post(url, q="Rumpelstiltskin is here.", source="en", target="de")
    text = httpx.get(f"{url}/metrics").text
    assert 'attn_requests_total{endpoint="/translate",status="200"}' in text
    assert "attn_batch_inputs" in text and "Rumpelstiltskin" not in text


def test_openapi_describes_every_endpoint() -> None:
    described = json.loads(PAGE.joinpath("openapi.json").read_text("utf-8"))["paths"]
    served = {path: {method.lower() for method in methods} for path, _, methods in ENDPOINTS}
    assert {path: set(methods) for path, methods in described.items()} == served
