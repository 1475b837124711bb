"""The page for everybody: by keyboard, by screen reader, on a phone, in the dark."""

from __future__ import annotations

import itertools

import pytest

pytestmark = pytest.mark.usefixtures("quiet")

TAB, ENTER = "\ue004", "\ue007"
PLACES = ["", "ages", "body", "cube", "trial", "waiting-room"]
CONTROLS = {
    "button",
    "link",
    "textbox",
    "slider",
    "application",
    "checkbox",
    "combobox",
    "table",
    "region",
    "image",
    "DisclosureTriangle",
    "Canvas",
}

# every piece of text with its colour, and the first opaque colour behind it
CONTRASTS = """
const parse = (text) => text.match(/[\\d.]+/g).map(Number);
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (node) => {
  for (let at = node; at; at = at.parentElement) {
    const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
    if (a === 1) return [r, g, b];
  }
  return [255, 255, 255];
};
const out = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !node.checkVisibility() || node.closest('.unseen, noscript, .skip')) continue;
  const style = getComputedStyle(node);
  const ink = parse(node.closest('svg') ? style.fill : style.color).slice(0, 3);
  const [light, dark] = [luminance(ink), luminance(behind(node))].sort((a, b) => b - a);
  out.push([walker.currentNode.data.trim().slice(0, 40), (light + 0.05) / (dark + 0.05)]);
}
return out;
"""


def full(browser, place):
    """A page with everything on it: results, and the table of the curve opened."""
    if place in ("ages", "body", "trial", "waiting-room"):
        browser.open_release(place)
    else:
        browser.open(place)
    for summary in browser.all("summary"):
        summary.click()
    if place:
        first = {"body": "40 70", "cube": "40 70 170"}.get(place, "40")
        browser.one("textarea").send_keys(first + ENTER)
        browser.until(lambda: browser.all("[data-part=results] td"))


def focused(browser):
    return browser.driver.switch_to.active_element


def test_by_keyboard_alone(browser):
    """Tab to the list, Enter, Tab to the box, type, Enter; each stop can be seen."""
    browser.open("", ".card")
    browser.js("document.activeElement.blur()")
    press(browser, TAB)
    assert focused(browser).text == "Skip to the content"
    walk(browser, lambda: focused(browser).text == "ages")
    press(browser, ENTER)
    browser.until(lambda: browser.text("h1") == "Density of age")
    browser.until(lambda: focused(browser).tag_name == "h1")
    browser.settled()
    walk(browser, lambda: focused(browser).tag_name == "textarea")
    press(browser, "40 41" + ENTER)
    browser.until(lambda: len(browser.all("[data-part=results] tbody tr")) == 2)
    walk(browser, lambda: focused(browser).text == "Copy as CSV")
    walk(browser, lambda: focused(browser).text == "What the service answers")  # no trap on the way


def press(browser, keys):
    browser.do.send_keys(keys).perform()


def walk(browser, there, most=40):
    for _ in range(most):
        press(browser, TAB)
        seen = browser.js(
            """const at = document.activeElement;
            const ring = (node) => node && parseFloat(getComputedStyle(node).outlineWidth) >= 2
              && getComputedStyle(node).outlineStyle !== 'none';
            return ring(at) || ring(at.closest('.card')) || at === document.body"""
        )
        assert seen, f"focus cannot be seen: {focused(browser).get_attribute('outerHTML')[:200]}"
        if there():
            return
    raise AssertionError("not reached by Tab")


def test_the_skip_link_skips_and_keeps_the_address(browser):
    browser.open_release("ages")
    press(browser, TAB)
    assert focused(browser).get_attribute("id") == "skip"
    assert browser.one("#skip").rect["y"] >= 0
    press(browser, ENTER)
    assert focused(browser).tag_name == "main"
    assert browser.driver.current_url.endswith("#/ages")


@pytest.mark.parametrize("place", PLACES)
def test_every_control_has_a_name(browser, place):
    """As Chromium computes it for screen readers."""
    full(browser, place)
    nodes = browser.cdp("Accessibility.getFullAXTree")["nodes"]
    found = [
        (node["role"]["value"], node["name"]["value"])
        for node in nodes
        if not node["ignored"] and node["role"]["value"] in CONTROLS
    ]
    assert len(found) > 4
    assert [role for role, name in found if not name.strip()] == []
    roles = [node["role"]["value"] for node in nodes if not node["ignored"]]
    assert [roles.count(role) for role in ("banner", "main", "contentinfo")] == [1, 1, 1]


def test_a_nameless_control_would_be_seen(browser):
    browser.open("ages")
    browser.js("document.querySelector('label[for^=points]').remove()")
    box = browser.one("textarea")
    browser.js("arguments[0].removeAttribute('placeholder')", box)
    assert box.accessible_name == ""


@pytest.mark.parametrize("place", PLACES)
def test_headings_are_in_order(browser, place):
    full(browser, place)
    levels = [int(node.tag_name[1]) for node in browser.all("h1, h2, h3, h4, h5, h6")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", PLACES)
def test_contrast(browser, place, scheme):
    """WCAG AA: 4.5 to 1 for all text, whatever its size."""
    browser.scheme(scheme)
    full(browser, place)
    if place == "ages":
        browser.one("textarea").send_keys(" 999" + ENTER)
        browser.until(lambda: "outside" in browser.text("[data-part=problem]"))
        browser.point(0.5)
    found = browser.js(CONTRASTS)
    assert len(found) > 20
    assert {text: round(ratio, 2) for text, ratio in found if ratio < 4.5} == {}


def test_weak_contrast_would_be_seen(browser):
    browser.open("")
    browser.js("document.querySelector('h1').style.setProperty('color', '#808080')")
    assert min(browser.js(CONTRASTS), key=lambda pair: pair[1])[0] == "Releases"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_and_edges_can_be_seen(browser, scheme):
    """WCAG AA: 3 to 1 for what is needed to see the curve, the band and the controls."""
    browser.scheme(scheme)
    browser.open_release("ages")
    browser.point(0.5)
    ratios = browser.js(
        """const parse = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const light = (text) => { const [r, g, b] = parse(text).map((v) => v / 255)
          .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05; };
        const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort(); return Math.max(x, y) / Math.min(x, y); };
        const style = (name) => getComputedStyle(document.querySelector(name));
        const sheet = style('.surface').backgroundColor;
        const paper = getComputedStyle(document.body).backgroundColor;
        return {
          curve: ratio(style('path.curve').stroke, sheet),
          curveOnBand: ratio(style('path.curve').stroke, style('.band').fill),
          bandEdge: ratio(style('.edge').stroke, sheet),
          cross: ratio(style('.cross').stroke, sheet),
          axis: ratio(style('.axis').stroke, sheet),
          box: ratio(style('textarea').borderTopColor, paper),
          button: ratio(style('button').borderTopColor, paper),
        };"""
    )
    assert {name: ratio for name, ratio in ratios.items() if ratio < 3} == {}


@pytest.mark.usefixtures("refused")
@pytest.mark.parametrize("place", PLACES)
def test_a_phone_needs_no_sideways_scrolling(browser, place):
    browser.size(360, 740, phone=True)
    full(browser, place)
    if place in ("ages", "trial"):
        browser.one("textarea").send_keys(" 999" + ENTER)
        browser.until(lambda: "outside" in browser.text("[data-part=problem]"))
    assert browser.js("return document.documentElement.scrollWidth") <= 360
    tables = browser.js(
        """return [...document.querySelectorAll('.scroll')]
        .map((box) => [box.checkVisibility(), box.scrollWidth - box.clientWidth])"""
    )
    assert tables == [[True, 0]] * len(tables)  # the band's upper end is in sight
    assert bool(place) == bool(tables)
    small = [
        node.accessible_name
        for node in browser.all("button:not(.link), input, textarea, summary")
        if node.is_displayed() and min(node.rect["width"], node.rect["height"]) < 24
    ]
    assert small == []  # WCAG 2.2 AA: targets of 24 pixels


def test_a_finger_reads_selects_and_scrolls(browser):
    browser.size(360, 740, phone=True)
    browser.cdp("Emulation.setTouchEmulationEnabled", enabled=True)
    try:
        browser.open_release("body")
        assert browser.text("[data-part=reading]").startswith("Tap the picture")
        assert "Shift" not in browser.text("form")
        browser.open_release("ages")
        assert "Enter" not in browser.text("form")
        browser.touch([(0.4, 0.5)])
        assert browser.until(browser.reading)["x"] == pytest.approx(40, abs=0.7)
        browser.touch([(0.3, 0.5), (0.35, 0.5), (0.45, 0.5), (0.6, 0.5)])
        browser.settled()
        assert browser.range()[0] == pytest.approx([30, 60], abs=0.7)
        assert browser.js("return scrollY") == 0
        browser.touch([(0.5, 0.0), (0.5, 0.3), (0.5, 0.6), (0.5, 1.0)])
        browser.until(lambda: browser.js("return scrollY") > 20)
        assert browser.range()[0] == pytest.approx([30, 60], abs=0.7)
    finally:
        browser.cdp("Emulation.setTouchEmulationEnabled", enabled=False)


def test_text_twice_as_large(browser):
    """At 200 % on a small laptop, which is a window of half its size."""
    browser.size(640, 400)
    full(browser, "ages")
    assert browser.js("return document.documentElement.scrollWidth") <= 640


def test_results_and_readings_are_announced(browser):
    full(browser, "ages")
    assert browser.one("[data-part=spoken]").get_attribute("aria-live") == "polite"
    assert browser.one("[data-part=problem]").get_attribute("role") == "alert"
    assert any(
        "Density 0." in browser.js("return arguments[0].textContent", node)
        for node in browser.all("[role=status]")
    )


def test_shades_of_the_map_keep_their_order_in_grey(browser):
    browser.open_release("body")
    lights = browser.js(
        """return [...document.querySelectorAll('linearGradient stop')].map((stop) => {
          const [r, g, b] = stop.getAttribute('stop-color').match(/\\d+/g).map((v) => v / 255)
            .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
          return Math.cbrt(0.2126 * r + 0.7152 * g + 0.0722 * b); })"""
    )
    steps = [after - before for before, after in itertools.pairwise(lights)]
    assert min(steps) > 0.5 * max(steps)


def test_nothing_is_kept_in_the_browser(browser):
    full(browser, "ages")
    browser.one("input[type=range]").send_keys("\ue014" * 5)
    browser.until(lambda: "bandwidth=" in browser.driver.current_url)
    assert browser.js("return [localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
