"""MaMuJoCo: MuJoCo environments whose actuators are divided among several agents."""
