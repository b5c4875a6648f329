"""The Panda page under a reader's hand: mouse, keys, touch, every control, and what is said where it cannot run."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

Visit = Callable[..., Page]
BOOK_WIDTH = {"viewport": {"width": 700, "height": 900}}
PHONE = {"viewport": {"width": 340, "height": 600}, "has_touch": True, "is_mobile": True}
FOLLOWS_MM = 15
PATIENCE_MS = 60_000  # software drawing: the page then runs slower than real time
SLIDERS = ["damping", "integrationDt", "nullspaceGain", "maxJointSpeed"]

OFF = "Math.hypot(...outOfRank.sim.target.position.map((value, axis) => value - outOfRank.sim.position[axis]))"
CAMERA = "outOfRank.picture.scene.camera.position.toArray()"
ON_SCREEN = """offset => {
  const { scene, target } = outOfRank.picture;
  const place = target.position.clone();
  offset.forEach((value, axis) => place.setComponent(axis, place.getComponent(axis) + value));
  place.project(scene.camera);
  const { left, top, width, height } = document.getElementById("picture").getBoundingClientRect();
  return [left + ((place.x + 1) / 2) * width, top + ((1 - place.y) / 2) * height];
}"""

# The lowest contrast of each piece of text on what lies behind it; what is switched off needs none.
CONTRASTS = """() => {
  const channels = (css) => css.match(/[\\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], back) => [r, g, b].map((value, k) => value * a + back[k] * (1 - a));
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const backs = (element) => {
    if (!element) return [[255, 255, 255]];
    const { backgroundColor, backgroundImage } = getComputedStyle(element);
    if (backgroundImage !== "none") return backgroundImage.match(/rgba?\\([^)]*\\)/g).map(channels);
    const colour = channels(backgroundColor);
    if ((colour[3] ?? 1) === 1) return [colour];
    return backs(element.parentElement).map((back) => over(colour, back));
  };
  const found = {};
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility() || element.closest(".spoken, :disabled")) continue;
    const { color } = getComputedStyle(element);
    const ratios = backs(element).map((back) => {
      const [a, b] = [light(over(channels(color), back)), light(back)].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    });
    found[`${element.tagName} ${element.className} ${element.textContent.trim().slice(0, 30)}`] = Math.min(...ratios);
  }
  return found;
}"""


class Panda:
    """The page as its reader has it before him."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.evaluate("async () => { await outOfRank.ready; }")

    def get(self, expression: str) -> Any:
        return self.page.evaluate(expression)

    def until(self, condition: str) -> None:
        self.page.wait_for_function(condition)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def target(self) -> np.ndarray:
        return np.array(self.get("[...outOfRank.sim.target.position]"))

    def turned(self) -> np.ndarray:
        return np.array(self.get("[...outOfRank.sim.target.quaternion]"))

    def screen(self, *offset: float) -> np.ndarray:
        """Where a point beside the target is seen [px]."""
        return np.array(self.page.evaluate(ON_SCREEN, list(offset)))

    def follows(self) -> None:
        """Wait until the hand is at the target, and rests there."""
        self.until(f"{OFF} < {FOLLOWS_MM / 1000} && Math.max(...outOfRank.sim.qd.map(Math.abs)) < 0.02")

    def runs_for(self, seconds: float) -> None:
        """Let simulated time pass: only while the arm moves, for then it does."""
        until = self.get("outOfRank.sim.time") + seconds
        self.page.wait_for_function("until => outOfRank.sim.time > until", arg=until)

    def press(self, key: str, times: int = 1) -> None:
        self.page.locator("#picture").focus()
        for _ in range(times):
            self.page.keyboard.press(key)

    def shown(self, badge: str) -> None:
        expect(self.page.locator(f"#badge-{badge}")).to_be_visible(timeout=PATIENCE_MS)

    def hidden(self, badge: str) -> None:
        expect(self.page.locator(f"#badge-{badge}")).to_be_hidden(timeout=PATIENCE_MS)

    def says(self, words: str) -> None:
        expect(self.page.locator("#status")).to_contain_text(words, timeout=PATIENCE_MS)

    def pull(self, start: np.ndarray, end: np.ndarray) -> None:
        """The left button goes down at one place and stays down at the other."""
        self.page.mouse.move(*start.tolist())
        self.page.mouse.down()
        self.page.mouse.move(*end.tolist(), steps=8)

    def slowly_back(self, start: np.ndarray, end: np.ndarray) -> None:
        """Within two seconds of simulated time; who jumps back does not always fold the arm."""
        for share in np.linspace(0, 1, 26)[1:]:
            self.page.mouse.move(*(start + share * (end - start)).tolist())
            self.runs_for(0.08)
        self.page.mouse.up()

    def drawn(self) -> bool:
        """Whether there is more in the middle of the picture than its background, which has few colours."""
        whole = Image.open(io.BytesIO(self.page.locator("#picture").screenshot())).convert("RGB")
        width, height = whole.size
        middle = np.asarray(whole.crop((width // 4, height // 4, 3 * width // 4, 3 * height // 4)))
        return len(np.unique(middle.reshape(-1, 3), axis=0)) > 100


@pytest.fixture
def panda(live: Path, visit: Visit) -> Panda:
    return Panda(visit(live, "panda.html", **BOOK_WIDTH))


# --- the target in the reader's hand ---------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [1, 2])
def test_the_hand_follows_a_handle(panda: Panda, axis: int) -> None:
    direction, before = np.eye(3)[axis], panda.target()
    handle, far = panda.screen(*(0.08 * direction)), panda.screen(*(0.15 * direction))
    panda.pull(handle, handle + far - panda.screen())
    panda.page.mouse.up()
    moved = panda.target() - before
    assert moved[axis] == pytest.approx(0.15, abs=0.03)
    assert np.abs(np.delete(moved, axis)).max() < 1e-9
    panda.follows()
    panda.until("!outOfRank.running")
    assert float(panda.text("#position-error")) == pytest.approx(1000 * panda.get(OFF), abs=0.06)


def test_what_the_page_proposes_to_try(panda: Panda) -> None:
    """Out of rank, folded, and home with a pull in the null space: with the mouse on the cube."""
    home, far = panda.screen(), panda.screen(0.3, 0, 0)
    panda.pull(home, far)
    panda.shown("rank")
    panda.shown("straight")
    panda.says("Out of rank")
    panda.slowly_back(far, home)
    panda.shown("folded")
    panda.until(f"{OFF} > 0.3")
    panda.until("/folded/i.test(document.getElementById('status').textContent)")

    panda.page.get_by_role("button", name="Reset").click()
    panda.hidden("folded")
    panda.page.get_by_role("slider", name="null-space gain").fill("0.5")
    panda.pull(home, far)
    panda.shown("rank")
    panda.slowly_back(far, home)
    panda.follows()
    for badge in ("rank", "straight", "folded"):
        panda.hidden(badge)


def test_the_ground_turns_the_view_and_not_the_target(panda: Panda) -> None:
    before, camera = panda.target(), panda.get(CAMERA)
    panda.pull(np.array([60.0, 250.0]), np.array([160.0, 260.0]))
    panda.page.mouse.up()
    assert (panda.target() == before).all()
    assert math.dist(panda.get(CAMERA), camera) > 0.1
    panda.page.get_by_role("radio", name="Front").focus()
    panda.page.keyboard.press("ArrowRight")
    assert math.dist(panda.get(CAMERA), camera) > 0.1
    panda.page.keyboard.press("ArrowLeft")
    assert math.dist(panda.get(CAMERA), camera) < 1e-6


def test_the_target_stays_where_a_target_may_be(panda: Panda) -> None:
    panda.press("ArrowDown", 60)
    assert panda.target()[2] == pytest.approx(0.03)
    panda.says("above the floor")
    panda.press("Home")
    panda.press("PageUp", 90)
    assert np.linalg.norm(panda.target()) == pytest.approx(1.2)
    panda.says("stops here, 1.2 m")


def test_a_target_that_was_taken_from_the_hand_stays(panda: Panda) -> None:
    """The browser may end a drag without a word, for its own menu say: the mouse then moves nothing."""
    panda.pull(panda.screen(), panda.screen(0, 0.1, 0))
    panda.page.locator("#picture").evaluate("(canvas) => canvas.releasePointerCapture(1)")
    panda.page.mouse.move(5, 5)
    left = panda.target()
    panda.page.mouse.move(200, 200, steps=4)
    assert np.array_equal(panda.target(), left)
    panda.page.mouse.up()


def test_one_finger_on_the_target_drags_and_elsewhere_scrolls(live: Path, visit: Visit) -> None:
    panda = Panda(visit(live, "panda.html", **PHONE))
    finger = panda.page.context.new_cdp_session(panda.page)

    def stroke(start: np.ndarray, by: tuple[float, float]) -> None:
        for kind, share in [("touchStart", 0.0), *(("touchMove", k / 12) for k in range(1, 13)), ("touchEnd", 1.0)]:
            place = start + share * np.array(by)
            points = [] if kind == "touchEnd" else [{"x": float(place[0]), "y": float(place[1])}]
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            panda.page.wait_for_timeout(30)

    before = panda.target()
    stroke(panda.screen(), (-20, -50))
    assert panda.target()[2] - before[2] > 0.05
    assert panda.get("scrollY") == 0
    before = panda.target()
    stroke(np.array([50, 250]), (0, -150))
    panda.until("scrollY > 50")
    assert (panda.target() == before).all()


# --- controls and readouts -------------------------------------------------------------------------------------------


def test_every_control_says_what_it_does(panda: Panda) -> None:
    for name in SLIDERS:
        slider, output = panda.page.locator(f"#{name}"), panda.page.locator(f"#{name}-value")
        seen = set()
        for key in ("ArrowLeft", "ArrowLeft", "Home", "ArrowRight", "End", "ArrowLeft"):
            slider.press(key)
            assert panda.get(f"Number.isFinite(outOfRank.settings.{name} ?? 0)")
            seen.add((output.inner_text(), slider.get_attribute("aria-valuetext")))
        assert len({text for text, _ in seen}) == len({spoken for _, spoken in seen}) >= 4, (name, seen)

    said = set()
    for kind in ("damped", "adaptive", "truncated", "transpose"):
        panda.page.locator("#kind").select_option(kind)
        assert panda.get("outOfRank.settings.kind") == kind
        said.add((panda.text("label[for=damping]"), panda.text("#damping-note")))
        assert panda.page.locator("#damping").is_disabled() == (kind == "transpose")
        assert panda.page.locator("#nullspaceGain").is_disabled() == (kind != "damped")
    assert len(said) == 4
    assert panda.text("#damping-value") == "–"


def test_every_notch_is_a_value_of_its_own(panda: Panda) -> None:
    """A key pressed on a slider changes what it says."""
    for name in SLIDERS:
        said = panda.get(
            f"""(() => {{
              const slider = document.getElementById("{name}");
              const said = [];
              for (slider.value = slider.min; ; slider.stepUp()) {{
                slider.dispatchEvent(new Event("input"));
                said.push(document.getElementById("{name}-value").textContent);
                if (said.length > 200 || Number(slider.value) + slider.step / 2 > slider.max) return said;
              }}
            }})()"""
        )
        assert len(said) == len(set(said)) > 20, (name, said)


def test_damping_changes_the_trace_and_the_readouts(panda: Panda) -> None:
    panda.press("ArrowUp", 3)
    panda.runs_for(0.5)
    panda.page.get_by_role("button", name="Pause").click()
    trace = "document.getElementById('trace').toDataURL()"
    panda.page.wait_for_timeout(200)
    before = panda.get(trace)
    assert panda.get(trace) == before
    panda.hidden("rank")
    panda.page.locator("#damping").fill("0")
    panda.page.wait_for_function(f"before => {trace} !== before", arg=before)
    panda.shown("rank")  # the smallest singular value at home is 0.15
    panda.page.get_by_role("button", name="Go on").click()
    panda.until("Number(document.getElementById('position-error').textContent) > 10")
    panda.page.locator("#damping").fill("-2")
    panda.until("Number(document.getElementById('position-error').textContent) < 10")


def test_the_speed_bound_bounds_the_command(panda: Panda) -> None:
    panda.page.locator("#maxJointSpeed").fill("-1")
    assert panda.text("#maxJointSpeed-value") == "0.1 rad/s"
    panda.press("ArrowUp", 10)
    panda.runs_for(0.2)
    fastest = panda.get("Math.max(...outOfRank.sim.qdot.map(Math.abs))")
    assert fastest == pytest.approx(0.1, rel=1e-9)


def test_numbers_that_are_none_change_nothing(panda: Panda) -> None:
    for name in SLIDERS:
        for value in ("NaN", "abc", "1e999", "-1e999", ""):
            panda.page.locator(f"#{name}").evaluate(
                "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", value
            )
            assert panda.get(f"Number.isFinite(outOfRank.settings.{name} ?? 0)"), (name, value)
    panda.press("ArrowUp")
    panda.runs_for(0.2)


# --- keys, pause, reset ----------------------------------------------------------------------------------------------


def walk_to(panda: Panda, selector: str) -> None:
    for _ in range(30):
        if panda.page.locator(selector).evaluate("element => element === document.activeElement"):
            return
        panda.page.keyboard.press("Tab")
    pytest.fail(f"Tab never comes to {selector}")


def test_the_keyboard_does_all_of_it(panda: Panda) -> None:
    keys, before, turned = panda.page.keyboard, panda.target(), panda.turned()
    walk_to(panda, "#picture")
    for key, direction in {
        "ArrowRight": (0, 1, 0), "ArrowLeft": (0, -1, 0), "ArrowUp": (0, 0, 1), "ArrowDown": (0, 0, -1),
        "PageUp": (1, 0, 0), "PageDown": (-1, 0, 0),
    }.items():  # fmt: skip
        start = panda.target()
        keys.press(key)
        assert panda.target() - start == pytest.approx(0.01 * np.array(direction), abs=1e-12)
    for key in ("Shift+ArrowLeft", "Shift+ArrowUp", "Shift+PageUp"):
        start = panda.turned()
        keys.press(key)
        assert 2 * math.acos(min(1, abs(start @ panda.turned()))) == pytest.approx(math.radians(5))
    panda.follows()
    panda.says("Target at (")
    keys.press("Home")
    assert (panda.target() == before).all()
    assert panda.turned() == pytest.approx(turned)
    keys.press("PageUp")
    panda.get(
        """for (const key of ["Home", "ArrowUp"]) {
          document.getElementById("picture").dispatchEvent(new KeyboardEvent("keydown", { key }));
        }"""
    )
    assert panda.target() - before == pytest.approx(np.array([0, 0, 0.01]), abs=1e-12)  # before the next frame

    walk_to(panda, "#pause")
    keys.press("Space")
    expect(panda.page.locator("#pause")).to_have_text("Go on")
    keys.press("Space")
    walk_to(panda, "#kind")
    keys.press("ArrowDown")
    assert panda.get("outOfRank.settings.kind") == "adaptive"
    keys.press("ArrowUp")
    for name in SLIDERS:
        walk_to(panda, f"#{name}")
        said = panda.text(f"#{name}-value")
        keys.press("ArrowLeft" if name == "maxJointSpeed" else "ArrowRight")
        assert panda.text(f"#{name}-value") != said
    walk_to(panda, "#keys > summary")
    keys.press("Enter")
    expect(panda.page.locator("#keys-list")).to_be_visible()


def test_the_keyboard_folds_the_arm(panda: Panda) -> None:
    panda.press("PageUp", 25)
    panda.shown("rank")
    panda.shown("straight")
    panda.until("!outOfRank.running")
    panda.shown("straight")  # still: it may have swung past, and that is over
    panda.hidden("folded")
    for _ in range(25):
        panda.press("PageDown")
        panda.runs_for(0.06)
    panda.shown("folded")
    assert panda.get("outOfRank.sim.q[3]") > -0.467


def test_what_was_ends_with_a_reset_and_is_no_news_after_it(panda: Panda) -> None:
    home, turned = panda.target(), panda.turned()
    panda.press("PageUp", 25)
    panda.shown("rank")
    panda.until("!outOfRank.running")  # a second after it moved: there is something on the strips
    panda.until("/out of rank/i.test(document.getElementById('status').textContent)")
    panda.press("Shift+ArrowLeft", 3)
    panda.page.get_by_role("button", name="Pause").click()
    alarms = """(() => {
      const strips = document.getElementById("trace");
      const { data } = strips.getContext("2d").getImageData(0, 0, strips.width, strips.height);
      let found = 0;
      for (let i = 0; i < data.length; i += 4) found += data[i + 3] > 128 && data[i] > data[i + 2] + 60;
      return found;
    })()"""
    assert panda.get(alarms) > 20
    time = panda.get("outOfRank.sim.time")
    panda.page.get_by_role("button", name="Reset").click()
    assert (panda.target() == home).all()
    assert panda.turned() == pytest.approx(turned)
    assert panda.get(OFF) < 0.01
    panda.hidden("rank")
    panda.hidden("straight")
    expect(panda.page.locator("#pause")).to_have_text("Pause")
    panda.says("are back where they began")
    panda.until("!outOfRank.running")  # a state that lasts 0.4 s is said
    panda.page.wait_for_timeout(1800)  # and no sentence comes sooner than 1.5 s after another
    assert panda.get("outOfRank.picture.target.position.toArray()") == pytest.approx(home)
    panda.says("are back where they began")
    while panda.get("outOfRank.sim.time") < time:  # when what was would come into the strips again
        panda.press("ArrowUp")
        panda.press("ArrowDown")
        panda.page.wait_for_timeout(200)
    assert panda.get(alarms) == 0


def test_a_pause_holds(panda: Panda) -> None:
    panda.page.get_by_role("button", name="Pause").click()
    panda.says("Paused")
    time, before = panda.get("outOfRank.sim.time"), panda.target()
    panda.press("ArrowUp", 8)
    panda.page.locator("#damping").press("ArrowLeft")
    panda.page.wait_for_timeout(300)
    assert panda.target()[2] == pytest.approx(before[2] + 0.08)
    assert panda.get("outOfRank.sim.time") == time
    panda.page.get_by_role("button", name="Go on").click()
    panda.runs_for(0.5)
    panda.follows()
    assert panda.get("outOfRank.sim.position[2]") == pytest.approx(before[2] + 0.08, abs=0.015)


def test_an_arm_that_rests_costs_nothing(panda: Panda) -> None:
    panda.until("outOfRank.steps > 100 && !outOfRank.running")
    steps = panda.get("outOfRank.steps")
    panda.page.wait_for_timeout(300)
    assert panda.get("outOfRank.steps") == steps
    panda.press("ArrowUp")
    panda.page.wait_for_function("steps => outOfRank.steps > steps", arg=steps)


# --- what cannot run, and what goes wrong ----------------------------------------------------------------------------


def test_a_simulation_that_diverges_is_told_and_reset_repairs_it(panda: Panda) -> None:
    home = panda.target()
    panda.get("void (outOfRank.sim.data.qpos[0] = NaN)")
    panda.press("ArrowUp")
    panda.says("The simulation stopped")
    assert not panda.get("outOfRank.running")
    expect(panda.page.locator("#pause")).to_be_disabled()
    panda.press("ArrowUp", 3)
    panda.page.locator("#damping").press("ArrowLeft")
    panda.page.wait_for_timeout(1800)  # longer than between two sentences
    panda.says("The simulation stopped")
    panda.press("Home")
    expect(panda.page.locator("#pause")).to_be_enabled()
    panda.press("ArrowUp", 5)
    panda.runs_for(0.5)
    panda.follows()
    assert panda.target()[2] == pytest.approx(home[2] + 0.05)


def test_the_wildest_settings_stay_finite(panda: Panda) -> None:
    panda.page.locator("#damping").fill("-6")
    panda.page.locator("#integrationDt").fill("0.7")
    for key, times in (("PageUp", 30), ("ArrowUp", 30), ("PageDown", 60), ("Shift+ArrowLeft", 20), ("ArrowDown", 40)):
        panda.press(key, times)
    panda.runs_for(0.5)
    assert panda.get("outOfRank.running")
    assert panda.get("[...outOfRank.sim.q, ...outOfRank.sim.qdot].every(Number.isFinite)")


def test_a_picture_that_is_taken_away_comes_back(panda: Panda) -> None:
    assert panda.drawn()
    panda.get(
        "void (globalThis.hold = outOfRank.picture.scene.renderer.getContext().getExtension('WEBGL_lose_context'))"
    )
    panda.get("hold.loseContext()")
    expect(panda.page.locator("#stage-words")).to_contain_text("took the picture away")
    panda.press("ArrowUp", 5)
    panda.runs_for(0.5)
    panda.follows()
    panda.get("hold.restoreContext()")
    expect(panda.page.locator("#stage-words")).to_be_hidden()
    panda.page.wait_for_timeout(500)
    assert panda.drawn()


def without(panda_page: Page, script: str) -> Page:
    """The page once more, in a browser that lacks something."""
    panda_page.add_init_script(script)
    panda_page.reload()
    panda_page.evaluate("async () => { await outOfRank.ready; }")
    return panda_page


def test_without_webgl_the_arm_still_runs(live: Path, visit: Visit) -> None:
    page = without(
        visit(live, "panda.html", **BOOK_WIDTH),
        "const real = HTMLCanvasElement.prototype.getContext;"
        "HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {"
        " return kind.startsWith('webgl') ? null : real.call(this, kind, ...rest); };",
    )
    panda = Panda(page)
    expect(page.locator("#stage-words")).to_contain_text("no WebGL")
    page.mouse.click(300, 200)
    assert panda.get("document.activeElement.id") == "picture"
    before = panda.target()
    page.keyboard.press("ArrowUp")
    assert panda.target()[2] == pytest.approx(before[2] + 0.01)
    panda.runs_for(0.3)
    panda.follows()
    panda.says("Target at (")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("delete globalThis.WebAssembly", "no WebAssembly"),
        ("delete globalThis.DecompressionStream", "too old"),
        ("Object.defineProperty(globalThis, 'OUT_OF_RANK_ENGINE', { value: '' })", "engine.js is missing"),
        ("Object.defineProperty(globalThis, 'OUT_OF_RANK_ENGINE', { value: btoa('no gzip') })", "cannot be moved here"),
    ],
)
def test_a_page_that_cannot_simulate_says_why(live: Path, visit: Visit, script: str, words: str) -> None:
    page = without(visit(live, "panda.html", **BOOK_WIDTH), script)
    expect(page.locator("#stage-words")).to_contain_text(words)
    for control in page.locator("button, input, select, summary").all():
        expect(control).to_be_hidden()


def test_less_motion_means_none_before_the_reader_acts(live: Path, visit: Visit) -> None:
    panda = Panda(visit(live, "panda.html", reduced_motion="reduce", **BOOK_WIDTH))
    panda.page.wait_for_timeout(400)
    assert panda.get("outOfRank.steps") == 0
    assert panda.drawn()
    panda.press("ArrowUp", 3)
    panda.follows()
    assert panda.get("outOfRank.steps") > 0


def test_the_books_theme_is_taken_from_the_book_alone(live: Path, visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "live").symlink_to(live, target_is_directory=True)
    (tmp_path / "page.html").write_text(
        "<!doctype html><link rel=icon href='data:,'><title>t</title>"
        "<iframe src='live/panda.html' width=700 height=900>"
    )
    page = visit(tmp_path, "page.html", color_scheme="light")
    frame = page.frames[1]
    frame.wait_for_function("() => globalThis.outOfRank?.steps > 0")
    ask, told = "message => frames[0].postMessage(message, '*')", "document.documentElement.dataset.theme"
    page.evaluate(ask, {"type": "theme", "theme": "purple"})
    page.evaluate(ask, {"type": "colour", "theme": "dark"})
    frame.evaluate("postMessage({ type: 'theme', theme: 'dark' }, '*')")
    page.wait_for_timeout(200)
    assert frame.evaluate(told) == "light"
    page.evaluate(ask, {"type": "theme", "theme": "dark"})
    frame.wait_for_function(f"() => {told} === 'dark'")


# --- for every reader ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_seen(live: Path, visit: Visit, scheme: str) -> None:
    panda = Panda(visit(live, "panda.html", color_scheme=scheme, **BOOK_WIDTH))
    panda.press("PageUp", 25)
    panda.shown("rank")
    panda.page.locator("#keys > summary").click()
    panda.get("for (const badge of document.querySelectorAll('.badge')) badge.hidden = false")
    faint = {text: ratio for text, ratio in panda.get(CONTRASTS).items() if ratio < 4.5}
    assert faint == {}
    panda.page.add_style_tag(content=".note { color: #777b !important }")
    panda.page.add_style_tag(content=".badge.hollow { color: #a666 !important }")
    broken = [text for text, ratio in panda.get(CONTRASTS).items() if ratio < 4.5]
    assert any("note" in text for text in broken)
    assert any("badge hollow" in text for text in broken)


def test_everything_to_operate_has_a_name_and_shows_its_focus(panda: Panda) -> None:
    for control in panda.page.locator("button, input, select, [role=img], canvas[tabindex]").all():
        if control.is_visible():
            name = control.evaluate(
                "e => e.ariaLabel || [...(e.labels ?? [])].map((l) => l.textContent).join() || e.textContent"
            )
            assert name.strip(), control.evaluate("e => e.outerHTML")
            expect(control).to_have_accessible_name(name.strip())
    outlined = """() => {
      const at = document.activeElement;
      const around = [at, at.matches(".segmented input") && at.nextElementSibling, at.closest(".stage")];
      const styles = around.filter(Boolean).map((element) => getComputedStyle(element));
      return styles.some(({ outlineStyle, outlineWidth }) => outlineStyle === "solid" && parseFloat(outlineWidth) >= 2);
    }"""
    stops: list[str] = []
    panda.page.locator("#picture").evaluate("() => document.body.focus()")
    while len(stops) < 30:
        panda.page.keyboard.press("Tab")
        at = panda.get("document.activeElement.id || document.activeElement.name || document.activeElement.tagName")
        if at == "BODY":
            break
        assert panda.get(outlined), at
        stops.append(at)
    assert [s for s in stops if s in ["kind", *SLIDERS]] == ["kind", *SLIDERS]
    assert {"picture", "view", "handles", "pause", "reset"} <= set(stops)
