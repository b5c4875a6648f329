"""The planar page, used as a reader uses it: mouse, finger, keyboard; what it shows is what the package computes."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import ikcourse as ik

Open = Callable[..., tuple[Page, list[str]]]
POSTURES = ([0.4, -0.8], [0.0, 0.0], [-2.1, 0.3], [1.0, 2.5], [3.0, -3.0], [0.1, -0.2])


class Reader:
    """A reader of the page: what is seen, and what can be done."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address

    def open(self) -> None:
        """From the beginning: nothing done, nothing said, no focus."""
        self.page.goto(self.address)
        self.page.evaluate("async () => { globalThis.planar = await outOfRank.ready; }")

    @property
    def state(self) -> dict[str, Any]:
        return self.page.evaluate("({...planar.state, jacobian: [...planar.state.jacobian]})")

    def text(self, name: str) -> str:
        return (self.page.locator(f"#{name}").text_content() or "").replace("\u00a0", " ")

    def number(self, name: str) -> float:
        return as_number(self.text(name))

    def bend(self, q: list[float]) -> None:
        self.page.evaluate("(q) => planar.setJoints(q)", q)

    def damp(self, damping: float) -> float:
        """Set the slider; it has steps, and the lambda of the one that was met is given back."""
        self.page.evaluate(
            """(power) => { const slider = document.getElementById("damping");
                            slider.value = power; slider.dispatchEvent(new Event("input")); }""",
            math.log10(damping),
        )
        return self.state["damping"]

    def on_screen(self, point: list[float]) -> tuple[float, float]:
        """Where a point of the plane [m] is drawn: the rim is centred on the shoulder."""
        rim = self.page.locator("#plane .rim").bounding_box()
        assert rim is not None
        x, y = rim["x"] + rim["width"] / 2, rim["y"] + rim["height"] / 2
        return x + self.metre * point[0], y - self.metre * point[1]

    @property
    def metre(self) -> float:
        """Drawn pixels for a metre: the rim is as far away as two links of one metre reach."""
        return float(self.page.locator("#plane .rim").get_attribute("r") or "nan") / 2

    def drag(self, start: list[float], end: list[float], steps: int = 12) -> None:
        self.page.mouse.move(*self.on_screen(start))
        self.page.mouse.down()
        for share in np.linspace(0, 1, steps + 1)[1:]:
            between = [a + share * (b - a) for a, b in zip(start, end, strict=True)]
            self.page.mouse.move(*self.on_screen(between))
            self.page.wait_for_timeout(10)

    def rest(self) -> dict[str, Any]:
        self.page.wait_for_function("planar.state.resting || !planar.state.target")
        return self.state


def as_number(text: str) -> float:
    """What a number on the page says: 2.65 × 10⁻⁶, −0.300, ∞."""
    plain = text.translate(str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")).replace("∞", "inf")
    found = re.match(r"(-?[\d.]+|-?inf)(?: × 10(-?\d+))?", plain)
    assert found, f"no number: {text}"
    return float(found[1]) * 10.0 ** int(found[2] or 0)


@pytest.fixture(scope="module")
def opened(browser: Browser, live: Path) -> Iterator[tuple[Reader, list[str]]]:
    """One page for most tests: to start the engine takes longer than they do."""
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    someone = Reader(page, (live / "planar.html").as_uri())
    someone.open()
    yield someone, complaints
    context.close()


@pytest.fixture
def reader(opened: tuple[Reader, list[str]]) -> Iterator[Reader]:
    someone, complaints = opened
    someone.page.set_viewport_size({"width": 700, "height": 700})
    someone.page.emulate_media(reduced_motion="no-preference")
    someone.damp(0.1)
    someone.bend([0.4, -0.8])
    yield someone
    someone.page.mouse.up()
    assert complaints == []


def expected_jacobian(q: list[float]) -> np.ndarray:
    arm = ik.planar2()
    return ik.site_jacobian(arm, arm.data(q))[:2]


def test_the_jacobian_is_the_packages(reader: Reader) -> None:
    for q in POSTURES:
        reader.bend(q)
        J = expected_jacobian(q)
        assert np.abs(np.reshape(reader.state["jacobian"], (2, 2)) - J).max() < 1e-14
        shown = [reader.number(f"j{i}") for i in range(4)]
        assert np.allclose(shown, J.ravel(), rtol=0, atol=5.1e-4)


def test_singular_values_and_manipulability_are_the_packages(reader: Reader) -> None:
    for q in POSTURES:
        reader.bend(q)
        J = expected_jacobian(q)
        U, sigma, _ = np.linalg.svd(J)
        assert np.allclose(reader.state["sigma"], sigma, rtol=1e-12, atol=1e-14)
        # A direction and its opposite are one.
        assert np.allclose(np.abs(np.sum(np.array(reader.state["directions"]).T * U, axis=0)), 1, atol=1e-12)
        assert np.allclose([reader.number("sigma1"), reader.number("sigma2")], sigma, rtol=5.1e-3)
        assert np.isclose(reader.number("manipulability"), ik.manipulability(J), rtol=5.1e-3, atol=1e-12)


def test_the_ellipse_has_the_singular_values_as_half_axes(reader: Reader) -> None:
    for q in POSTURES:
        reader.bend(q)
        sigma = np.linalg.svd(expected_jacobian(q), compute_uv=False)
        radii = [float(reader.page.locator("#plane .ellipse").get_attribute(name) or "nan") for name in ("rx", "ry")]
        # Drawn at 0.3 m for 1 m/s, as the caption in the picture says; a line keeps a hundredth of a pixel.
        assert np.allclose(np.array(radii) / (0.3 * reader.metre), sigma, atol=2e-3)
    assert "0.3 m for 1 m/s" in reader.text("plane")


def bar_levels(reader: Reader) -> dict[str, list[float]]:
    """The values [rad/m] at which bars, exact marks and ceiling stand, by the scale that is drawn beside them."""
    drawn = reader.page.evaluate(
        """() => {
          const all = (which) => [...document.querySelectorAll(`#bars ${which}`)];
          const at = (one, name) => Number(one.getAttribute(name));
          return {
            grid: all(".grid").map((one) => at(one, "y1")),
            powers: all("text.tick").map((one) => one.textContent).filter((text) => text.startsWith("10")),
            bars: all(".bar").map((one) => [at(one, "y"), at(one, "y") + at(one, "height")]),
            exact: all(".exact").map((one) => one.getAttribute("d")),
            ceiling: at(document.querySelector("#bars .ceiling"), "y1"),
          };
        }"""
    )
    powers = [math.log10(as_number(f"1 × {text}")) for text in drawn["powers"]]
    slope, offset = np.polyfit(drawn["grid"], powers, 1)
    floor = drawn["grid"][int(np.argmin(powers))]
    assert all(np.isclose(bottom, floor) for _, bottom in drawn["bars"])
    marks = [re.fullmatch(r"M[\d.]+ ([\d.]+)H[\d.]+", path) for path in drawn["exact"]]

    def level(y: float) -> float:
        return 10.0 ** (slope * y + offset)

    return {
        "bars": [level(top) for top, _ in drawn["bars"]],
        "exact": [level(float(mark[1])) for mark in marks if mark],
        "ceiling": [level(drawn["ceiling"])],
    }


@pytest.mark.parametrize("damping", [1e-3, 0.1, 1.0])
def test_the_bars_are_the_filter_factors(reader: Reader, damping: float) -> None:
    assert np.isclose(reader.damp(damping), damping)
    for q in ([0.4, -0.8], [0.1, -0.2], [1.0, 2.5], [0.3, 0.01]):
        reader.bend(q)
        sigma = np.linalg.svd(expected_jacobian(q), compute_uv=False)
        factors = sigma / (sigma**2 + damping**2)
        levels = bar_levels(reader)
        assert np.allclose(levels["bars"], np.maximum(factors, 1e-2), rtol=5e-3)
        assert np.allclose(levels["exact"], 1 / sigma, rtol=5e-3)
        assert np.allclose(levels["ceiling"], 1 / (2 * damping), rtol=5e-3)
        assert np.allclose([reader.number("factor1"), reader.number("factor2")], factors, rtol=5.1e-3)
        assert np.allclose([reader.number("exact1"), reader.number("exact2")], 1 / sigma, rtol=5.1e-3)


def test_the_straight_arm_misses_a_direction(reader: Reader) -> None:
    reader.page.get_by_role("button", name="Straight", exact=True).click()
    state = reader.state
    assert state["q"] == [0, 0]
    assert state["sigma"][1] == 0
    assert state["directions"][1] == [1, 0]
    assert "(1, 0) is missing" in reader.text("headline")
    assert reader.text("sigma2") == "0"
    assert reader.text("exact2") == "∞"
    assert reader.text("factor2") == "0"
    lost = reader.page.locator("#plane .lost")
    box, tool = lost.bounding_box(), reader.on_screen([2, 0])
    assert box is not None
    assert lost.get_attribute("hidden") is None
    assert abs(box["y"] + box["height"] / 2 - tool[1]) < 1
    assert abs(box["x"] + box["width"] / 2 - tool[0]) < 1
    assert box["width"] > 60
    assert box["height"] < 5
    assert reader.page.locator("#plane .missing").is_visible()


def test_out_of_rank_is_said_while_sigma_2_is_below_lambda(reader: Reader) -> None:
    for q, damping in ([0.0, 0.1], 0.1), ([0.0, 0.1], 0.01), ([0.0, 0.3], 0.1), ([0.0, 0.3], 1.0):
        reader.damp(damping)
        reader.bend(q)
        below = np.linalg.svd(expected_jacobian(q), compute_uv=False)[1] < damping
        assert reader.text("headline").startswith("Out of rank" if below else "Full rank")
        assert reader.page.locator("#plane .lost").is_visible() == below
        assert reader.page.locator("#plane .missing").is_visible() is False


def test_the_buttons_take_the_chapters_postures(reader: Reader) -> None:
    reader.page.get_by_role("button", name="Right angle").click()
    assert np.isclose(reader.number("manipulability"), 1)  # the largest ellipse
    assert np.allclose(reader.state["tool"], [math.sqrt(2), 0], atol=1e-12)
    reader.page.get_by_role("button", name="Folded").click()
    arm = ik.planar2()
    assert reader.state["q"] == [0, arm.upper[1]]
    assert np.allclose(reader.state["tool"], 0, atol=1e-5)
    assert reader.text("headline").startswith("Out of rank")


def test_dragging_the_tool_makes_it_follow(reader: Reader) -> None:
    start, end = reader.state["tool"], [0.3, 1.4]
    reader.drag(start, end, steps=20)
    held = reader.state
    assert held["target"] is not None
    assert np.allclose(held["target"], end, atol=0.01)
    assert reader.page.locator("#plane .star").is_visible()
    reader.rest()
    assert np.linalg.norm(np.subtract(reader.state["tool"], end)) < 0.015
    reader.page.mouse.up()
    reader.page.wait_for_function("!planar.state.target")
    assert not reader.page.locator("#plane .star").is_visible()


def test_a_dragged_tool_keeps_the_chapters_loop(reader: Reader) -> None:
    """The last posture is where the chapter's law, integrated here, arrives from the same start."""
    q, target = [0.4, -0.8], np.array([1.2, 0.9])
    reader.page.emulate_media(reduced_motion="reduce")  # the whole way at once
    damping = reader.damp(0.3)
    reader.bend(q)
    reader.page.evaluate("(target) => planar.setTarget(target)", target.tolist())
    arm, now = ik.planar2(), np.array(q)
    for _ in range(4000):
        data = arm.data(now)
        e = target - ik.site_pose(arm, data)[0][:2]
        if np.linalg.norm(e) < 1e-4:
            break
        qdot = ik.damped(ik.site_jacobian(arm, data)[:2], 20 * e, damping)
        now = now + 0.002 * ik.scale_to_speed_limit(qdot, 5)
    assert np.linalg.norm(e) < 1e-4
    assert np.allclose(reader.state["q"], now, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("joint", "turn"), [(0, 0.9), (0, -1.2), (1, 0.8), (1, -0.7)])
def test_dragging_a_link_turns_its_joint(reader: Reader, joint: int, turn: float) -> None:
    q = [0.3, 0.9]
    reader.bend(q)
    pivot = np.array(reader.state["joints"][joint])
    heading = sum(q[: joint + 1])

    def at(angle: float) -> list[float]:
        return list(pivot + 0.5 * np.array([np.cos(angle), np.sin(angle)]))

    reader.page.mouse.move(*reader.on_screen(at(heading)))
    reader.page.mouse.down()
    for share in np.linspace(0, 1, 9):
        reader.page.mouse.move(*reader.on_screen(at(heading + share * turn)))
    reader.page.mouse.up()
    wanted = list(q)
    wanted[joint] += turn
    assert np.allclose(reader.state["q"], wanted, atol=0.03)
    # In steps that have zero among them, so that an arm can be made exactly straight by hand.
    assert np.isclose(reader.state["q"][joint] % 0.01 % 0.01, 0, atol=1e-9) or np.isclose(
        reader.state["q"][joint] % 0.01, 0.01, atol=1e-9
    )


def test_a_link_stops_at_its_limit(reader: Reader) -> None:
    reader.bend([0.0, 3.0])
    elbow = [1.0, 0.0]
    angles = np.linspace(3.0, 4.2, 20)
    points = [[elbow[0] + 0.5 * np.cos(a), elbow[1] + 0.5 * np.sin(a)] for a in angles]
    reader.page.mouse.move(*reader.on_screen(points[0]))
    reader.page.mouse.down()
    for point in points:
        reader.page.mouse.move(*reader.on_screen(point))
    assert reader.state["q"][1] == ik.planar2().upper[1]
    reader.page.mouse.up()


@pytest.mark.parametrize("damping", [1e-3, 0.1, 1.0])
def test_a_straight_arm_cannot_pull_back_at_any_damping(reader: Reader, damping: float) -> None:
    reader.damp(damping)
    reader.page.get_by_role("button", name="Pull straight back").click()
    state = reader.rest()
    assert state["q"] == [0, 0]
    assert state["target"] == [1.5, 0]
    assert state["resting"]
    assert "the command is zero" in reader.text("target-words")
    assert "0.50 m" in reader.text("target-words")


def test_a_nudge_frees_the_straight_arm(reader: Reader) -> None:
    reader.damp(0.3162)
    reader.page.get_by_role("button", name="Pull straight back").click()
    reader.page.get_by_role("button", name="Nudge").click()
    state = reader.rest()
    assert state["target"] is None
    assert np.allclose(state["tool"], [1.5, 0], atol=1e-3)
    assert state["q"][1] > 0.5  # to the side of the nudge


def test_a_bend_too_small_to_see_is_no_rest(reader: Reader) -> None:
    """Nearly straight, the command is tiny and grows: the loop must not call that the end."""
    reader.damp(0.5)
    reader.bend([0.0, 1e-9])
    reader.page.evaluate("planar.setTarget([1.5, 0])")
    state = reader.rest()
    assert np.allclose(state["tool"], [1.5, 0], atol=1e-3)


def test_it_says_why_the_tool_does_not_arrive(reader: Reader) -> None:
    reader.page.evaluate("planar.setTarget([2.3, 0.5])")
    reader.rest()
    assert "out of reach" in reader.text("target-words")
    reader.bend([3.0, 0.5])
    reader.page.evaluate("planar.setTarget([-1.2, -1.2])")
    reader.rest()
    assert "joint 1 is at its limit" in reader.text("target-words")
    assert np.isclose(reader.state["q"][0], ik.planar2().upper[0])


def test_joint_speeds_stay_bounded_where_the_exact_inverse_would_race(reader: Reader) -> None:
    reader.damp(1e-3)
    reader.bend([0.0, 0.002])
    frames = reader.page.evaluate(
        """async () => {
          planar.setTarget([1.9, 0.3]);
          const frames = [];
          for (let k = 0; k < 20; k++) {
            frames.push(planar.state.q);
            await new Promise(requestAnimationFrame);
          }
          return frames;
        }"""
    )
    fastest = np.abs(np.diff(frames, axis=0)).max()
    assert 0.01 < fastest < 5 * 0.05 + 1e-9  # 5 rad/s, and at most 0.05 s of the loop in a frame


def test_the_keyboard_alone_does_it_all(reader: Reader) -> None:
    reader.open()
    page, order = reader.page, []
    for _ in range(9):
        page.keyboard.press("Tab")
        name = "e => e.id || e.getAttribute('data-posture') || e.getAttribute('aria-label')"
        order.append(page.evaluate(f"({name})(document.activeElement)"))
        if order[-1].startswith("target"):
            outline = page.evaluate("getComputedStyle(document.activeElement).stroke")
            assert outline not in ("none", "rgba(0, 0, 0, 0)")  # the focus is seen
            before = reader.state["tool"]
            for key in ("ArrowLeft", "ArrowLeft", "ArrowUp", "Shift+ArrowDown"):
                page.keyboard.press(key)
            reader.rest()
            moved = np.subtract(reader.state["tool"], before)
            assert np.allclose(moved, [-0.1, 0.045], atol=1e-3)
        elif order[-1] in ("q1", "q2"):
            i = int(order[-1][1]) - 1
            q = reader.state["q"]
            page.keyboard.press("ArrowRight")
            assert 0 < reader.state["q"][i] - q[i] < 0.0151
            assert reader.state["q"][1 - i] == q[1 - i]
        elif order[-1] == "damping":
            damping = reader.state["damping"]
            page.keyboard.press("ArrowLeft")
            assert np.isclose(reader.state["damping"] / damping, 10**-0.05)
        elif order[-1] == "straight":
            page.keyboard.press("Enter")
            assert reader.state["q"] == [0, 0]
        elif order[-1] == "pull":
            page.keyboard.press("Space")
            assert reader.state["target"] == [1.5, 0]
        elif order[-1] == "nudge":
            page.keyboard.press("Enter")
            assert np.allclose(reader.rest()["tool"], [1.5, 0], atol=1e-3)
    assert order == [
        "target of the tool; arrow keys move it", "q1", "q2", "damping", "straight", "right", "folded", "pull", "nudge",
    ]  # fmt: skip


@pytest.mark.parametrize("modifier", ["altKey", "ctrlKey", "metaKey"])
def test_the_browsers_own_keys_stay_the_browsers(reader: Reader, modifier: str) -> None:
    reader.open()
    left_to_the_browser = reader.page.locator(".handle.target").evaluate(
        """(handle, modifier) => handle.dispatchEvent(
             new KeyboardEvent("keydown", { key: "ArrowLeft", [modifier]: true, cancelable: true }))""",
        modifier,
    )
    assert left_to_the_browser
    assert reader.state["target"] is None


def test_a_screen_reader_hears_what_became_of_an_input(reader: Reader) -> None:
    reader.open()
    assert reader.text("status") == ""  # nothing is said before anything is done
    reader.page.get_by_role("button", name="Straight", exact=True).click()
    reader.page.wait_for_function("document.getElementById('status').textContent !== ''")
    heard = reader.text("status")
    assert reader.text("headline") in heard
    assert reader.text("posture-words") in heard
    named = reader.page.locator("[role=slider], input, button").evaluate_all(
        "all => all.map((one) => one.ariaLabel || one.labels?.[0]?.textContent || one.textContent)"
    )
    assert all(named)
    assert len(named) == 9
    assert "radians" in (reader.page.locator("#q1").get_attribute("aria-valuetext") or "")
    assert "metres" in (reader.page.locator("[role=slider]").get_attribute("aria-valuetext") or "")


def test_reduced_motion_shows_the_end_at_once(reader: Reader) -> None:
    reader.page.emulate_media(reduced_motion="reduce")
    tool = reader.page.evaluate("(planar.setTarget([1.0, 1.0]), planar.state.tool)")
    assert np.allclose(tool, [1, 1], atol=1e-3)
    reader.page.emulate_media(reduced_motion="no-preference")
    tool = reader.page.evaluate("(planar.setTarget([1.0, -1.0]), planar.state.tool)")
    assert np.allclose(tool, [1, 1], atol=1e-3)  # no step before the next frame


def test_a_phone_shows_everything_within_its_width_and_reach(reader: Reader) -> None:
    reader.page.set_viewport_size({"width": 340, "height": 700})
    assert reader.page.evaluate("document.documentElement.scrollWidth") <= 340
    for kind in ("button", "input", "[role=slider]", ".handle"):
        for one in reader.page.locator(kind).all():
            box = one.bounding_box()
            assert box is not None
            assert max(box["width"], box["height"]) >= 44
            assert box["height"] >= 20
    for one in reader.page.locator("button, input").all():
        box = one.bounding_box()
        assert box is not None
        assert box["height"] >= 44
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 340


def test_a_finger_scrolls_the_page_beside_the_arm_and_not_on_it(reader: Reader) -> None:
    page = reader.page
    page.set_viewport_size({"width": 340, "height": 600})
    reader.bend([0.0, 1.5])
    finger = page.context.new_cdp_session(page)
    finger.send("Emulation.setTouchEmulationEnabled", {"enabled": True})

    def swipe_up(point: list[float]) -> None:
        page.evaluate("scrollTo(0, 0)")
        x, y = reader.on_screen(point)
        finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for moved in range(5, 121, 5):
            at = {"x": x, "y": y - moved}
            finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [at]})
            page.wait_for_timeout(5)
        page.wait_for_timeout(200)  # held still, so that the page does not go on by itself
        finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    q = reader.state["q"]
    swipe_up([-1.5, -1.0])
    page.wait_for_function("scrollY > 50")
    assert reader.state["q"] == q
    swipe_up([0.5, 0.0])
    page.wait_for_function("planar.state.q[0] > 0.3")
    page.wait_for_timeout(200)
    assert page.evaluate("scrollY") == 0
    finger.send("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_the_book_sends_its_theme_and_hears_the_height(live: Path, tmp_path: Path, open_page: Open) -> None:
    book = tmp_path / "book.html"
    book.write_text(
        f"""<iframe src="{(live / "planar.html").as_uri()}" width="700" height="300"></iframe>
        <script>addEventListener("message", ({{ data }}) => {{ globalThis.heard = data; }});</script>""",
        encoding="utf-8",
    )
    page, _ = open_page(tmp_path, "book.html", color_scheme="light")
    page.wait_for_function("globalThis.heard")
    heard = page.evaluate("heard")
    frame = page.frames[1]
    assert heard["type"] == "height"
    assert abs(heard["height"] - frame.evaluate("document.body.offsetHeight")) <= 1
    assert frame.evaluate("document.documentElement.dataset.theme") == "light"
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = frame.evaluate(ground)
    say = "(message) => document.querySelector('iframe').contentWindow.postMessage(message, '*')"
    page.evaluate(say, {"type": "theme", "theme": "dark"})
    frame.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    assert frame.evaluate(ground) != light
    page.evaluate(say, {"type": "theme", "theme": "mauve"})
    page.evaluate(say, "nonsense")
    page.wait_for_timeout(100)
    assert frame.evaluate("document.documentElement.dataset.theme") == "dark"
    page.evaluate("document.querySelector('iframe').width = 340")
    page.wait_for_function("(before) => heard.height > before + 200", arg=heard["height"])


def test_alone_it_takes_the_systems_theme(live: Path, open_page: Open) -> None:
    for scheme in ("dark", "light"):
        page, _ = open_page(live, "planar.html", color_scheme=scheme)
        assert page.evaluate("document.documentElement.dataset.theme") == scheme


def test_without_webassembly_it_says_so_in_a_sentence(live: Path, open_page: Open) -> None:
    page, complaints = open_page(live, "planar.html")
    page.add_init_script("delete globalThis.WebAssembly")
    page.reload()
    assert page.evaluate("outOfRank.ready") is None
    assert "no WebAssembly" in (page.get_by_role("alert").text_content() or "")
    assert page.locator("main").count() == 0  # no dead controls
    assert complaints == []


def test_without_the_engines_file_it_says_so_in_a_sentence(live: Path, tmp_path: Path, open_page: Open) -> None:
    for name in ("planar.html", "planar.js", "live.css"):
        shutil.copy(live / name, tmp_path)
    page, _ = open_page(tmp_path, "planar.html")
    assert page.evaluate("outOfRank.ready") is None
    assert "engine.js" in (page.get_by_role("alert").text_content() or "")
