// The letters x, y and z at the ends of the target's handles.

import { CanvasTexture, Group, Sprite, SpriteMaterial, SRGBColorSpace } from "three";

const AWAY = 0.15; // of the picture's height, a little farther than the arrows reach
const TALL = 0.05;

/**
 * Letters that stay the same size on the screen, at the ends of the world's axes through a point.
 *
 * @returns {Group} with place(position, camera) and setColour(css).
 */
export function makeAxisNames() {
  const names = ["x", "y", "z"];
  const sprites = names.map(() => new Sprite(new SpriteMaterial({ depthTest: false, transparent: true })));
  const group = Object.assign(new Group(), {
    place(position, camera) {
      const height = 2 * camera.position.distanceTo(position) * Math.tan((camera.fov * Math.PI) / 360);
      group.position.copy(position);
      sprites.forEach((sprite, axis) => {
        sprite.position.setComponent(axis, AWAY * height);
        sprite.scale.setScalar(TALL * height);
      });
    },
    setColour(css) {
      sprites.forEach(({ material }, axis) => {
        material.map?.dispose();
        material.map = new CanvasTexture(letter(names[axis], css));
        material.map.colorSpace = SRGBColorSpace;
        material.needsUpdate = true;
      });
    },
  });
  group.add(...sprites);
  group.renderOrder = 1;
  return group;
}

function letter(name, css) {
  const canvas = Object.assign(document.createElement("canvas"), { width: 64, height: 64 });
  const brush = canvas.getContext("2d");
  const font = "italic 600 46px Charter, Georgia, serif";
  Object.assign(brush, { font, textAlign: "center", fillStyle: css });
  brush.fillText(name, 32, 46);
  return canvas;
}
