/**
 * In a page of the book: put the live page in the place of its still picture when the reader comes near it.
 *
 * The figure is written by the book's build (.ci/book_live.py); without this script it stays a picture with a link.
 * Messages: {type: "theme", theme: "light" | "dark"} goes in; {type: "height", height} [px] comes out.
 */

const nearby = "600px 0px"; // how far below or above the view a figure wakes up

const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");

/** Heights are remembered by page and width, so that at the next visit nothing moves when a figure wakes up. */
const memoryOf = (figure) => `out-of-rank ${figure.dataset.page} ${Math.round(figure.clientWidth / 20)}`;

function remembered(figure) {
  try {
    return Number(localStorage.getItem(memoryOf(figure)));
  } catch {
    return 0; // storage is switched off
  }
}

function remember(figure, height) {
  try {
    localStorage.setItem(memoryOf(figure), String(height));
  } catch {
    // The next visit reserves the still's height, as the first one does.
  }
}

function wake(figure) {
  const frame = document.createElement("iframe");
  frame.title = figure.dataset.title;
  frame.src = figure.dataset.page;
  const tellTheme = () => frame.contentWindow?.postMessage({ type: "theme", theme: theme() }, "*");
  frame.addEventListener("load", tellTheme);
  new MutationObserver(tellTheme).observe(document.documentElement, { attributeFilter: ["data-theme"] });

  addEventListener("message", ({ source, data }) => {
    if (source !== frame.contentWindow || data?.type !== "height" || !(data.height > 0)) return;
    // A page that never speaks, because it is not there or cannot run, leaves the still where it is.
    if (!figure.classList.contains("awake")) tellTheme();
    figure.classList.add("awake");
    frame.parentElement.style.minHeight = "";
    frame.style.height = `${Math.ceil(data.height)}px`;
    remember(figure, Math.ceil(data.height));
  });
  figure.querySelector(".live-stage").append(frame);
}

const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    wake(target);
  }
}, { rootMargin: nearby });

for (const figure of document.querySelectorAll("figure.live[data-page]")) {
  const still = figure.querySelector("img");
  const stage = document.createElement("div");
  stage.className = "live-stage";
  stage.style.minHeight = `${remembered(figure)}px`;
  still.replaceWith(stage);
  stage.append(still);
  watcher.observe(figure);
}
