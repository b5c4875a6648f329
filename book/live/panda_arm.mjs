// The Panda of the scene's files, and the law that the page's settings name: the same in the page and in
// its worker.

import { loadArm } from "./arm.mjs";
import { makeLaw } from "./dls.mjs";

/** The arm, from files {"panda.xml": text, "panda_ik.xml": text}. */
export function loadPanda(mj, files) {
  const joints = [1, 2, 3, 4, 5, 6, 7].map((k) => `joint${k}`);
  return loadArm(mj, files, "panda_ik.xml", { site: "end_effector", joints, home: "home" });
}

/** What `damping` means to each law. */
const PARAMETERS = {
  damped: ({ damping, nullspaceGain }) => ({ damping, nullspaceGain }),
  adaptive: ({ damping }) => ({ dampingMax: damping }),
  truncated: ({ damping }) => ({ threshold: damping }),
  transpose: () => ({}),
};

/**
 * The law of the page's settings.
 *
 * @param {{kind: string, damping: number, nullspaceGain: number}} settings
 */
export function lawOf(settings) {
  return makeLaw(settings.kind, PARAMETERS[settings.kind](settings));
}
