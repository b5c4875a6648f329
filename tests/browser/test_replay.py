"""Replay, collapse map and sweep in the Panda page: what the browser shows is what Python computed."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import ikcourse as ik
from ikcourse.studies import collapse_map, ends
from tests.needs import cannot

ROOT = Path(__file__).resolve().parents[2]
RESULTS, MAPDATA = ROOT / "results", ROOT / "book" / "live" / "mapdata.mjs"
SAID = {"healthy": "home", "collapse": "folded", "undecided": "undecided"}
RUN_MS, SWEEP_MS = 60_000, 400_000
WINDOW: dict[str, Any] = {"viewport": {"width": 700, "height": 800}}
STRIDE = 3  # the columns that a sweep runs first

DECODE = """
import { readFileSync } from "node:fs";
import { decodeMap } from %s;
const map = decodeMap(new Uint8Array(readFileSync(process.argv[1])));
const range = (n) => [...Array(n).keys()];
const { gains, reaches, dampings } = map;
const pixels = range(gains.length).map((g) => range(reaches.length).map((r) =>
  range(dampings.length).map((d) => Object.values(map.pixel(g, r, d)))));
console.log(JSON.stringify({ gains: [...gains], reaches: [...reaches], dampings: [...dampings], pixels }));
"""


@pytest.fixture(scope="module")
def found() -> collapse_map.Map:
    return collapse_map.load(RESULTS / collapse_map.FILE)


# --- the file, as the page's own module reads it ---------------------------------------------------------------------


def decoded(file: Path) -> dict:
    """What `mapdata.mjs` reads in a file."""
    node = shutil.which("node")
    if node is None:
        cannot("the page's modules run in Node, which this machine does not have")
    script = DECODE % json.dumps(MAPDATA.as_uri())
    done = subprocess.run(
        [node, "--input-type=module", "-e", script, str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)


def test_the_page_reads_every_pixel_of_the_map(found: collapse_map.Map) -> None:
    read, grid, pixels = decoded(RESULTS / collapse_map.BINARY), found.grid, found.pixels
    assert tuple(read["gains"]) == grid.gains
    assert tuple(read["reaches"]) == grid.reaches
    assert tuple(read["dampings"]) == grid.dampings
    state, sensitive, error, drift = (np.array(plane) for plane in np.moveaxis(np.array(read["pixels"], object), 3, 0))
    assert (state == np.array([state.value for state in collapse_map.STATES])[pixels["state"]]).all()
    assert (sensitive.astype(bool) == pixels["sensitive"]).all()
    for mine, name in ((error, "final_error_m"), (drift, "drift_rad")):
        assert np.abs(mine.astype(float) - np.minimum(pixels[name], 6.5535)).max() < 0.51e-4


def without_name(data: bytes) -> bytes:
    return b"MOOR" + data[4:]


def one_row_more(data: bytes) -> bytes:
    return data[:8] + (int.from_bytes(data[8:12], "little") + 1).to_bytes(4, "little") + data[12:]


def a_fourth_state(data: bytes) -> bytes:
    sizes = np.frombuffer(data, "<u4", 3, offset=4)
    first = 16 + 8 * int(sizes.sum())
    return data[:first] + b"\x03" + data[first + 1 :]


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (without_name, "no collapse map"),
        (lambda data: data[:-1], "bytes; got"),
        (lambda data: data[:10], "no collapse map"),
        (one_row_more, "bytes; got"),
        (a_fourth_state, "a state that has no name"),
    ],
)
def test_a_file_that_is_no_whole_map_is_refused(tmp_path: Path, broken: Callable[[bytes], bytes], words: str) -> None:
    file = tmp_path / "map.bin"
    file.write_bytes(broken((RESULTS / collapse_map.BINARY).read_bytes()))
    with pytest.raises(ValueError, match=words):
        decoded(file)


# --- the panel -------------------------------------------------------------------------------------------------------


class Panel:
    """The replay panel as a reader uses it, on a page that has been opened."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.evaluate("async () => { await outOfRank.ready; }")
        page.locator("#replay-part > summary").click()

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def set(self, slider: str, value: float) -> None:
        """Put a range input on a value, as a hand does: it takes the nearest notch."""
        self.page.locator(f"#{slider}").evaluate(
            "(input, value) => { input.value = value; input.dispatchEvent(new Event('input', {bubbles: true})); }",
            value,
        )

    def run(self) -> str:
        """Run the reach, and what is said of its end."""
        self.page.get_by_role("button", name="Run the reach").click()
        end = self.page.locator(".reach-end[data-state]", has_text="Final error")
        self.page.locator(".reach-run[aria-disabled=false]").wait_for(timeout=RUN_MS)
        end.wait_for(timeout=RUN_MS)
        return end.inner_text()

    def numbers(self) -> list[int]:
        """Runs done, of how many, and how many end as in the map: of the sweep that runs or has ended."""
        running = self.page.locator(".sweep-count:visible")
        words = running.inner_text() if running.count() else self.text(".sweep-verdict")
        match = re.search(r"(\d+) of (\d+) runs.*?(\d+) end as in the committed map", words)
        assert match, words
        return [int(group) for group in match.groups()]

    def flagged(self) -> int:
        """Of the runs that end otherwise, those that the map calls sensitive."""
        match = re.search(r"the map calls (\d+) sensitive", self.text(".sweep-verdict"))
        return int(match[1]) if match else 0


@pytest.fixture
def panel(visit: Callable[..., Page], live: Path) -> Panel:
    return Panel(visit(live, "panda.html", **WINDOW))


@pytest.fixture
def empty_page(browser: Browser) -> Iterator[Page]:
    """A page that is broken before it is opened: what it complains of is not judged."""
    context = browser.new_context(**WINDOW)
    page = context.new_page()
    page.set_default_timeout(RUN_MS)
    yield page
    context.close()


@pytest.mark.parametrize(("power", "word", "shape"), [(-3, "Folded.", "collapse"), (-2, "Home.", "healthy")])
def test_the_reach_ends_as_in_python(panel: Panel, power: int, word: str, shape: str) -> None:
    panel.set("damping", power)
    words = panel.run()
    run = ik.track(ik.panda(), ik.reach_and_return(ik.panda(), 0.70), ik.DampedLeastSquares(10.0**power))
    assert ends.end_state(run).value == shape
    assert words.startswith(word)
    said = re.search(r"Final error ([\d.]+) mm, drift ([\d.]+) rad", words)
    assert said, words
    assert abs(float(said[1]) - 1e3 * run.position_error[-1]) < 5
    assert abs(float(said[2]) - run.distance_from_home.max()) < 0.01
    clips = np.flatnonzero(run.clipped)
    if len(clips):
        assert f"clipped steps at {clips[0] * 0.002:.2f} s" in words
    else:
        assert "no step was clipped" in words
    assert panel.page.locator(f".map-dot.{shape}:not(.hollow)").count() == 1


def test_an_undecided_end_says_why(panel: Panel) -> None:
    panel.page.locator("#kind").select_option("truncated")
    panel.set("damping", np.log10(0.02))
    law = ik.TruncatedSVD(10 ** float(panel.page.locator("#damping").input_value()))
    end = ends.end(ik.track(ik.panda(), ik.reach_and_return(ik.panda(), 0.70), law))
    assert end.state is ends.EndState.UNDECIDED
    assert panel.run().startswith(f"Undecided: {end.reason.value}.")


def test_a_run_at_other_settings_is_hollow_and_says_why(panel: Panel) -> None:
    panel.set("nullspaceGain", 0.2)
    panel.run()
    assert panel.page.locator(".map-dot.hollow").count() == 1
    assert "A hollow dot on the map, which holds no run with gain 0.2." in panel.text(".reach-end + .note")


def test_the_map_turns_to_the_plane_of_the_gain(panel: Panel, found: collapse_map.Map) -> None:
    pressed = panel.page.locator(".map-head button[aria-pressed=true]")
    assert pressed.inner_text() == f"gain {found.grid.gains[0]:g}"
    panel.set("nullspaceGain", found.grid.gains[1])
    assert pressed.inner_text() == f"gain {found.grid.gains[1]:g}"
    panel.page.get_by_role("button", name=f"gain {found.grid.gains[0]:g}", exact=True).click()
    assert float(panel.page.locator("#nullspaceGain").input_value()) == found.grid.gains[0]


def test_the_map_is_painted_in_the_colours_of_the_ends_and_of_the_theme(panel: Panel, found: collapse_map.Map) -> None:
    pixels = found.pixels[0]
    rows, columns = pixels.shape

    def colour(row: int, column: int) -> tuple[int, ...]:
        share = [(column + 0.5) / columns, (rows - row - 0.5) / rows]
        read = """([x, y]) => {
          const { width, height } = document.querySelector(".map-field canvas");
          const brush = document.querySelector(".map-field canvas").getContext("2d");
          return [...brush.getImageData(Math.floor(x * width), Math.floor(y * height), 1, 1).data];
        }"""
        return tuple(panel.page.evaluate(read, share)[:3])

    def one(state: str, near: float, far: float) -> tuple[int, int]:
        """A run of a state whose final error lies between two, and that has no dot on it."""
        alike = pixels["state"] == [end.value for end in collapse_map.STATES].index(state)
        error = pixels["final_error_m"]
        row, column = np.argwhere(alike & ~pixels["sensitive"] & (error >= near) & (error < far))[0]
        return int(row), int(column)

    panel.page.locator(".map-field").wait_for()
    home, behind = one("healthy", 0, 0.01), one("healthy", 0.05, 0.1)
    folded, undecided = one("collapse", 0.3, 1), one("undecided", 0, 9)
    assert colour(*home) == (255, 255, 255)
    red, green, blue = colour(*behind)
    assert red < green < blue
    red, green, blue = colour(*folded)
    assert red > 2 * green > 2 * blue
    assert colour(*undecided) in {(0, 0, 0), (0x7D, 0x8A, 0x94)}  # and its hatch
    panel.page.evaluate("document.documentElement.dataset.theme = 'dark'")
    expect(panel.page.locator("html")).to_have_attribute("data-theme", "dark")
    panel.page.wait_for_timeout(100)
    assert colour(*home) == (0x14, 0x18, 0x1C)


def described(found: collapse_map.Map, g: int, r: int, d: int) -> str:
    """What the page says of a run of the map."""
    pixel, damping = found.pixels[g, r, d], found.grid.dampings[d]
    mantissa, power = f"{damping:.1e}".split("e")
    words = f"λ {mantissa}e{int(power):+d}"
    state = SAID[collapse_map.STATES[pixel["state"]].value]
    tail = "; a reach 1 nm longer ends otherwise" if pixel["sensitive"] else ""
    off, drift = (np.rint(float(pixel[name]) * 1e4) / 1e4 for name in ("final_error_m", "drift_rad"))
    error = f"{1e3 * off:.{1 if off < 0.1 else 0}f} mm off"
    return f"{words}, {found.grid.reaches[r]:.4f} m: {state}, {error}, drift {drift:.2f} rad{tail}."


def test_a_click_on_the_map_takes_its_own_doubles(panel: Panel, found: collapse_map.Map) -> None:
    field = panel.page.locator(".map-field canvas")
    field.scroll_into_view_if_needed()
    box = field.bounding_box()
    assert box
    rows, columns = len(found.grid.reaches), len(found.grid.dampings)
    for r, d in ((rows // 3, columns // 2), (rows - 1, 0), (2, columns - 2)):
        panel.page.mouse.click(
            box["x"] + (d + 0.5) / columns * box["width"], box["y"] + (rows - r - 0.5) / rows * box["height"]
        )
        assert panel.page.evaluate("outOfRank.settings.damping") == found.grid.dampings[d]
        assert panel.text("#map-readout") == described(found, 0, r, d)


def test_arrow_keys_go_from_run_to_run(panel: Panel, found: collapse_map.Map) -> None:
    rows, columns = len(found.grid.reaches), len(found.grid.dampings)
    field = panel.page.locator(".map-field")
    field.focus()
    field.press("Home")
    for _ in range(rows // 8 + 1):
        field.press("PageDown")
    assert panel.text("#map-readout") == described(found, 0, 0, 0)
    for key, place in (
        ("ArrowDown", (0, 0)), ("ArrowUp", (1, 0)), ("ArrowRight", (1, 1)), ("ArrowUp", (2, 1)), ("ArrowLeft", (2, 0)),
        ("PageUp", (10, 0)), ("End", (10, columns - 1)), ("ArrowRight", (10, columns - 1)),
    ):  # fmt: skip
        field.press(key)
        assert panel.text("#map-readout") == described(found, 0, *place)


def test_settings_beyond_the_map_are_said(panel: Panel) -> None:
    panel.set("reach", 0.65)
    assert panel.text("#map-readout").startswith("Your settings lie outside the map.")
    panel.set("reach", 0.72)
    assert "outside" not in panel.text("#map-readout")


def test_the_scrubber_says_where_it_is(panel: Panel) -> None:
    panel.set("damping", -3)
    panel.run()
    run = ik.track(ik.panda(), ik.reach_and_return(ik.panda(), 0.70), ik.DampedLeastSquares(1e-3))
    scrubber = panel.page.get_by_label("time in the run")
    scrubber.press("Home")
    scrubber.press("ArrowRight")
    for k in (25, 50):
        words = scrubber.get_attribute("aria-valuetext") or ""
        error = f"error {1e3 * run.position_error[k]:.1f} mm"
        elbow = f"elbow {run.q[k, 3]:.2f} rad".replace("-", "−")
        assert words == f"{0.002 * k:.2f} s: {error}, {elbow}"
        scrubber.press("ArrowRight")
    scrubber.press("End")
    assert (scrubber.get_attribute("aria-valuetext") or "").startswith("6.00 s")
    assert panel.text(".player-clock") == "6.00 of 6 s"


@pytest.mark.parametrize("modifier", ["altKey", "ctrlKey", "metaKey"])
def test_the_browsers_own_keys_stay_the_browsers(panel: Panel, modifier: str) -> None:
    panel.run()
    assert panel.page.get_by_label("time in the run").evaluate(
        """(scrubber, modifier) => scrubber.dispatchEvent(
             new KeyboardEvent("keydown", { key: "ArrowLeft", [modifier]: true, cancelable: true }))""",
        modifier,
    )


def test_playing_moves_until_it_is_paused(panel: Panel) -> None:
    panel.run()
    scrubber = panel.page.get_by_label("time in the run")
    panel.page.wait_for_function("Number(document.querySelector('.player input').value) > 50", timeout=RUN_MS)
    panel.page.get_by_role("button", name="Pause the run").click()
    stands = scrubber.input_value()
    panel.page.wait_for_timeout(300)
    assert scrubber.input_value() == stands
    status = panel.page.locator("#status")
    expect(status).to_contain_text("The picture shows the replay")
    panel.page.get_by_role("button", name="Back to the live arm").click()
    expect(scrubber).to_be_hidden()
    expect(status).to_have_text("The picture shows the live arm again.")


def test_a_hand_on_the_live_arm_pauses_the_replay(panel: Panel) -> None:
    panel.run()
    panel.page.get_by_role("button", name="Pause the run").wait_for()
    panel.page.locator("#picture").press("ArrowUp")
    panel.page.get_by_role("button", name="Play the run").wait_for()
    steps = panel.page.evaluate("outOfRank.steps")
    panel.page.wait_for_function(f"outOfRank.steps > {steps}", timeout=RUN_MS)


def test_closing_the_panel_frees_the_live_arm(panel: Panel) -> None:
    panel.run()
    panel.page.get_by_role("button", name="Pause the run").click()
    panel.page.locator(".sweep-button").click()
    panel.page.locator("#replay-part > summary").click()
    panel.page.locator("#picture").press("ArrowUp")
    steps = panel.page.evaluate("outOfRank.steps")
    panel.page.wait_for_function(f"outOfRank.steps > {steps}", timeout=RUN_MS)
    panel.page.locator("#replay-part > summary").click()
    expect(panel.page.get_by_label("time in the run")).to_be_hidden()
    expect(panel.page.locator(".sweep-verdict")).to_contain_text("Stopped.", timeout=RUN_MS)


def test_a_panel_that_is_closed_while_it_runs_never_takes_the_picture(panel: Panel) -> None:
    panel.page.locator(".reach-run").wait_for()
    panel.page.evaluate(
        "document.querySelector('.reach-run').click(); document.querySelector('#replay-part').open = false"
    )
    panel.page.wait_for_function(
        "document.querySelector('.reach-end').textContent.includes('Final error')", timeout=RUN_MS
    )
    assert panel.page.locator(".player").get_attribute("hidden") is not None
    assert "replay" not in panel.text("#status")


def test_with_less_motion_the_end_is_shown_and_nothing_plays(visit: Callable[..., Page], live: Path) -> None:
    panel = Panel(visit(live, "panda.html", reduced_motion="reduce", **WINDOW))
    panel.run()
    scrubber = panel.page.get_by_label("time in the run")
    assert scrubber.input_value() == scrubber.get_attribute("max")
    panel.page.wait_for_timeout(300)
    assert scrubber.input_value() == scrubber.get_attribute("max")
    scrubber.press("Home")
    assert scrubber.input_value() == "0"


# --- the sweep -------------------------------------------------------------------------------------------------------


def aim(panel: Panel, found: collapse_map.Map, reach: float) -> int:
    """Turn to the map's row that is nearest to a reach."""
    row = int(np.abs(np.array(found.grid.reaches) - reach).argmin())
    panel.set("reach", found.grid.reaches[row])
    expect(panel.page.locator(".sweep-button")).to_have_text(f"Sweep this row ({found.grid.reaches[row]:.4f} m)")
    return row


def test_every_third_run_of_a_row_ends_as_in_the_committed_map(panel: Panel, found: collapse_map.Map) -> None:
    """Through the tongue and the coin toss: in all runs that are not flagged, and in 98 % of all."""
    aim(panel, found, 0.713)
    thirds = len(range(0, len(found.grid.dampings), STRIDE))
    panel.page.locator(".sweep-button").click()
    panel.page.wait_for_function(
        f"document.querySelector('.sweep-line progress').value >= {thirds}", timeout=SWEEP_MS, polling=200
    )
    panel.page.locator(".sweep-button").click()
    expect(panel.page.locator(".sweep-verdict")).to_contain_text("Stopped.", timeout=RUN_MS)
    done, of, alike = panel.numbers()
    assert done >= thirds
    assert of == len(found.grid.dampings)
    assert done - alike == panel.flagged()
    assert alike >= 0.98 * done


def test_the_swept_row_is_framed_on_its_own_plane(panel: Panel, found: collapse_map.Map) -> None:
    row, frame = aim(panel, found, 0.72), panel.page.locator(".map-swept")
    expect(frame).to_be_hidden()
    panel.page.locator(".sweep-button").click()
    panel.page.locator(".sweep-button").click()
    box, field = frame.bounding_box(), panel.page.locator(".map-field canvas").bounding_box()
    assert box
    assert field
    middle = field["y"] + field["height"] * (1 - (row + 0.5) / len(found.grid.reaches))
    assert abs(box["y"] + box["height"] / 2 - middle) < 1
    panel.set("nullspaceGain", found.grid.gains[1])
    expect(frame).to_be_hidden()
    panel.set("nullspaceGain", found.grid.gains[0])
    expect(frame).to_be_visible()


def test_a_sweep_that_is_stopped_says_so_and_can_be_begun_again(panel: Panel, found: collapse_map.Map) -> None:
    aim(panel, found, 0.71)
    button, verdict = panel.page.locator(".sweep-button"), panel.page.locator(".sweep-verdict")
    button.click()
    expect(button).to_have_text("Stop the sweep")
    panel.page.wait_for_function("document.querySelector('.sweep-line progress').value >= 2", timeout=RUN_MS)
    assert panel.run().startswith("Folded.")  # between two runs of the row
    expect(button).to_have_text("Stop the sweep")
    button.click()
    expect(verdict).to_contain_text("Stopped.", timeout=RUN_MS)
    expect(button).to_contain_text("Sweep this row")
    expect(panel.page.locator(".sweep-line progress")).to_be_hidden()
    done, of, _ = panel.numbers()
    assert 2 <= done < of
    panel.page.wait_for_timeout(500)
    assert panel.numbers()[0] == done
    button.click()
    panel.page.wait_for_function("document.querySelector('.sweep-line progress').value >= 1", timeout=RUN_MS)
    assert panel.numbers()[0] < done + of // 2
    button.click()


def test_a_sweep_keeps_to_the_maps_settings_and_says_so(panel: Panel, found: collapse_map.Map) -> None:
    """What it asks the worker for: the map's own doubles, every third column first."""
    panel.page.evaluate(
        """() => {
          globalThis.asked = [];
          const send = Worker.prototype.postMessage;
          Worker.prototype.postMessage = function (data) {
            if (data.settings) asked.push(data);
            send.call(this, data);
          };
        }"""
    )
    grid, page = found.grid, panel.page
    panel.set("integrationDt", np.log10(0.2))
    panel.set("maxJointSpeed", 0)
    panel.set("nullspaceGain", grid.gains[1])
    row = aim(panel, found, 0.73)
    page.locator(".sweep-button").click()
    words = "With the map's settings, not yours: you have integration_dt 0.2 s and a bound of 1 rad/s."
    expect(page.locator(".sweep-verdict")).to_contain_text(words)
    page.wait_for_function("document.querySelector('.sweep-line progress').value >= 4", timeout=RUN_MS)
    page.locator(".sweep-button").click()
    expect(page.locator(".sweep-verdict")).to_contain_text("Stopped.", timeout=RUN_MS)
    asked = page.evaluate("asked")
    assert len(asked) >= 4
    assert {one["reach"] for one in asked} == {grid.reaches[row]}
    assert [one["settings"].pop("damping") for one in asked] == list(grid.dampings[::STRIDE][: len(asked)])
    loop = {"kind": "damped", "nullspaceGain": grid.gains[1], "integrationDt": 1, "maxJointSpeed": None}
    assert all(one["settings"] == loop for one in asked)


def with_one_run_falsified(data: bytes, found: collapse_map.Map, row: int) -> bytes:
    """The map's file with another state in the first run of a row, gain 0, and no flag on it."""
    sizes = np.frombuffer(data, "<u4", 3, offset=4)
    place = 16 + 8 * int(sizes.sum()) + row * len(found.grid.dampings)
    state = (int(found.pixels["state"][0, row, 0]) + 1) % len(collapse_map.STATES)
    return data[:place] + bytes([state]) + data[place + 1 :]


def test_a_run_that_ends_otherwise_than_in_the_map_is_counted_and_marked(
    empty_page: Page, live: Path, tmp_path: Path, found: collapse_map.Map
) -> None:
    row = int(np.abs(np.array(found.grid.reaches) - 0.713).argmin())
    broken = with_one_run_falsified((RESULTS / collapse_map.BINARY).read_bytes(), found, row)
    shutil.copytree(live, tmp_path / "live")
    text = f'globalThis.OUT_OF_RANK_MAP="{base64.b64encode(broken).decode()}";'
    (tmp_path / "live" / "map.js").write_text(text)
    empty_page.goto((tmp_path / "live" / "panda.html").as_uri())
    panel = Panel(empty_page)
    aim(panel, found, 0.713)
    button = panel.page.locator(".sweep-button")
    button.click()
    panel.page.wait_for_function("document.querySelector('.sweep-line progress').value >= 3", timeout=RUN_MS)
    button.click()
    verdict = panel.page.locator(".sweep-verdict")
    expect(verdict).to_contain_text(
        "of the 1 that does not, the map calls 0 sensitive. The map tried each run only once"
    )
    done, _, alike = panel.numbers()
    assert alike == done - 1
    assert panel.page.locator(".sweep-marks span").count() == 1


# --- keyboard, and what may be missing -------------------------------------------------------------------------------


def test_the_keyboard_alone_can_do_all_of_it(visit: Callable[..., Page], live: Path) -> None:
    page = visit(live, "panda.html", **WINDOW)
    page.evaluate("async () => { await outOfRank.ready; }")

    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"Tab never comes to {selector}")

    tab_to("#replay-part > summary")
    page.keyboard.press("Enter")
    page.locator(".map-field").wait_for()
    tab_to("#reach")
    before = page.locator("#reach").input_value()
    page.keyboard.press("ArrowRight")
    assert float(page.locator("#reach").input_value()) > float(before)
    tab_to(".reach-run")
    page.keyboard.press("Enter")
    page.locator(".reach-end", has_text="Final error").wait_for(timeout=RUN_MS)
    assert page.evaluate("document.activeElement.matches('.reach-run')")
    tab_to(".player-play")
    page.keyboard.press("Space")
    tab_to(".player input")
    page.keyboard.press("End")
    assert page.locator(".player-clock").inner_text() == "6.00 of 6 s"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")  # back to the live arm
    expect(page.locator(".player")).to_be_hidden()
    assert page.evaluate("document.activeElement.matches('.reach-run')")
    tab_to(".map-head button[aria-pressed=false]")
    page.keyboard.press("Enter")
    assert float(page.locator("#nullspaceGain").input_value()) > 0
    tab_to(".map-field")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#map-readout").inner_text().startswith("λ ")
    tab_to(".sweep-button")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.sweep-line progress').value >= 1", timeout=RUN_MS)
    page.keyboard.press("Enter")
    expect(page.locator(".sweep-verdict")).to_contain_text("Stopped.", timeout=RUN_MS)


def test_nothing_heavy_happens_before_the_panel_is_used(empty_page: Page, live: Path) -> None:
    page = empty_page
    page.add_init_script(
        """globalThis.heavy = [];
           const Before = globalThis.Worker;
           globalThis.Worker = class extends Before { constructor(...all) { super(...all); heavy.push("worker"); } };"""
    )
    page.goto((live / "panda.html").as_uri())
    page.evaluate("async () => { await outOfRank.ready; }")
    assert page.evaluate("heavy") == []
    assert page.evaluate("globalThis.OUT_OF_RANK_MAP === undefined")
    assert page.locator("#replay *").count() == 0
    page.locator("#replay-part > summary").click()
    page.locator(".map-field").wait_for()
    assert page.evaluate("heavy") == []
    page.get_by_role("button", name="Run the reach").click()
    page.locator(".reach-end", has_text="Final error").wait_for(timeout=RUN_MS)
    assert page.evaluate("heavy") == ["worker"]


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        ("globalThis.Worker = class { constructor() { throw new Error('no workers here'); } };", "no workers here"),
        (
            "const Before = Worker; globalThis.Worker = class extends Before {"
            " constructor() { super(URL.createObjectURL(new Blob(['throw new Error(\"it fell over\")']))); } };",
            "the worker stopped",
        ),
        (
            "const Before = Worker; globalThis.Worker = class extends Before { postMessage(data) {"
            " super.postMessage(data.module ? {...data, files: {}} : data); } };",
            "could not be run",
        ),
        (
            "const Before = Worker; globalThis.Worker = class extends Before { postMessage(data) {"
            " if (!data.module) super.postMessage(data); } };",
            "the engine did not reach the worker",
        ),
        (
            "const Before = Worker; globalThis.Worker = class extends Before { postMessage(data) {"
            " if (data.module) throw new Error('it cannot be sent'); super.postMessage(data); } };",
            "it cannot be sent",
        ),
    ],
)
def test_a_worker_that_fails_is_told_in_words(empty_page: Page, live: Path, break_it: str, words: str) -> None:
    empty_page.add_init_script(break_it)
    empty_page.goto((live / "panda.html").as_uri())
    panel = Panel(empty_page)
    for place, button in ((".reach-end", ".reach-run"), (".sweep-verdict", ".sweep-button")):
        panel.page.locator(button).click()
        said = words if place == ".reach-end" else "The sweep ended:"
        expect(panel.page.locator(place)).to_contain_text(said, timeout=RUN_MS)
    panel.page.locator(".reach-run").click()  # a second worker fails as the first did
    expect(panel.page.locator(".reach-end")).to_contain_text(words, timeout=RUN_MS)
    expect(panel.page.locator(".reach-run")).to_have_attribute("aria-disabled", "false")
    expect(panel.page.locator(".sweep-button")).to_contain_text("Sweep this row")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "map.js is not beside this page"),
        ("", "map.js holds no map"),
        ("globalThis.OUT_OF_RANK_MAP = 'TU9PUg==';", "these bytes are no collapse map"),
    ],
)
def test_without_its_map_the_panel_says_so_and_still_runs(
    empty_page: Page, live: Path, tmp_path: Path, text: str | None, why: str
) -> None:
    shutil.copytree(live, tmp_path / "live")
    if text is None:
        (tmp_path / "live" / "map.js").unlink()
    else:
        (tmp_path / "live" / "map.js").write_text(text)
    empty_page.goto((tmp_path / "live" / "panda.html").as_uri())
    panel = Panel(empty_page)
    expect(panel.page.locator(".replay-map")).to_contain_text(f"The collapse map cannot be shown: {why}")
    assert panel.run().startswith("Home.")
