"""Pictures of the toy text environments: pure functions from a state to a pygame surface.

Each function draws one scene onto the surface it is given and keeps nothing of it; the fixed part
of a scene is drawn once for a size and blitted from then on. Importing this package does not
import pygame.
"""

from gymcore.envs.toy_text.drawing.blackjack import draw_blackjack
from gymcore.envs.toy_text.drawing.cliffwalking import draw_cliff_walking
from gymcore.envs.toy_text.drawing.frozen_lake import draw_frozen_lake
from gymcore.envs.toy_text.drawing.taxi import draw_taxi

__all__ = ["draw_blackjack", "draw_cliff_walking", "draw_frozen_lake", "draw_taxi"]
