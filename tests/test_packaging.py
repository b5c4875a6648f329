"""What the package may import: no module from a floor above its own, and nothing that a plain install does not bring.

That the wheel holds the scenes and works away from the checkout is in `test_wheel.py`.
"""

import ast
import functools
import importlib.metadata
import json
import os
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .models import ROOT

FLOORS = {
    "_arrays": 0, "rotation": 0, "inverse": 0, "nullspace": 0, "selective": 0, "ellipsoid": 0, "priority": 0,
    "chain": 0,
    "arm": 1, "scenes": 1, "jacobian": 1,
    "paths": 2, "laws": 2, "stacked_laws": 2, "objectives": 2, "speed_limits": 2, "box": 2, "mink_qp": 2,
    "loop": 2, "track": 2, "track_many": 2, "torque": 2,
    "studies": 3, "fleet": 3, "floating": 3,
    "show": 4, "check": 4, "__main__": 4,
}  # fmt: skip
"""Floor of each module or folder of the package; a new one needs a place here."""

MATHEMATICS = {"numpy", "array_api_compat"}
SHOWING = {"matplotlib", "mediapy", "ipywidgets", "IPython", "PIL", "OpenGL", "glfw", "imageio_ffmpeg", "tqdm"}


def sources():
    """Text of every module of the package, by its name without the package's."""
    package = ROOT / "ikcourse"
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = file.relative_to(package).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found[name] = file.read_text()
    return found


def imports(text):
    """(module, at the top of the file) of everything that a module imports, wherever in it."""
    tree = ast.parse(text)
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "the package imports by full names"
            if node.module == "ikcourse":
                yield from ((f"ikcourse.{alias.name}", id(node) in top) for alias in node.names)
            else:
                yield node.module, id(node) in top


def floor_of(name):
    return FLOORS[name.split(".")[0]]


def third_party(name):
    root = name.split(".")[0]
    return root if root != "ikcourse" and root not in sys.stdlib_module_names else None


def broken_rules(modules, declared):
    """Every import that its floor does not allow."""
    found = []
    for name, text in modules.items():
        if not name:
            continue  # the package's front door hands out floors 0 to 2
        floor = floor_of(name)
        for imported, at_top in imports(text):
            outside = third_party(imported)
            if imported.startswith("ikcourse.") and floor_of(imported.removeprefix("ikcourse.")) > floor:
                found.append(f"{name} (floor {floor}) imports {imported} from above")
            elif outside and floor == 0 and outside not in MATHEMATICS:
                found.append(f"{name} (floor 0) imports {outside}")
            elif outside in SHOWING and floor < 4:
                found.append(f"{name} (floor {floor}) imports {outside}, which only shows things")
            elif outside and at_top and not name.startswith(("show", "check")) and outside not in declared:
                found.append(f"{name} imports {outside}, which a plain install does not bring")
    return found


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@functools.cache
def module_owners():
    """The distributions that own each top-level module here."""
    return {
        module: {canonicalize_name(name) for name in names}
        for module, names in importlib.metadata.packages_distributions().items()
    }


def declared_modules():
    """Top-level modules of the distributions that pyproject.toml names as dependencies."""
    names = {canonicalize_name(Requirement(text).name) for text in project()["dependencies"]}
    return {module for module, owners in module_owners().items() if names & owners}


def test_every_module_has_a_floor():
    assert {name.split(".")[0] for name in sources() if name} <= set(FLOORS)


def test_nothing_is_imported_from_above_or_from_outside_what_the_floor_allows():
    assert broken_rules(sources(), declared_modules()) == []


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("rotation", "import mujoco", "rotation (floor 0) imports mujoco"),
        ("inverse", "def f():\n    from scipy import linalg", "inverse (floor 0) imports scipy"),
        ("inverse", "from ikcourse.laws import State", "inverse (floor 0) imports ikcourse.laws from above"),
        ("arm", "from ikcourse import paths", "arm (floor 1) imports ikcourse.paths from above"),
        (
            "laws",
            "def f():\n    import ikcourse.studies.damping",
            "laws (floor 2) imports ikcourse.studies.damping from above",
        ),
        (
            "studies.damping",
            "from ikcourse.show import film",
            "studies.damping (floor 3) imports ikcourse.show from above",
        ),
        (
            "track",
            "def f():\n    import matplotlib.pyplot as plt",
            "track (floor 2) imports matplotlib, which only shows",
        ),
        ("laws", "import mink", "laws imports mink, which a plain install does not bring"),
        ("__main__", "import mink", "__main__ imports mink, which a plain install does not bring"),
    ],
)
def test_an_import_that_is_not_allowed_is_seen(name, text, complaint):
    (found,) = broken_rules({name: text}, declared_modules())
    assert found.startswith(complaint)


def test_what_is_allowed_is_not_complained_of():
    allowed = {
        "rotation": "import math\nimport numpy as np\nfrom array_api_compat import array_namespace",
        "laws": "from ikcourse import inverse, nullspace\nfrom scipy.linalg import lapack\ndef f():\n    import mink",
        "show.films": "import mediapy\nfrom ikcourse.studies import damping",
        "": "from ikcourse.track import track",
    }
    assert broken_rules(allowed, declared_modules()) == []


def test_the_front_door_stays_below_the_studies():
    for imported, _ in imports(sources()[""]):
        if imported.startswith("ikcourse."):
            assert floor_of(imported.removeprefix("ikcourse.")) <= 2


# ----- a plain install


def not_in_a_plain_install():
    """Top-level modules here that `pip install ikcourse` would not bring: neither it nor its dependencies own them."""
    waiting, brought = list(project()["dependencies"]), {"ikcourse"}
    while waiting:
        requirement = Requirement(waiting.pop())
        name = canonicalize_name(requirement.name)
        if name in brought or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        brought.add(name)
        waiting += importlib.metadata.requires(name) or []
    return sorted(module for module, owners in module_owners().items() if not brought & owners)


PLAIN_INSTALL = """
import json, sys
missing = set(json.loads(sys.argv[1]))
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""


def in_a_plain_install(code, folder):
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL")
    return subprocess.run(
        [sys.executable, "-c", PLAIN_INSTALL + code, json.dumps(not_in_a_plain_install())],
        cwd=folder, env={key: value for key, value in os.environ.items() if key not in hidden},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_plain_install_lacks_the_books_packages():
    """The break for the tests below: what they take away is what they say."""
    missing = not_in_a_plain_install()
    assert {"matplotlib", "mediapy", "ipywidgets", "IPython", "mink", "pytest"} <= set(missing)
    assert not {"mujoco", "numpy", "scipy", "array_api_compat", "mujoco_menagerie", "ikcourse"} & set(missing)


def test_the_command_line_runs_in_a_plain_install(tmp_path):
    done = in_a_plain_install(
        """
from ikcourse.__main__ import main
from ikcourse.studies import damping
damping.SETTINGS = (1e-2,)
sys.exit(main(["damping", "--output", "table.csv"]))
""",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "1.341" in done.stdout
    assert (tmp_path / "table.csv").is_file()


def test_the_viewer_in_a_plain_install_says_what_is_missing(tmp_path):
    done = in_a_plain_install(
        """
from ikcourse.__main__ import main
sys.exit(main(["viewer"]))
""",
        tmp_path,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("ikcourse: ")


# ----- what a numerical use loads

COUNT = """
import json, sys
import mujoco
before = set(sys.modules)
import ikcourse as ik
arm = ik.panda()
ik.track(arm, ik.reach_and_return(arm, duration=0.02), ik.DampedLeastSquares())
print(json.dumps(sorted({name.split(".")[0] for name in set(sys.modules) - before})))
"""


@pytest.mark.parametrize("graphics", [None, "egl", "disable"])
def test_numerical_use_loads_nothing_that_draws(graphics, tmp_path):
    """MuJoCo itself loads PyOpenGL where MUJOCO_GL is egl; beyond what MuJoCo brings nothing is loaded."""
    environment = {key: value for key, value in os.environ.items() if key != "MUJOCO_GL"}
    if graphics:
        environment["MUJOCO_GL"] = graphics
    code = COUNT if graphics != "disable" else COUNT.replace("import mujoco\n", "")
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if graphics == "egl" and done.returncode and "OpenGL" in done.stderr:
        pytest.skip("MuJoCo cannot be imported with MUJOCO_GL=egl on a machine without EGL")
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout))
    assert "ikcourse" in loaded
    assert not loaded & (SHOWING | {"mink", "jax", "pytest", "pandas"})
    assert done.stderr == "", "and nothing is said"
    assert list(tmp_path.iterdir()) == [], "nor written: MuJoCo logs its warnings where it runs"
