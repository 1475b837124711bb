"""A real service at a port of this machine, and a real Chromium that looks at its page."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mercer.server import Settings
from tests.helpers.serving import serving as threaded

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-default-apps",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
)
PATIENCE = 30  # seconds, for a machine under load; nothing waits so long when all is well


def missing() -> str | None:
    """Why the page cannot be tested here, if it cannot."""
    for path in (CHROMIUM, DRIVER):
        if shutil.which(path) is None:
            return f"{path} is missing: apt-get install chromium chromium-driver, or .ci/chromium"
    return None


class Service:
    """What `mercer serve FOLDER` runs, in a thread: it starts at once, stops and starts again."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self._settings, self._port = Settings(folder=folder, **settings), 0
        self.start()

    def start(self) -> None:
        """Start, or start again at the same address."""
        self._running = ExitStack()
        served = self._running.enter_context(threaded(self._settings, port=self._port))
        self.url, self._port = f"{served.url}/", served.port

    def stop(self) -> None:
        self._running.close()


class Browser:
    """Chromium at one service.  Reads and acts as a person would: keys, pointer, what is shown."""

    def __init__(self, url: str, profile: Path) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service as Driver

        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in (*FLAGS, f"--user-data-dir={profile / 'profile'}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.url, self.downloads = url, profile / "downloads"
        self.driver = webdriver.Chrome(options=options, service=Driver(DRIVER))
        self.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads))
        self.size(1200, 900)

    def cdp(self, command: str, **fields: Any) -> Any:
        """Chromium's own protocol."""
        return self.driver.execute_cdp_cmd(command, fields)

    def size(self, width: int, height: int, *, phone: bool = False) -> None:
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )

    def scheme(self, name: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": name}
        self.cdp("Emulation.setEmulatedMedia", features=[feature])

    def open(self, place: str, ready: str = "h1") -> None:
        """Load the page afresh at `#/place`, and wait until it shows what is `ready`."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}#/{place}")
        self.until(lambda: self.all(ready))

    def open_release(self, name: str) -> None:
        """Load a release's page, its picture included."""
        self.open(name, ".surface path.curve, .surface canvas[width]")
        self.settled()

    def js(self, code: str, *values: Any) -> Any:
        return self.driver.execute_script(code, *values)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        found = self.all(selector)
        assert len(found) == 1, f"{selector}: {len(found)} elements"
        return found[0]

    def button(self, name: str) -> Any:
        """The button of this accessible name."""
        return self.until(lambda: next((b for b in self.all("button") if b.accessible_name == name), None))

    def text(self, selector: str) -> str:
        found = self.js("return document.querySelector(arguments[0])?.textContent ?? ''", selector)
        return " ".join(found.split())

    def until(self, true: Callable[[], Any]) -> Any:
        """Wait for something to become true; elements may be replaced meanwhile."""
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, PATIENCE, 0.05, ignored_exceptions=[StaleElementReferenceException])
        return wait.until(lambda _: true())

    @property
    def do(self) -> Any:
        """A chain of actions of pointer and keys."""
        from selenium.webdriver.common.action_chains import ActionChains

        return ActionChains(self.driver, duration=0)

    def at(self, across: float, up: float = 0.5) -> tuple[int, int]:
        """A share of the drawing area, in pixels of the window; scrolled to if need be."""
        left, top, width, height = self.js(
            """const area = document.querySelector('[data-part=area]');
            document.querySelector('.surface').scrollIntoView({block: 'nearest'});
            const box = area.getBoundingClientRect();
            return [box.left, box.top, box.width, box.height];"""
        )
        return round(left + across * width), round(top + (1 - up) * height)

    def to(self, across: float, up: float = 0.5) -> Any:
        """A chain of actions that begins with the pointer over the picture."""
        chain = self.do
        chain.w3c_actions.pointer_action.move_to_location(*self.at(across, up))
        return chain

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> Any:
        """Press and move over the picture; the button stays down."""
        (x0, y0), (x1, y1) = self.at(*start), self.at(*end)
        self.to(*start).click_and_hold().move_by_offset(x1 - x0, y1 - y0).perform()

    def touch(self, places: list[tuple[float, float]]) -> None:
        """A finger put down on the picture, moved over these shares of it, and taken off."""
        from selenium.webdriver.common.actions.action_builder import ActionBuilder
        from selenium.webdriver.common.actions.pointer_input import PointerInput

        builder = ActionBuilder(self.driver, mouse=PointerInput("touch", "finger"), duration=0)
        finger = builder.pointer_action
        first, *rest = [self.at(*place) for place in places]
        finger.move_to_location(*first)
        finger.pointer_down()
        for place in rest:
            finger.pause(0.03)
            finger.move_to_location(*place)
        finger.pointer_up()
        builder.perform()

    def point(self, across: float, up: float = 0.5) -> dict[str, float]:
        """Move the pointer over the picture; what is read there, with all digits."""
        self.to(across, up).perform()
        return self.until(self.reading)

    def reading(self) -> dict[str, float] | None:
        found = self.js("return document.querySelector('[data-part=reading]').dataset.exact")
        return json.loads(found) if found else None

    def range(self) -> list[list[float]]:
        """What the axes show, from its words."""
        pairs = re.findall(r"([\d.,-]+) to ([\d.,-]+?)(?:,|$)", self.text("[data-part=range]"))
        return [[float(end.replace(",", "")) for end in pair] for pair in pairs]

    def ticks(self) -> list[str]:
        return self.js(
            "return [...document.querySelectorAll('.surface .tick')].map((one) => one.textContent)"
        )

    def settled(self) -> None:
        """Wait until a new window or smoothing is drawn."""
        self.until(lambda: self.js("return !document.querySelector('[aria-busy]')"))

    def requests(self) -> list[str]:
        """Addresses asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def foreign(self) -> list[str]:
        """Addresses of other places asked for since the last call."""
        own = urlsplit(self.url).netloc
        return [
            url
            for url in self.requests()
            if urlsplit(url).scheme not in ("about", "blob") and urlsplit(url).netloc != own
        ]

    def complaints(self) -> list[str]:
        """What the browser's console holds since the last call: errors, warnings, refusals of CSP."""
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] not in ("INFO", "DEBUG")
        ]

    @contextmanager
    def elsewhere(self, url: str) -> Iterator[None]:
        """Look at another service for a while."""
        assert self.foreign() == []
        here, self.url = self.url, url
        try:
            yield
            assert self.foreign() == []
        finally:
            self.driver.get("about:blank")
            self.url = here

    def close(self) -> None:
        self.driver.quit()


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[Service]:
    service = Service(folder, **settings)
    try:
        yield service
    finally:
        service.stop()
