"""watch_parent: a worker process that does not outlive its parent (watch.h)."""


cdef extern from "workers/watch.h":
    int start_watch "gymcore_watch"(long long pid, int pidfd, int exit_code) noexcept


def watch_parent(long long pid, int pidfd=-1, int exit_code=1):
    """End this process, without clean-up, as soon as another one has ended; even while Python is stuck.

    Args:
        pid: the process to watch.
        pidfd: a pidfd of it, as `os.pidfd_open(pid)` gives in that very process, so that no other process with its
            number can be meant; it may be closed afterwards. -1: one is opened here where the system has them, else
            the number is looked at once a second.
        exit_code: 0 to 255, what this process ends with.

    Raises:
        RuntimeError: the system gave no thread.
    """
    if start_watch(pid, pidfd, exit_code):
        raise RuntimeError("watch_parent: the system gave no thread")
