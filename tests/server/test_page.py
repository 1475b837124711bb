"""The page in a real Chromium, at a real service: what it shows is what the releases say."""

from __future__ import annotations

import csv
import json
import re
import shutil
import urllib.request

import numpy as np
import pytest

import mercer
from tests.helpers.browser import PATIENCE, serving

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.fixture(scope="module")
def ages(page_folder):
    return mercer.load(page_folder / "ages.json")


@pytest.fixture(scope="module")
def body(page_folder):
    return mercer.load(page_folder / "body.json")


def shown(number, text, digits=4):
    """Whether a number in the page is this one, rounded."""
    return float(text.replace(",", "")) == pytest.approx(number, rel=0.6 * 10.0 ** (1 - digits), abs=1e-12)


def rows_of(browser):
    """The cells of the table of values."""
    return browser.js(
        """return [...document.querySelectorAll('[data-part=results] tbody tr')]
        .map((row) => [...row.cells].map((cell) => cell.textContent))"""
    )


def evaluate(browser, text):
    box = browser.one("textarea")
    box.clear()
    box.send_keys(text + "\n")


# the list


def test_the_list_shows_what_is_promised(browser):
    browser.open("", ".card")
    cards = {card.find_element("css selector", "h2").text: card.text for card in browser.all(".card")}
    assert list(cards) == ["ages", "body", "cube", "trial", "waiting-room"]
    assert "Density of age\n" in cards["ages"]
    assert "Density of age, weight and height" in cards["cube"]
    assert "Live density of age" in cards["waiting-room"]
    assert "epsilon = 1, pure, one row" in cards["ages"]
    assert "delta = 1e-6," in cards["body"]
    assert "Live epsilon = 1, delta = 1e-6" in " ".join(cards["waiting-room"].split())
    assert "Live" not in cards["ages"]
    assert "NOT PRIVATE" in cards["trial"]
    assert "seed" in cards["trial"]
    assert not any("NOT PRIVATE" in cards[name] for name in ("ages", "body", "cube"))


def test_addresses_can_be_linked_reloaded_and_gone_back_from(browser):
    browser.open("", ".card")
    browser.driver.find_element("link text", "ages").click()
    browser.until(lambda: browser.text("h1") == "Density of age")
    assert browser.driver.current_url == browser.url + "#/ages"
    assert browser.driver.title == "ages: density of age – Mercer"
    browser.driver.back()
    browser.until(lambda: browser.text("h1") == "Releases")
    browser.driver.forward()
    browser.until(lambda: browser.text("h1") == "Density of age")
    browser.driver.refresh()
    browser.until(lambda: browser.text("h1") == "Density of age")


@pytest.mark.usefixtures("refused")
def test_a_release_that_is_not_there(browser):
    browser.open("nobody")
    assert browser.text("h1") == "Not here"
    assert browser.one("[role=alert]").text == "There is no release of this name here."
    assert browser.text(".facts") == "nobody"
    assert "GET" not in browser.text("main")
    browser.one("main a").click()
    browser.until(lambda: browser.text("h1") == "Releases")
    browser.open("no%2Fbody")
    assert browser.one("[role=alert]").text == "There is no release of this name here."


def test_a_seeded_release_is_marked_on_its_own_page(browser):
    browser.open_release("trial")
    assert "NOT PRIVATE" in browser.one(".promise.broken").text
    assert "seed" in browser.one(".promise.broken").text


# the picture of one column


def test_the_curve_is_read_off_by_pointer(browser, ages):
    browser.open_release("ages")
    assert "Values outside the bounds are counted at the bounds." in browser.text("figcaption")
    found = browser.point(0.4)
    assert found["x"] == pytest.approx(40, abs=0.2)
    assert found["value"] == pytest.approx(float(ages(found["x"])), rel=1e-12)
    band = ages.band([found["x"]])
    assert [found["lower"], found["upper"]] == pytest.approx([*band.lower, *band.upper], rel=1e-9)
    words = re.match(r"age ([\d.]+) density (\S+) band (\S+) to (\S+)", browser.text("[data-part=reading]"))
    for text, number in zip(words.groups(), found.values(), strict=True):
        assert shown(number, text, 3)
    browser.until(
        lambda: browser.text("[data-part=spoken]").startswith(f"age {words[1]}: density {words[2]}")
    )
    browser.do.move_to_element(browser.one("h1")).perform()
    assert browser.reading() is None


def test_zoom_by_buttons(browser):
    browser.open_release("ages")
    assert browser.range() == [[0, 100]]
    before = browser.ticks()
    browser.button("Zoom in").click()
    browser.settled()
    assert browser.range() == [[20, 80]]
    assert browser.ticks() != before
    browser.button("Zoom out").click()
    browser.settled()
    assert browser.range() == [[0, 100]]
    browser.button("Zoom in").click()
    browser.button("Zoom in").click()
    browser.button("Show the whole range").click()
    browser.settled()
    assert browser.range() == [[0, 100]]
    assert browser.ticks() == before


def test_zoom_by_dragging_fetches_finer_points(browser, ages):
    browser.open_release("ages")
    browser.requests()
    browser.drag((0.3, 0.5), (0.5, 0.4))
    assert browser.all(".selection")
    browser.do.release().perform()
    browser.settled()
    assert not browser.all(".selection")
    ((low, high),) = browser.range()
    assert [low, high] == pytest.approx([30, 50], abs=0.3)
    assert any(f"/curve?from={low:.0f}"[:-1] in url for url in browser.requests())
    here = browser.point(0.5)
    browser.one(".surface").send_keys("r")
    first = browser.reading()
    browser.one(".surface").send_keys("\ue014")  # arrow right
    browser.until(lambda: browser.reading()["x"] > first["x"])
    assert browser.reading()["x"] - first["x"] == pytest.approx((high - low) / 400, rel=0.05)
    assert here["value"] == pytest.approx(float(ages(here["x"])), rel=1e-12)


def test_zoom_by_wheel_keeps_the_place_under_the_pointer(browser):
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    browser.open_release("ages")
    before = browser.point(0.25)["x"]
    origin = ScrollOrigin.from_viewport(*browser.at(0.25))

    def turned():  # a page that scrolls at this moment would not zoom
        browser.do.scroll_from_origin(origin, 0, -300).perform()
        return browser.range() != [[0, 100]]

    browser.until(turned)
    browser.settled()
    ((low, high),) = browser.range()
    assert low > 0
    assert high < 100
    assert browser.point(0.25)["x"] == pytest.approx(before, abs=0.3)
    assert browser.js("return scrollY") == 0


def test_keys_zoom_pan_and_read(browser, ages):
    browser.open_release("ages")
    surface = browser.one(".surface")
    surface.send_keys("+")
    assert browser.range() == [[20, 80]]
    surface.send_keys("\ue014")
    assert browser.range() == [[32, 92]]
    surface.send_keys("\ue012\ue012")
    assert browser.range() == [[8, 68]]
    surface.send_keys("-")
    assert browser.range() == [[0, 100]]
    surface.send_keys("++0")
    assert browser.range() == [[0, 100]]
    browser.settled()
    surface.send_keys("r")  # arrows read from here on
    start = browser.until(browser.reading)
    assert browser.button("Read values with the arrow keys").get_attribute("aria-pressed") == "true"
    surface.send_keys("\ue014")
    assert browser.reading()["x"] == pytest.approx(start["x"] + 0.25)
    surface.send_keys("\ue010")  # End
    end = browser.reading()
    assert end["x"] == 100
    assert end["value"] == pytest.approx(float(ages(100.0)), rel=1e-12, abs=1e-15)
    browser.until(lambda: browser.text("[data-part=spoken]").startswith("age 100"))
    surface.send_keys("\ue00c")  # Escape
    assert browser.reading() is None


def test_the_read_button_starts_and_ends_the_reading(browser):
    browser.open_release("ages")
    button = browser.button("Read values with the arrow keys")
    button.click()
    first = browser.until(browser.reading)
    assert browser.driver.switch_to.active_element == browser.one(".surface")
    browser.do.send_keys("\ue012").perform()
    browser.until(lambda: browser.reading()["x"] < first["x"])
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    browser.until(lambda: browser.reading() is None)


# smoothing


def test_the_slider_smooths_what_was_released(browser, ages):
    browser.open_release("ages")
    words = browser.text("[data-part=bandwidth]")
    assert "chosen automatically" in words
    automatic = browser.js("return document.querySelector('path.curve').getAttribute('d')")
    slider = browser.one("input[type=range]")
    slider.send_keys("\ue014" * 30)
    browser.until(lambda: "bandwidth=" in browser.driver.current_url)
    browser.settled()
    assert "chosen by you" in browser.text("[data-part=bandwidth]")
    assert browser.text("[data-part=bandwidth]") != words
    curve = browser.js("return document.querySelector('path.curve').getAttribute('d')")
    assert curve != automatic
    width = float(browser.driver.current_url.split("bandwidth=")[1])
    assert width > ages.bandwidth[0]
    found = browser.point(0.4)
    assert found["value"] == pytest.approx(float(ages.smooth(width)(found["x"])), rel=1e-4)
    evaluate(browser, "40")
    browser.until(lambda: rows_of(browser))
    assert shown(float(ages.smooth(width)(40.0)), rows_of(browser)[0][1])
    browser.driver.refresh()  # the address remembers
    browser.until(lambda: "chosen by you" in browser.text("[data-part=bandwidth]"))
    browser.button("Automatic").click()
    browser.until(lambda: browser.driver.current_url == browser.url + "#/ages")
    assert browser.text("[data-part=bandwidth]") == words


def test_the_accuracy_follows_the_slider(browser, ages):
    def words(release):
        return re.sub(r"e-0(\d)", r"e-\1", str(release.accuracy))

    browser.open_release("ages")
    automatic = f"At the automatic bandwidth: {words(ages)}"
    assert browser.text("[data-part=accuracy]") == automatic
    browser.one("input[type=range]").send_keys("\ue014" * 30)
    browser.until(lambda: "bandwidth chosen" in browser.text("[data-part=accuracy]"))
    width = float(browser.driver.current_url.split("bandwidth=")[1])
    expected = f"At the bandwidth chosen, {width:.3g} of age: {words(ages.smooth(width))}"
    browser.until(lambda: browser.text("[data-part=accuracy]") == expected)
    browser.button("Automatic").click()
    browser.until(lambda: browser.text("[data-part=accuracy]") == automatic)


def test_the_ends_of_the_slider_are_answered(browser):
    browser.open_release("ages")
    slider = browser.one("input[type=range]")
    for key, value in (("\ue010", "240"), ("\ue011", "0")):  # End, Home
        before = browser.driver.current_url
        slider.send_keys(key)
        assert slider.get_property("value") == value
        browser.until(lambda before=before: browser.driver.current_url != before)
        browser.settled()
        assert not browser.one("#notice").is_displayed()


def test_leaving_at_once_does_not_bring_the_release_back(browser):
    browser.open_release("ages")
    browser.js(
        """const slider = document.querySelector('input[type=range]');
        slider.value = 200;
        slider.dispatchEvent(new Event('input'));
        location.hash = '#/trial';"""
    )
    browser.until(lambda: "trial" in browser.text(".facts"))
    browser.driver.execute_async_script("setTimeout(arguments[0], 400)")  # longer than the page waits
    assert browser.driver.current_url.endswith("#/trial")


def test_smoothing_again_refreshes_the_values(browser):
    browser.open_release("ages")
    evaluate(browser, "40")
    before = browser.until(lambda: rows_of(browser))
    browser.one("input[type=range]").send_keys("\ue014" * 40)
    browser.until(lambda: rows_of(browser) != before)


# values at points


def test_values_at_points(browser, ages):
    browser.open_release("ages")
    x = [20.0, 40.5, 1e1, 100.0]
    evaluate(browser, "20, 40.5  1e1\ue008\ue007\ue000100")  # Shift+Enter is a new line
    browser.until(lambda: len(rows_of(browser)) == 4)
    band = ages.band(x)
    for row, *numbers in zip(rows_of(browser), x, ages(x), band.lower, band.upper, strict=True):
        assert all(shown(number, cell, 5) for number, cell in zip(numbers, row, strict=True))
    assert browser.one("textarea").get_property("value") == "20, 40.5  1e1\n100"


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("20 120", "120 lies outside: age from 0 to 100"),
        ("20 abc", "“abc” is not a number"),
        ("1e999", "is not a number"),
        ("  ", "no number in the box"),
        (" ".join(["1"] * 10_001), "at most 10000"),
    ],
)
def test_what_cannot_be_evaluated_is_said_beside_the_box(browser, text, words):
    browser.open_release("ages")
    box = browser.one("textarea")
    browser.js("arguments[0].value = arguments[1]", box, text)
    box.send_keys("\n")
    alert = browser.until(lambda: [a for a in browser.all("[role=alert]") if words in a.text])[0]
    assert alert.text.startswith("Not evaluated.")
    assert box.get_property("value") == text
    assert box.get_attribute("aria-invalid") == "true"
    assert alert.get_attribute("id") in box.get_attribute("aria-describedby").split()
    box.clear()
    box.send_keys("20\n")
    browser.until(lambda: rows_of(browser))
    assert not browser.all("[role=alert]:not(:empty)")
    assert box.get_attribute("aria-invalid") is None


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("mistake", ["abc", "20 120"])
def test_a_mistake_stands_until_the_box_changes(browser, ages, mistake):
    """Whatever the slider does; what was answered before is not taken for the answer."""
    browser.open_release("ages")
    evaluate(browser, "20 40")
    first = browser.until(lambda: rows_of(browser))
    assert "Earlier" not in browser.text("[data-part=results]")
    box = browser.one("textarea")
    evaluate(browser, mistake)
    browser.until(lambda: browser.text("[data-part=problem]"))
    problem = browser.text("[data-part=problem]")
    assert browser.text("[data-part=results] caption").startswith("Earlier answer, for 20 and 40.")
    assert browser.all(".earlier [role=region]")
    browser.one("input[type=range]").send_keys("\ue014" * 40)
    browser.until(lambda: rows_of(browser) != first)  # of the same points, smoothed anew
    width = float(browser.driver.current_url.split("bandwidth=")[1])
    assert shown(float(ages.smooth(width)(20.0)), rows_of(browser)[0][1], 5)
    assert browser.text("[data-part=problem]") == problem
    assert box.get_attribute("aria-invalid") == "true"
    assert browser.text("[data-part=results] caption").startswith("Earlier answer, for 20 and 40.")
    assert "in the table below" not in browser.text("main")
    box.clear()
    box.send_keys("20")
    browser.until(lambda: not browser.text("[data-part=problem]"))
    assert browser.all(".earlier")  # the box is not answered yet
    box.send_keys("\n")
    browser.until(lambda: len(rows_of(browser)) == 1)
    assert not browser.all(".earlier")
    assert "Earlier" not in browser.text("[data-part=results]")


def test_a_comma_that_may_be_a_decimal_point(browser):
    browser.open_release("ages")
    box = browser.one("textarea")
    for text, words in [
        ("1,5", "Read as 2 points: 1 and 5. Decimals are written with a point: 1.5."),
        ("1, 5", ""),
        ("20 40.5", ""),
        (
            "37,25 1 2 3 4",
            "Read as 6 points: 37, 25, 1, 2 and 2 more. Decimals are written with a point: 37.25.",
        ),
        ("1,x", ""),
    ]:
        box.clear()
        box.send_keys(text)
        assert browser.text("[data-part=doubt]") == words
    browser.open_release("body")
    browser.one("textarea").send_keys("40,70")
    assert browser.text("[data-part=doubt]") == ""


def test_values_are_copied_and_kept(browser, ages):
    browser.open_release("ages")
    evaluate(browser, "20 40")
    browser.until(lambda: rows_of(browser))
    browser.cdp("Browser.grantPermissions", permissions=["clipboardReadWrite"], origin=browser.url[:-1])
    browser.button("Copy as CSV").click()
    browser.until(lambda: "Copied." in browser.text("[data-part=results]"))
    text = browser.driver.execute_async_script("navigator.clipboard.readText().then(arguments[0])")
    check_csv(text, ages, 2)
    browser.button("Download CSV").click()
    check_csv(downloaded(browser, "ages-values.csv"), ages, 2)


def test_downloads(browser, ages, body):
    browser.open_release("ages")
    browser.driver.find_element("link text", "The release").click()
    text = downloaded(browser, "ages.json")
    copy = browser.downloads / "copy.json"
    copy.write_text(text)
    assert mercer.load(copy)(40.0) == ages(40.0)
    browser.driver.find_element("link text", "The statement").click()
    assert ages.privacy.sentence in downloaded(browser, "ages-statement.txt")
    browser.button("The curve shown").click()
    check_csv(downloaded(browser, "ages-curve.csv"), ages, 401)
    browser.open_release("body")
    browser.button("The map shown").click()
    head, *rows = csv.reader(downloaded(browser, "body-map.csv").splitlines())
    assert head == ["age", "weight", "value"]
    numbers = np.array(rows, dtype=float)
    assert len(numbers) == 101**2
    assert np.allclose(body(numbers[::97, :2]), numbers[::97, 2], rtol=1e-9, atol=1e-15)


def downloaded(browser, name):
    path = browser.downloads / name
    browser.until(lambda: path.exists() and path.read_text())
    text = path.read_text()
    path.unlink()
    return text


def check_csv(text, release, count):
    head, *rows = csv.reader(text.splitlines())
    assert head == ["age", "value", "lower", "upper"]
    x, value, lower, upper = np.array(rows, dtype=float).T
    assert len(x) == count
    band = release.band(x)
    assert np.allclose([value, lower, upper], [release(x), band.lower, band.upper], rtol=1e-9, atol=1e-15)


# two and three columns


def test_the_map_is_drawn_and_read_off(browser, body):
    browser.open_release("body")
    assert "Values outside the bounds are counted at the bounds." in browser.text("figcaption")
    shades = browser.js(
        """const canvas = document.querySelector('.surface canvas');
        const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return new Set(pixels).size"""
    )
    assert shades > 50
    found = browser.point(0.4, 0.4)
    assert [found["x"], found["y"]] == pytest.approx([40, 70], abs=0.6)
    assert found["value"] == pytest.approx(float(body([[found["x"], found["y"]]])[0]), rel=1e-9)
    surface = browser.one(".surface")
    surface.send_keys("r\ue013")  # up
    browser.until(lambda: browser.reading()["y"] > found["y"])
    browser.until(lambda: browser.text("[data-part=spoken]").startswith("age 40"))


def test_the_map_zooms_to_a_rectangle(browser, body):
    browser.open_release("body")
    browser.drag((0.2, 0.2), (0.6, 0.7))
    browser.do.release().perform()
    browser.settled()
    assert np.allclose(browser.range(), [[20, 60], [50, 100]], atol=0.5)
    found = browser.point(0.5, 0.5)
    assert found["value"] == pytest.approx(float(body([[found["x"], found["y"]]])[0]), rel=1e-9)
    browser.one(".surface").send_keys("\ue013")
    assert browser.range()[1][0] > 55
    browser.one(".surface").send_keys("0")
    assert browser.range() == [[0, 100], [30, 130]]
    browser.settled()


@pytest.mark.usefixtures("refused")
def test_values_at_pairs(browser, body):
    browser.open_release("body")
    evaluate(browser, "40 70; 60, 90")
    browser.until(lambda: len(rows_of(browser)) == 2)
    for row, value in zip(rows_of(browser), body([[40, 70], [60, 90]]), strict=True):
        assert shown(value, row[2], 5)
    evaluate(browser, "40 70 1")
    browser.until(lambda: "A point needs 2 numbers (age, weight)" in browser.text("[data-part=problem]"))
    evaluate(browser, "40 700")
    browser.until(lambda: "700 lies outside: weight from 30 to 130" in browser.text("[data-part=problem]"))


def test_three_columns_are_evaluated_but_not_drawn(browser, page_folder):
    browser.open("cube")
    assert not browser.all(".surface")
    assert "can be evaluated, but not drawn" in browser.text("main")
    evaluate(browser, "40 70 170")
    cube = mercer.load(page_folder / "cube.json")
    browser.until(lambda: rows_of(browser))
    assert shown(float(cube([[40, 70, 170]])[0]), rows_of(browser)[0][3], 5)


# live releases


def test_a_live_release_says_the_same_for_ever(browser):
    browser.open_release("waiting-room")
    assert browser.text("h1") == "Live density of age"
    assert [badge.text for badge in browser.all(".badge")] == ["Private", "Live"]
    assert browser.text("[data-part=accuracy]").startswith("Noise for privacy")
    assert not browser.all("input[type=range]")
    assert "that cannot be changed afterwards" in browser.text("main")
    assert "the same point gets the same answer for ever" in browser.text("main")
    assert "at each point by itself" in browser.text("figcaption")
    assert not browser.driver.find_elements("link text", "The release")
    browser.until(lambda: browser.text("[data-part=answers]") == "401 points answered and stored so far.")
    there = browser.point(0.4)
    evaluate(browser, f"{there['x']!r} 40.03 41.0")
    browser.until(lambda: len(rows_of(browser)) == 3)
    first = rows_of(browser)
    assert shown(there["value"], first[0][1], 5)
    browser.until(lambda: browser.text("[data-part=answers]") == "402 points answered and stored so far.")
    browser.open_release("waiting-room")
    assert browser.point(0.4) == there
    evaluate(browser, f"41.0 40.03 {there['x']!r}")
    browser.until(lambda: len(rows_of(browser)) == 3)
    assert rows_of(browser) == first[::-1]
    assert browser.text("[data-part=answers]") == "402 points answered and stored so far."


def test_zooming_into_a_live_release_asks_nothing_new(browser):
    browser.open_release("waiting-room")
    browser.requests()
    browser.button("Zoom in").click()
    browser.settled()
    assert browser.range() == [[20, 80]]
    found = browser.point(0.5)
    assert found["x"] == pytest.approx(50, abs=0.3)
    assert browser.requests() == []


# the ledger


def test_the_ledger_of_a_release(browser, tmp_path):
    """Made by the owner through the service, charged to a dataset, shown with what is left."""
    folder, data = tmp_path / "releases", tmp_path / "data"
    folder.mkdir()
    data.mkdir()
    ages = np.random.default_rng().normal(40, 10, 2000)
    (data / "ages.csv").write_text("age\n" + "\n".join(f"{age:.1f}" for age in ages))
    with serving(folder, token="0123456789abcdef" * 4, data=data) as service:
        asked = {"name": "admissions", "epsilon": 4, "delta": 0, "data": "ages.csv"}
        post(service, "datasets", asked)
        release = {
            "kind": "density",
            "data": "ages.csv",
            "dataset": "admissions",
            "columns": ["age"],
            "bounds": [[0, 100]],
        }
        post(service, "releases", {**release, "name": "first", "epsilon": 1})
        post(service, "releases", {**release, "name": "second", "epsilon": 0.5})
        with browser.elsewhere(service.url):
            browser.open_release("second")
            browser.until(lambda: browser.all("[data-part=budget]"))
            assert "admissions" in browser.text("main")
            assert "38 % of the budget is used, 62 % is left" in browser.text("[data-part=budget]")
            cells = browser.js(
                """const table = document.querySelector('[data-part=budget] ~ .scroll');
                return [...table.querySelectorAll('tbody tr')].map((row) => row.cells[2].textContent)"""
            )
            assert cells == ["1", "0.5"]


def post(service, what, body):
    request = urllib.request.Request(
        f"{service.url}api/owner/{what}",
        json.dumps(body).encode(),
        {"Authorization": "Bearer " + "0123456789abcdef" * 4, "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        assert answer.status == 201


# what goes wrong


@pytest.mark.usefixtures("refused")
def test_a_service_that_goes_away_and_comes_back(browser, page_folder):
    with serving(page_folder) as service, browser.elsewhere(service.url):
        browser.open_release("ages")
        browser.one("textarea").send_keys("20 40")
        service.stop()
        browser.button("Zoom in").click()
        browser.until(lambda: "does not answer" in browser.one("#notice").text)
        assert browser.text("h1") == "Density of age"  # what was there stays
        browser.one("textarea").send_keys("\n")
        browser.until(lambda: "does not answer" in browser.text("[data-part=problem]"))
        service.start()
        browser.button("Try again").click()
        browser.settled()
        assert not browser.one("#notice").is_displayed()
        assert browser.one("textarea").get_property("value") == "20 40"
        service.stop()
        browser.driver.find_element("partial link text", "All releases").click()
        browser.until(lambda: browser.text("h1") == "The service is away")
        service.start()
        browser.button("Try again").click()
        browser.until(lambda: browser.text("h1") == "Releases")


@pytest.mark.usefixtures("refused")
def test_a_smoothing_that_cannot_be_had(browser, page_folder):
    """The words say what is shown; the wish is granted once the service is back."""
    with serving(page_folder) as service, browser.elsewhere(service.url):
        browser.open_release("ages")
        evaluate(browser, "40")
        first = browser.until(lambda: rows_of(browser))
        before = browser.text("[data-part=bandwidth]")
        accuracy = browser.text("[data-part=accuracy]")
        start = browser.one("input[type=range]").get_property("value")
        service.stop()
        slide = """scrollTo(0, 300);
            const slider = document.querySelector('input[type=range]');
            slider.value = 200;
            slider.dispatchEvent(new Event('input'));"""
        browser.js(slide)
        browser.until(lambda: "does not answer" in browser.one("#notice").text)
        assert browser.text("[data-part=bandwidth]") == before
        assert browser.one("input[type=range]").get_property("value") == start
        assert browser.js("return scrollY") > 0
        top, bottom = browser.js(
            "const {top, bottom} = document.getElementById('notice').getBoundingClientRect(); "
            "return [top, bottom]"
        )
        assert 0 <= top < bottom <= 900
        browser.driver.execute_async_script("setTimeout(arguments[0], 400)")
        assert browser.driver.current_url.endswith("#/ages")
        assert (rows_of(browser), browser.text("[data-part=accuracy]")) == (first, accuracy)
        assert not browser.all(".earlier")
        service.start()
        browser.button("Try again").click()
        browser.until(lambda: rows_of(browser) != first)
        assert "chosen by you" in browser.text("[data-part=bandwidth]")
        assert not browser.one("#notice").is_displayed()
        browser.open("cube")  # without a picture, the table is what is shown
        evaluate(browser, "40 70 170")
        first = browser.until(lambda: rows_of(browser))
        before = browser.text("[data-part=bandwidth]")
        service.stop()
        browser.js(slide)
        browser.until(lambda: "does not answer" in browser.one("#notice").text)
        assert browser.text("[data-part=bandwidth]") == before
        assert not browser.all(".earlier")
        service.start()
        browser.button("Try again").click()
        browser.until(lambda: rows_of(browser) != first)


@pytest.mark.usefixtures("refused")
def test_a_release_that_was_withdrawn(browser, page_folder, tmp_path):
    folder, data = tmp_path / "releases", tmp_path / "data"
    folder.mkdir()
    data.mkdir()
    shutil.copy(page_folder / "ages.json", folder)
    settings = {"token": "0123456789abcdef" * 4, "data": data}
    with serving(folder, **settings) as service, browser.elsewhere(service.url):
        browser.open_release("ages")
        owner = {"Authorization": "Bearer " + "0123456789abcdef" * 4}
        gone = urllib.request.Request(f"{service.url}api/owner/releases/ages", headers=owner, method="DELETE")
        with urllib.request.urlopen(gone, timeout=PATIENCE) as answer:
            assert answer.status == 200
        browser.button("Zoom in").click()
        browser.until(lambda: "withdrawn by its owner" in browser.one("#notice").text)
        browser.open("ages")
        assert browser.text("h1") == "Withdrawn"
        assert browser.one("[role=alert]").text == "This release was withdrawn by its owner."
        browser.one("main a").click()
        browser.until(lambda: browser.text("h1") == "Releases")


def test_names_are_text_and_nothing_else(browser, tmp_path):
    folder = tmp_path / "releases"
    folder.mkdir()
    name = '<img src=x onerror="alert(1)">,"b"'
    release = mercer.density([1.0, 2.0], bounds=(0, 3), epsilon=1, columns=name)
    release.save(folder / "odd.json")
    with serving(folder) as service, browser.elsewhere(service.url):
        browser.open_release("odd")
        assert name in browser.text("main")
        assert not browser.all("main img")
        evaluate(browser, "1")
        browser.until(lambda: rows_of(browser))
        browser.button("Download CSV").click()
        head, _ = csv.reader(downloaded(browser, "odd-values.csv").splitlines())
        assert head[0] == name
        browser.size(360, 740, phone=True)
        browser.settled()
        assert browser.js("return document.documentElement.scrollWidth") <= 360


def test_an_empty_folder(browser, tmp_path):
    with serving(tmp_path) as service, browser.elsewhere(service.url):
        browser.open("")
        assert "no release here yet" in browser.text("main")


# the scripts by themselves


def module(browser, name, code):
    """The value of an expression of a module's exports, `m`."""
    return browser.driver.execute_async_script(
        f"import('/assets/{name}.js').then((m) => arguments[0](JSON.stringify({code})))"
    )


def test_ticks_are_round_and_inside(browser):
    browser.open("")
    for low, high in [
        (0, 100),
        (-3.2e-7, 9.1e-7),
        (0.1, 0.30001),
        (1e9, 1e9 + 50),
        (-5, 1e12),
        (37.123, 37.124),
    ]:
        found = json.loads(module(browser, "numbers", f"m.ticks({low!r}, {high!r}, 6)"))
        values = [tick["value"] for tick in found]
        slack = 1e-9 * (high - low)
        assert 2 <= len(values) <= 12
        assert all(low - slack <= v <= high + slack for v in values)
        assert np.allclose(np.diff(values), values[1] - values[0])
        texts = [float(tick["text"].replace(",", "")) for tick in found]
        assert len(set(texts)) == len(texts)
        assert np.allclose(texts, values, rtol=1e-6, atol=1e-3 * (values[1] - values[0]))


def test_places_have_the_digits_they_need(browser):
    browser.open("")
    code = "[m.place(50.75, 100), m.place(0, 1e-6), m.place(-2.5e-9, 1e-6), m.place(2e12 + 3e4, 1e8)]"
    assert json.loads(module(browser, "numbers", code)) == ["50.75", "0", "-2.5e-9", "2.00000003e12"]
    code = "[m.place(36.4912, 14, true), m.short(0.00001234), m.short(1234567.8), m.group('-1234.5')]"
    assert json.loads(module(browser, "numbers", code)) == ["36.49", "1.234e-5", "1,235,000", "-1,234.5"]


def test_windows_stay_inside(browser, rng):
    browser.open("")
    whole = [-20.0, 80.0]
    window = whole
    for _ in range(40):
        factor, share, step = rng.uniform(0.2, 4), rng.uniform(), rng.uniform(-2, 2)
        code = f"m.panned(m.zoomed({window}, {whole}, {factor}, {share}), {whole}, {step})"
        window = json.loads(module(browser, "windows", code))
        assert whole[0] <= window[0] < window[1] <= whole[1]
    fixed = json.loads(module(browser, "windows", "m.zoomed([0, 50], [-20, 80], 0.5, 0.2)"))
    assert fixed[0] + 0.2 * (fixed[1] - fixed[0]) == pytest.approx(10)


def test_the_slider_goes_over_the_automatic_bandwidths(browser):
    browser.open("")
    made = "new m.Way({bandwidth: [2, 9], finest: [1, 3], widest: [400, 400]}, [[0, 100], [0, 50]])"
    ends = json.loads(
        module(
            browser, "smoothing", f"((w) => [w.at(0), w.at(w.middle), w.at(1), w.find(w.at(0.3))])({made})"
        )
    )
    assert ends[:3] == [[1, 3], pytest.approx([2, 9]), pytest.approx([100, 50])]
    assert ends[3] == pytest.approx(0.3)


def test_numbers_in_words_are_written_alike(browser):
    browser.open("")
    said = "delta = 1e-06, 2.5e+07 or 3e-12 of 0.5; one row"
    assert json.loads(module(browser, "numbers", f"m.plain({said!r})")) == (
        "delta = 1e-6, 2.5e7 or 3e-12 of 0.5; one row"
    )


def test_points_are_parsed(browser):
    browser.open("")
    assert json.loads(module(browser, "numbers", "m.points(' 1,2\\n-3e2;\\u22124 ', ['a'])")) == [
        1,
        2,
        -300,
        -4,
    ]
    assert json.loads(module(browser, "numbers", "m.points('1 2\\n\\n3,4;', ['a', 'b'])")) == [[1, 2], [3, 4]]
