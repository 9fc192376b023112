"""Pictures of the classic-control environments: pure functions from a state to a pygame surface.

Each function draws one scene onto the surface it is given and keeps nothing of it; the fixed part
of a scene is drawn once for a size and blitted from then on. Importing this package does not
import pygame. `gymcore.rendering.frames.Renderer` turns the functions into frames and windows.
"""

from gymcore.envs.classic_control.drawing.acrobot import draw_acrobot
from gymcore.envs.classic_control.drawing.cartpole import draw_cartpole
from gymcore.envs.classic_control.drawing.mountain_car import draw_mountain_car
from gymcore.envs.classic_control.drawing.pendulum import draw_pendulum

__all__ = ["draw_acrobot", "draw_cartpole", "draw_mountain_car", "draw_pendulum"]
