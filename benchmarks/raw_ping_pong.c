/* Round trip of two processes over two futexes: the lower bound for `gymcore_ext.workers.channel`.
 *
 *     cc -O2 -o raw_ping_pong raw_ping_pong.c
 *     ./raw_ping_pong ROUNDS SPINS CPU CPU      prints nanoseconds per round trip
 *
 * SPINS is the number of checks before sleeping; 0 sleeps at once. A CPU of -1 leaves the choice to the system.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pin(int cpu)
{
    cpu_set_t set;
    if (cpu < 0)
        return;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set)) {
        perror("sched_setaffinity");
        exit(1);
    }
}

static void say(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void hear(uint32_t *word, uint32_t value, long spins)
{
    for (long i = 0; i < spins; i++) {
        if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == value)
            return;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    while (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
        syscall(SYS_futex, word, FUTEX_WAIT, value - 1, NULL, NULL, 0);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int count, char **words)
{
    if (count != 5) {
        fprintf(stderr, "usage: %s ROUNDS SPINS CPU CPU\n", words[0]);
        return 2;
    }
    uint32_t rounds = (uint32_t)atol(words[1]), warm = rounds / 10 + 1;
    long spins = atol(words[2]);
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    uint32_t *ping = (uint32_t *)memory, *pong = (uint32_t *)(memory + 128);
    double start = 0;
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(atoi(words[4]));
        for (uint32_t i = 1; i <= warm + rounds; i++) {
            hear(ping, i, spins);
            say(pong, i);
        }
        _exit(0);
    }
    pin(atoi(words[3]));
    for (uint32_t i = 1; i <= warm + rounds; i++) {
        if (i == warm + 1)
            start = now();
        say(ping, i);
        hear(pong, i, spins);
    }
    printf("%.1f\n", (now() - start) / rounds);
    waitpid(child, NULL, 0);
    return 0;
}
