/** Handles that can be dragged by mouse, pen or finger. */

/**
 * Let a handle be dragged.
 *
 * @param {SVGElement} handle
 * @param {(event: PointerEvent) => number[]} toPlane where an event points, (x, y) [m]
 * @param {(from: number[]) => (point: number[]) => void} begin gives what is told each further point
 * @param {() => void} end is called when the handle is let go
 */
export function draggable(handle, toPlane, begin, end = () => {}) {
  // A drag must not scroll the page; some browsers know touch-action on a whole <svg> only.
  handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
  let pointer = null;
  let move = null;
  handle.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || pointer !== null) return;
    pointer = event.pointerId;
    move = begin(toPlane(event));
    handle.setPointerCapture(pointer);
    handle.classList.add("held");
  });
  handle.addEventListener("pointermove", (event) => {
    if (event.pointerId === pointer) move(toPlane(event));
  });
  handle.addEventListener("lostpointercapture", (event) => {
    if (event.pointerId !== pointer) return;
    pointer = null;
    handle.classList.remove("held");
    end();
  });
}

/** A function of a point: how far it has turned about a pivot since `from` [rad], full turns counted. */
export function turnAbout(pivot, from) {
  const angleOf = (point) => Math.atan2(point[1] - pivot[1], point[0] - pivot[0]);
  let angle = angleOf(from);
  let turned = 0;
  return (point) => {
    const now = angleOf(point);
    turned += Math.atan2(Math.sin(now - angle), Math.cos(now - angle));
    angle = now;
    return turned;
  };
}
