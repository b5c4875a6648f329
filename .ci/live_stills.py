"""Photograph the built live pages for the stills that stand in their place: book/assets/live/*.png.

    python .ci/live_stills.py       after `make book` and `bash .ci/environment browser`; look at them, and commit them

A still is as wide as the book's text on a large screen, and as high as its page: when the page takes its place, nothing
below it moves.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

from open_one_page import FLAGS
from PIL import Image
from playwright.sync_api import FloatRect, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
STILLS = ROOT / "book" / "assets" / "live"
WIDTH, SHARPNESS = 790, 1.5  # [px], and dots a pixel
LARGEST = 150_000  # [bytes]


def as_it_opens(page: Page) -> None:
    """Until the arm rests: where no graphics card helps, only a still arm is drawn sharp."""
    page.wait_for_function("!outOfRank.running")
    page.wait_for_timeout(2000)


def move_the_target(page: Page) -> None:
    """Some seconds of a reader's keys, so that the curves have something to show."""
    for key in ["ArrowUp"] * 8 + ["PageUp"] * 8 + ["ArrowDown"] * 8 + ["PageDown"] * 8:
        page.locator("#picture").press(key)
        page.wait_for_timeout(150)
    page.evaluate("document.activeElement.blur()")
    as_it_opens(page)


PICTURES = {
    "panda": ("panda.html#drag", move_the_target),
    "panda_map": ("panda.html#map", as_it_opens),
    "planar": ("planar.html", as_it_opens),
}


def few_colours(picture: bytes) -> bytes:
    """A palette that keeps the rare colours, the target's among them."""
    small, whole = io.BytesIO(), Image.open(io.BytesIO(picture)).convert("RGB")
    whole.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(small, "png", optimize=True)
    return small.getvalue()


def main() -> None:
    browser_path = os.environ.get("OUT_OF_RANK_BROWSER") or (ROOT / ".venv" / ".browser").read_text()
    STILLS.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        for name, (address, prepare) in PICTURES.items():
            page = browser.new_page(
                viewport={"width": WIDTH, "height": 900}, device_scale_factor=SHARPNESS, color_scheme="light"
            )
            page.goto(f"{(ROOT / '_build' / 'live').as_uri()}/{address}")
            page.evaluate("outOfRank.ready.then(() => 0)")
            prepare(page)
            whole = FloatRect(x=0, y=0, width=WIDTH, height=page.evaluate("document.body.offsetHeight"))
            picture = few_colours(page.screenshot(full_page=True, clip=whole, timeout=120_000))
            if len(picture) > LARGEST:
                sys.exit(f"{name}.png would have {len(picture)} bytes, more than {LARGEST}")
            (STILLS / f"{name}.png").write_bytes(picture)
            print(f"   {name}.png {len(picture) / 1000:.0f} kB")
        browser.close()


if __name__ == "__main__":
    main()
