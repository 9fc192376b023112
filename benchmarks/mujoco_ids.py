"""The MuJoCo environments that are measured."""

#: Those whose peers are measured too, bodies with contacts.
WALKING = ("HalfCheetah-v5", "Ant-v5", "Humanoid-v5", "Hopper-v5")
#: Those whose physics is cheap, so that everything else counts.
CHEAP = ("InvertedPendulum-v5", "Reacher-v5", "Swimmer-v5")
IDS = (
    *WALKING,
    *CHEAP,
    "InvertedDoublePendulum-v5",
    "Walker2d-v5",
    "HumanoidStandup-v5",
    "Pusher-v5",
)
#: Those whose steps take microseconds.
SHORT = (*CHEAP, "InvertedDoublePendulum-v5")

#: Batches with MuJoCo's profiler and without, each in its own process.
CLOCK_RUNNING, CLOCK_STOPPED = "mujoco-clock-running", "mujoco-clock-stopped"
