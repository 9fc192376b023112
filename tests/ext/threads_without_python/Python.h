/* The part of Python's C API that pool.h uses, over POSIX threads: a C program needs no interpreter, and ThreadSanitizer
 * knows these locks. */
#ifndef PYTHON_H
#define PYTHON_H

#include <pthread.h>
#include <stdlib.h>

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int held;
} *PyThread_type_lock;

#define WAIT_LOCK 1
#define PYTHREAD_INVALID_THREAD_ID ((unsigned long)-1)
#define PyMem_RawCalloc calloc
#define PyMem_RawFree free

static PyThread_type_lock PyThread_allocate_lock(void)
{
    PyThread_type_lock lock = calloc(1, sizeof *lock);
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_cond_init(&lock->changed, NULL);
    return lock;
}

static void PyThread_free_lock(PyThread_type_lock lock)
{
    pthread_mutex_destroy(&lock->mutex);
    pthread_cond_destroy(&lock->changed);
    free(lock);
}

static int PyThread_acquire_lock(PyThread_type_lock lock, int wait)
{
    (void)wait;
    pthread_mutex_lock(&lock->mutex);
    while (lock->held)
        pthread_cond_wait(&lock->changed, &lock->mutex);
    lock->held = 1;
    pthread_mutex_unlock(&lock->mutex);
    return 1;
}

static void PyThread_release_lock(PyThread_type_lock lock)
{
    pthread_mutex_lock(&lock->mutex);
    lock->held = 0;
    pthread_cond_signal(&lock->changed);
    pthread_mutex_unlock(&lock->mutex);
}

typedef struct {
    void (*function)(void *);
    void *argument;
} python_h_start;

static void *python_h_run(void *argument)
{
    python_h_start start = *(python_h_start *)argument;
    free(argument);
    start.function(start.argument);
    return NULL;
}

static unsigned long PyThread_start_new_thread(void (*function)(void *), void *argument)
{
    pthread_t thread;
    python_h_start *start = malloc(sizeof *start);
    *start = (python_h_start){function, argument};
    if (pthread_create(&thread, NULL, python_h_run, start))
        return PYTHREAD_INVALID_THREAD_ID;
    pthread_detach(thread);
    return 1;
}

#endif
