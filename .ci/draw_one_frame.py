"""Exit with success only where MuJoCo can draw: one small frame, in which something is seen."""

import mujoco

SCENE = '<mujoco><worldbody><light pos="0 0 3"/><geom size="1"/></worldbody></mujoco>'

model = mujoco.MjModel.from_xml_string(SCENE)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 32, 32) as renderer:
    renderer.update_scene(data)
    if renderer.render().max() == 0:
        raise SystemExit("the frame is black")
