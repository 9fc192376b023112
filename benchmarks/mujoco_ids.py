"""The MuJoCo environments that are measured."""

#: Environments whose peers are measured too: bodies with contacts.
WALKING = ("HalfCheetah-v5", "Ant-v5", "Humanoid-v5", "Hopper-v5")
#: Environments with cheap physics, where all other costs matter.
CHEAP = ("InvertedPendulum-v5", "Reacher-v5", "Swimmer-v5")
IDS = (
    *WALKING,
    *CHEAP,
    "InvertedDoublePendulum-v5",
    "Walker2d-v5",
    "HumanoidStandup-v5",
    "Pusher-v5",
)
#: Environments whose steps take microseconds.
SHORT = (*CHEAP, "InvertedDoublePendulum-v5")

#: Batches with and without MuJoCo's profiler, each in a separate process.
CLOCK_RUNNING, CLOCK_STOPPED = "mujoco-clock-running", "mujoco-clock-stopped"
