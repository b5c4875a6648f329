// What an mjModel shows, as three.js meshes: every number is read from the model's own arrays.

import {
  BoxGeometry, CapsuleGeometry, Color, CylinderGeometry, Group, Matrix4, Mesh, MeshPhongMaterial, Quaternion,
  SphereGeometry, SRGBColorSpace, Vector3,
} from "three";
import { mergeGeometries } from "three/addons/utils/BufferGeometryUtils.js";

const HIGHEST_VISIBLE_GROUP = 2; // as MuJoCo's viewer: groups 3 and up are collision shapes and helpers
const [PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX] = [0, 2, 3, 4, 5, 6]; // mjtGeom
const THIN = 0.02; // [m], of a radius
const DEFAULT_RGBA = [0.5, 0.5, 0.5, 1]; // MuJoCo's mark of "ask the material"

/**
 * One group of meshes for each body that shows anything; planes are left to the scene.
 * A body's geoms of one look become one mesh: they never move against each other, and draw calls cost.
 *
 * @param {object} model - an MjModel.
 * @param {number} facets - around a round shape; a thin one makes do with half.
 * @returns {Map<number, Group>} by body id, in the body's frame; `poseBodies` puts them into the world.
 */
export function bodyMeshes(model, facets) {
  const looks = new Map();
  for (let geom = 0; geom < model.ngeom; geom++) {
    const type = model.geom_type[geom];
    if (type === PLANE || model.geom_group[geom] > HIGHEST_VISIBLE_GROUP) continue;
    const body = model.geom_bodyid[geom];
    const look = lookOf(model, geom);
    const key = `${body} ${JSON.stringify(look)}`;
    if (!looks.has(key)) looks.set(key, { body, look, shapes: [] });
    const shape = shapeOf(type, model.geom_size.slice(3 * geom, 3 * geom + 3), facets);
    looks.get(key).shapes.push(shape.applyMatrix4(placement(model.geom_pos, model.geom_quat, geom)));
  }
  const bodies = new Map();
  const materials = new Map();
  for (const { body, look, shapes } of looks.values()) {
    const key = JSON.stringify(look);
    if (!materials.has(key)) materials.set(key, materialOf(look));
    if (!bodies.has(body)) bodies.set(body, Object.assign(new Group(), { matrixAutoUpdate: false }));
    bodies.get(body).add(new Mesh(mergeGeometries(shapes), materials.get(key)));
  }
  return bodies;
}

/** Put each body's group where the simulation has the body: `data` with its kinematics current. */
export function poseBodies(bodies, data) {
  const positions = data.xpos;
  const quaternions = data.xquat;
  for (const [body, group] of bodies) {
    group.matrix.copy(placement(positions, quaternions, body));
    group.matrixWorldNeedsUpdate = true;
  }
}

/** Row `index` of an array of positions and of one of quaternions (w, x, y, z), as a Matrix4. */
function placement(positions, quaternions, index) {
  const [w, x, y, z] = quaternions.slice(4 * index, 4 * index + 4);
  const position = new Vector3().fromArray(positions, 3 * index);
  return new Matrix4().compose(position, new Quaternion(x, y, z, w), new Vector3(1, 1, 1));
}

/** Geometry in the geom's frame. MuJoCo's axis is z, three's is y; its sizes are radii and half lengths. */
function shapeOf(type, [a, b, c], facets) {
  const around = a > THIN ? facets : facets / 2;
  if (type === SPHERE) return new SphereGeometry(a, around, around / 2);
  if (type === ELLIPSOID) return new SphereGeometry(1, around, around / 2).scale(a, b, c);
  if (type === BOX) return new BoxGeometry(2 * a, 2 * b, 2 * c);
  if (type === CYLINDER) return new CylinderGeometry(a, a, 2 * b, around).rotateX(Math.PI / 2);
  if (type === CAPSULE) return new CapsuleGeometry(a, 2 * b, around / 4, around).rotateX(Math.PI / 2);
  throw new Error(`The scene draws spheres, capsules, ellipsoids, cylinders, boxes; got geom type ${type}.`);
}

/** Colour and finish of a geom: its own colour, or its material's where it has none. */
function lookOf(model, geom) {
  const own = Array.from(model.geom_rgba.slice(4 * geom, 4 * geom + 4));
  const material = model.geom_matid[geom];
  if (material < 0) return { rgba: own, specular: 0.3, shininess: 0.3, emission: 0 };
  const asked = own.every((value, channel) => value === DEFAULT_RGBA[channel]);
  return {
    rgba: asked ? Array.from(model.mat_rgba.slice(4 * material, 4 * material + 4)) : own,
    specular: model.mat_specular[material],
    shininess: model.mat_shininess[material],
    emission: model.mat_emission[material],
  };
}

function materialOf({ rgba: [red, green, blue, alpha], specular, shininess, emission }) {
  const color = new Color().setRGB(red, green, blue, SRGBColorSpace);
  return new MeshPhongMaterial({
    color,
    emissive: color.clone().multiplyScalar(emission),
    specular: new Color().setScalar(specular / 3),
    shininess: 128 * shininess, // MuJoCo's 0..1 is OpenGL's 0..128
    opacity: alpha,
    transparent: alpha < 1,
    depthWrite: alpha === 1,
  });
}
