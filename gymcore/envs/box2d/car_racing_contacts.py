"""Which pieces of road the wheels of CarRacing are on, and the reward for new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymcore.envs.box2d.library import load_box2d

if TYPE_CHECKING:
    from gymcore.envs.box2d.car_racing import CarRacing

Box2D = load_box2d()


class FrictionDetector(Box2D.b2ContactListener):  # type: ignore[name-defined]
    """Box2D tells it when a part of the car comes onto a piece of road, and when it leaves it.

    Attributes:
        env: The environment.
        lap_complete_percent: Share of the road that must have been visited when the start is
            visited first, for that to end the lap.
    """

    def __init__(self, env: CarRacing, lap_complete_percent: float) -> None:
        """Keep the environment."""
        super().__init__()
        self.env = env
        self.lap_complete_percent = lap_complete_percent

    def BeginContact(self, contact: Any) -> None:
        """A part of the car has come onto a piece of road."""
        self._contact(contact, True)

    def EndContact(self, contact: Any) -> None:
        """A part of the car has left a piece of road."""
        self._contact(contact, False)

    def _contact(self, contact: Any, begin: bool) -> None:
        tile, other = contact.fixtureA.body.userData, contact.fixtureB.body.userData
        if not hasattr(tile, "road_friction"):
            tile, other = other, tile
            if not hasattr(tile, "road_friction"):
                return
        env = self.env
        # A piece that was touched, by the hull too, has the plain color from then on.
        tile.color[:] = env.road_color
        env._recolor(tile.polygon, tile.color)
        # The hull has no user data.
        if other is None or not hasattr(other, "tiles"):
            return
        if not begin:
            other.tiles.discard(tile)
            return
        other.tiles.add(tile)
        if tile.road_visited:
            return
        tile.road_visited = True
        env.reward += 1000.0 / len(env.track)
        env.tile_visited_count += 1
        # As in Gymnasium, only the first visit of the start counts. The car begins on it, so laps
        # end by this rule for low shares alone, and else when every piece has been visited.
        visited = env.tile_visited_count / len(env.track)
        if tile.idx == 0 and visited > self.lap_complete_percent:
            env.new_lap = True
