/* End this process when another one has ended, whatever this one is doing.
 *
 * A system thread does this, which needs no GIL. So it can also end a worker that is stuck in the C code of an environment.
 * It blocks all signals, and sleeps until the other process ends.
 */
#ifndef GYMCORE_WATCH_H
#define GYMCORE_WATCH_H

#include "Python.h"
#include "pythread.h"
#include "../include/gymcore/platform.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#endif

typedef struct {
    long long pid;
    int pidfd;       /* or -1 */
    int child;       /* whether this process is a child of it */
    int exit_code;
} gymcore_watched;

#if defined(_WIN32)
static void gymcore_watch_thread(void *argument)
{
    gymcore_watched *watched = (gymcore_watched *)argument;
    HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)watched->pid);
    if (process)
        WaitForSingleObject(process, INFINITE);
    TerminateProcess(GetCurrentProcess(), (UINT)watched->exit_code);
}
#else
/* Return whether the watched process lives. A child that has another parent now has lost it, even if its number is reused. */
static int gymcore_watched_lives(const gymcore_watched *watched)
{
    if (watched->child)
        return (long long)getppid() == watched->pid;
    return kill((pid_t)watched->pid, 0) == 0 || errno == EPERM;
}

static void gymcore_watch_thread(void *argument)
{
    gymcore_watched *watched = (gymcore_watched *)argument;
    while (watched->pidfd >= 0) {
        struct pollfd request = {watched->pidfd, POLLIN, 0};
        int ready = poll(&request, 1, -1);
        if (ready > 0 && (request.revents & POLLIN))
            _exit(watched->exit_code);
        if (ready > 0 || (ready < 0 && errno != EINTR))
            break; /* this is not a pidfd */
    }
    while (gymcore_watched_lives(watched)) {
        struct timespec second = {1, 0};
        nanosleep(&second, NULL);
    }
    _exit(watched->exit_code);
}
#endif

/* Start watching; return 0, or -1 if the system cannot start a thread. The pidfd is duplicated, so the caller may close it. */
static int gymcore_watch(long long pid, int pidfd, int exit_code)
{
    gymcore_watched *watched = (gymcore_watched *)PyMem_RawMalloc(sizeof(gymcore_watched));
    unsigned long thread;
    if (!watched)
        return -1;
    *watched = (gymcore_watched){.pid = pid, .pidfd = -1, .exit_code = exit_code};
#if defined(_WIN32)
    (void)pidfd;
    thread = PyThread_start_new_thread(gymcore_watch_thread, watched);
#else
    sigset_t all, before;
    watched->child = (long long)getppid() == pid;
    watched->pidfd = fcntl(pidfd, F_DUPFD_CLOEXEC, 0); /* -1 again if there is none */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread = PyThread_start_new_thread(gymcore_watch_thread, watched);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (thread == PYTHREAD_INVALID_THREAD_ID && watched->pidfd >= 0)
        close(watched->pidfd);
#endif
    if (thread != PYTHREAD_INVALID_THREAD_ID)
        return 0;
    PyMem_RawFree(watched);
    return -1;
}

#endif
