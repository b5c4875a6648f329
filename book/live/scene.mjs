// The picture of an mjModel: its bodies over a tiled floor, in soft light, drawn only when asked.

import {
  BufferGeometry, Color, CustomBlending, DirectionalLight, DoubleSide, EdgesGeometry, Float32BufferAttribute,
  Group, HemisphereLight, Line, LineBasicMaterial, LineSegments, Matrix4, MaxEquation, MeshBasicMaterial,
  OneFactor, PerspectiveCamera, Scene, Vector3, WebGLRenderer,
} from "three";
import { bodyMeshes, poseBodies } from "./geoms.mjs";

const [KEY, FILL] = [1.9, 0.5]; // how bright the model's two lights are
const LOOKS = {
  light: { joints: 0xb6bdc3, shadow: 0.2, sky: 0xffffff, ground: 0x8f969d, ambient: 2.1 },
  dark: { joints: 0x4a555f, shadow: 0.5, sky: 0xe8eef5, ground: 0x4b545d, ambient: 1.5 },
};
const FLOOR_RADIUS = 3; // [m]: there the floor has faded into the page
const FACETS = 24; // more are not seen
const SHADOW_FACETS = 10;
const CLOSER = 0.88; // of the camera's angle: the view can be turned, so it need not hold everything at first
const MOST_PIXELS = 2; // device pixels to a CSS pixel: more is not seen and costs
const ROUGH = 0.75; // the same without a graphics card, while the picture moves
const STILL = 300; // [ms] after which a picture that has stopped moving is drawn again, fine
const SOFTWARE = /swiftshader|llvmpipe|software|basic render/i;

/**
 * A WebGL picture of the model.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {object} model - an MjModel with the cameras `front` and `side` and the mocap body `target`.
 * @param {object} mj - the engine.
 * @returns {{camera, scene, target, renderer, update, look, resize, setTheme, render}}
 *   target: the Group that shows the mocap body, to be moved by a reader's hand;
 *   update(data, hand): poses all bodies, and draws the error line from the hand (3) [m] to the target;
 *   look(name): from where a camera of the model stands; returns the point that the view turns about;
 *   resize(width, height) in CSS pixels; setTheme("light" | "dark"); render().
 * @throws {Error} where the browser has no WebGL.
 */
export function makeScene(canvas, model, mj) {
  const software = drawsInSoftware();
  const antialias = !software;
  const renderer = new WebGLRenderer({ canvas, antialias, alpha: true, powerPreference: "low-power" });
  const scene = new Scene();
  const camera = new PerspectiveCamera(36, 1, 0.05, 20);
  camera.up.set(0, 0, 1); // MuJoCo's world stands on z = 0

  const bodies = bodyMeshes(model, FACETS);
  const targetBody = mj.mj_name2id(model, mj.mjtObj.mjOBJ_BODY.value, "target");
  const target = bodies.get(targetBody);
  target.matrixAutoUpdate = true;
  const glassy = target.children.filter(({ material }) => material.transparent);
  target.add(...glassy.map(edgesOf));
  const lights = makeLights(model);
  const joints = makeTileJoints(model);
  const shadow = makeShadow(model, bodies);
  bodies.delete(targetBody);
  const errorLine = makeErrorLine();
  scene.add(...lights.all, ...bodies.values(), target, joints, shadow.group, errorLine);
  let lens = 36;
  let refine = 0;

  function draw(pixels) {
    const ratio = Math.min(pixels, MOST_PIXELS);
    if (renderer.getPixelRatio() !== ratio) renderer.setPixelRatio(ratio);
    renderer.render(scene, camera);
  }

  return {
    camera,
    scene,
    target,
    renderer,

    update(data, hand) {
      poseBodies(bodies, data);
      const ends = errorLine.geometry.attributes.position;
      ends.setXYZ(0, ...hand);
      ends.setXYZ(1, ...target.position);
      ends.needsUpdate = true;
    },

    look(name) {
      const id = mj.mj_name2id(model, mj.mjtObj.mjOBJ_CAMERA.value, name);
      camera.position.fromArray(model.cam_pos, 3 * id);
      lens = model.cam_fovy[id] * CLOSER;
      fitLens(camera, lens);
      return new Vector3().fromArray(model.stat.center);
    },

    resize(width, height) {
      renderer.setSize(width, height, false);
      camera.aspect = width / height;
      fitLens(camera, lens);
    },

    setTheme(theme) {
      const look = LOOKS[theme];
      lights.set(look);
      joints.material.color.set(look.joints);
      shadow.material.opacity = look.shadow;
    },

    render() {
      clearTimeout(refine);
      if (!software) return draw(globalThis.devicePixelRatio);
      refine = setTimeout(draw, STILL, MOST_PIXELS);
      draw(ROUGH);
    },
  };
}

/**
 * Without a graphics card every sample of a pixel is the processor's work: then one must do.
 *
 * @throws {Error} no WebGL; asked here, because three.js would write an error of its own to the console.
 */
function drawsInSoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) throw new Error("This browser shows no WebGL.");
  const named = gl.getExtension("WEBGL_debug_renderer_info");
  const name = named ? gl.getParameter(named.UNMASKED_RENDERER_WEBGL) : "";
  gl.getExtension("WEBGL_lose_context")?.loseContext(); // pages may hold only a few contexts
  return SOFTWARE.test(name);
}

/** The model's cameras are made for 4:3; on a narrower canvas the angle grows to keep the sides in view. */
function fitLens(camera, degrees) {
  const half = Math.tan((degrees * Math.PI) / 360) * Math.max(1, 4 / 3 / camera.aspect);
  camera.fov = (Math.atan(half) * 360) / Math.PI;
  camera.updateProjectionMatrix();
}

/** The model's two lights, and a sky. */
function makeLights(model) {
  const sky = new HemisphereLight();
  sky.position.set(0, 0, 1);
  const lamps = [KEY, FILL].map((brightness, light) => {
    const lamp = new DirectionalLight(0xffffff, brightness);
    lamp.position.fromArray(model.light_dir, 3 * light).negate();
    return lamp;
  });
  return {
    all: [sky, ...lamps],
    set(look) {
      sky.color.set(look.sky);
      sky.groundColor.set(look.ground);
      sky.intensity = look.ambient;
    },
  };
}

/** The joints between the tiles of the model's floor, which fade into the page. */
function makeTileJoints(model) {
  const plane = model.geom_type.indexOf(0);
  const tile = 2 / model.mat_texrepeat[2 * model.geom_matid[plane]]; // as MuJoCo's renderer reads texuniform
  const many = Math.ceil(FLOOR_RADIUS / tile);
  const points = [];
  const colours = [];
  const add = (i, j) => {
    points.push(i * tile, j * tile, 0);
    colours.push(1, 1, 1, Math.max(0, 1 - Math.hypot(i, j) / many) ** 1.5);
  };
  for (let i = -many; i <= many; i++) {
    for (let j = -many; j < many; j++) {
      add(i, j), add(i, j + 1);
      add(j, i), add(j + 1, i);
    }
  }
  const joints = new BufferGeometry();
  joints.setAttribute("position", new Float32BufferAttribute(points, 3));
  joints.setAttribute("color", new Float32BufferAttribute(colours, 4));
  const material = new LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false });
  return new LineSegments(joints, material);
}

/**
 * The bodies once more, pressed flat on the floor along the model's first light: a shadow without a shadow
 * map, which costs little wherever WebGL runs. MaxEquation keeps it even where bodies overlap.
 */
function makeShadow(model, bodies) {
  const material = new MeshBasicMaterial({
    color: 0x000000, transparent: true, premultipliedAlpha: true, side: DoubleSide, depthWrite: false,
    blending: CustomBlending, blendEquation: MaxEquation, blendSrc: OneFactor, blendDst: OneFactor,
  });
  const [x, y, z] = model.light_dir;
  const group = new Group();
  group.matrixAutoUpdate = false;
  group.matrix = new Matrix4().set(1, 0, -x / z, 0, 0, 1, -y / z, 0, 0, 0, 0, 0.001, 0, 0, 0, 1);
  for (const [body, flat] of bodyMeshes(model, SHADOW_FACETS)) {
    flat.matrix = bodies.get(body).matrix; // the body's own: the shadow follows by itself
    for (const mesh of flat.children) Object.assign(mesh, { material, renderOrder: -1 });
    group.add(flat);
  }
  return { group, material };
}

/** What is half transparent is hard to see on a bright floor; its edges are not. */
function edgesOf({ geometry, material }) {
  return new LineSegments(new EdgesGeometry(geometry), new LineBasicMaterial({ color: material.color }));
}

function makeErrorLine() {
  const ends = new BufferGeometry().setAttribute("position", new Float32BufferAttribute(6, 3));
  const line = new Line(ends, new LineBasicMaterial({ color: new Color("#e69f00") }));
  line.frustumCulled = false; // its ends move, its bounds do not
  return line;
}
