"""Open one page in a browser that draws in software, and print the browser's path: exit code 0 if WebGL runs in it.

python .ci/open_one_page.py [BROWSER]    default: the one that playwright has installed
"""

import sys

from playwright.sync_api import sync_playwright

# Without a graphics card; and as root, as in a container, where a browser cannot shut itself in.
FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]

if __name__ == "__main__":
    with sync_playwright() as playwright:
        path = sys.argv[1] if len(sys.argv) > 1 else playwright.chromium.executable_path
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        drawn = browser.new_page().evaluate("document.createElement('canvas').getContext('webgl2') !== null")
        browser.close()
    print(path)
    sys.exit(0 if drawn else "no WebGL in this browser")
