/* MuJoCo's C functions, called by address, so that the build does not need MuJoCo.
 *
 * MuJoCo reports errors through a handler of the thread. Without a handler it prints them, appends them to a file in the
 * working directory and ends the process. Here the call returns an error instead: the handler jumps out of it, over
 * MuJoCo's own C frames, which need no unwinding (MuJoCo's Python package does the same). Warnings are recorded instead of
 * printed. Threads that MuJoCo itself starts (mju_threadpool) have no handler, so `check_threads` in simulations.pyx
 * rejects simulations with such threads.
 *
 * A library has one of two interfaces for handlers, both per thread:
 *   set_log_handler                   for errors and warnings (MuJoCo 4)
 *   set_error_fn, set_warning_fn      (MuJoCo 3)
 */
#ifndef GYMCORE_MUJOCO_CALLS_H
#define GYMCORE_MUJOCO_CALLS_H

#include <setjmp.h>
#include <string.h>

#include "../engine/atomics.h"
#include "gymcore/platform.h"
#include "Python.h"

#if defined(_MSC_VER)
#define GYMCORE_MARK(place) setjmp(place)
#else
/* Without the signal mask, which would be a system call on some systems. */
#define GYMCORE_MARK(place) _setjmp(place)
#define longjmp _longjmp
#endif

#define GYMCORE_FAULT_TEXT 256

/* The head of MuJoCo 4's mjLogMessage. */
typedef struct {
    int level, topic;
    char subject[1];
} gymcore_log_message;
enum { GYMCORE_LOG_WARNING = 2, GYMCORE_LOG_ERROR = 3 };

typedef void gymcore_mujoco_function(const void *model, void *data);
typedef void gymcore_log_handler(const gymcore_log_message *message);
typedef void gymcore_text_handler(const char *text);

typedef struct {
    gymcore_mujoco_function *step, *forward, *reset_data, *rne_post_constraint;
    int (*state_size)(const void *model, int signature);
    void (*get_state)(const void *model, const void *data, double *state, int signature);
    void (*set_state)(const void *model, void *data, const double *state, int signature);
    gymcore_log_handler *(*set_log_handler)(gymcore_log_handler *handler);
    gymcore_text_handler *(*get_error_fn)(void);
    gymcore_text_handler *(*get_warning_fn)(void);
    void (*set_error_fn)(gymcore_text_handler *handler);
    void (*set_warning_fn)(gymcore_text_handler *handler);
    gymcore_mujoco_function **control; /* mjcb_control, which calls Python if there is one */
} gymcore_mujoco;

/* Outcomes of a call. A warning of a bad state (nan or huge) means divergence: MuJoCo then resets the simulation to its
 * initial state. */
enum { GYMCORE_FINE, GYMCORE_WARNED, GYMCORE_DIVERGED, GYMCORE_FAILED };

typedef struct {
    jmp_buf place;
    int armed, outcome;
    char text[GYMCORE_FAULT_TEXT];
    /* The handlers and the trap that were there before. */
    gymcore_log_handler *log_handler;
    gymcore_text_handler *error_fn, *warning_fn;
    void *outer;
    PyThreadState *thread; /* NULL without a callback in Python */
    PyGILState_STATE gil;
} gymcore_trap;

static GYMCORE_THREAD gymcore_trap *gymcore_trap_here;

/* Record the worst outcome of a call. */
static void gymcore_record(gymcore_trap *trap, int outcome, const char *text)
{
    if (outcome <= trap->outcome)
        return;
    trap->outcome = outcome;
    strncpy(trap->text, text, GYMCORE_FAULT_TEXT - 1);
    trap->text[GYMCORE_FAULT_TEXT - 1] = 0;
}

static void gymcore_on_warning(const char *text)
{
    gymcore_trap *trap = gymcore_trap_here;
    if (trap)
        gymcore_record(trap, strstr(text, "huge value in Q") ? GYMCORE_DIVERGED : GYMCORE_WARNED, text);
}

static void gymcore_on_error(const char *text)
{
    gymcore_trap *trap = gymcore_trap_here;
    if (!trap || !trap->armed)
        return;
    gymcore_record(trap, GYMCORE_FAILED, text);
    longjmp(trap->place, 1);
}

static void gymcore_on_message(const gymcore_log_message *message)
{
    if (message->level >= GYMCORE_LOG_ERROR)
        gymcore_on_error(message->subject);
    else if (message->level == GYMCORE_LOG_WARNING)
        gymcore_on_warning(message->subject);
}

/* Send MuJoCo's messages of this thread to the trap, until gymcore_trap_close. If there is a Python callback, the thread is
 * registered with Python, because otherwise MuJoCo's package would drop exceptions of the callback. */
static void gymcore_trap_open(gymcore_trap *trap, const gymcore_mujoco *calls)
{
    trap->thread = NULL;
    if (calls->control && *calls->control) {
        trap->gil = PyGILState_Ensure();
        trap->thread = PyEval_SaveThread();
    }
    trap->armed = 0;
    trap->outer = gymcore_trap_here;
    gymcore_trap_here = trap;
    if (calls->set_log_handler) {
        trap->log_handler = calls->set_log_handler(gymcore_on_message);
    } else {
        trap->error_fn = calls->get_error_fn();
        trap->warning_fn = calls->get_warning_fn();
        calls->set_error_fn(gymcore_on_error);
        calls->set_warning_fn(gymcore_on_warning);
    }
}

static void gymcore_trap_close(gymcore_trap *trap, const gymcore_mujoco *calls)
{
    if (calls->set_log_handler) {
        calls->set_log_handler(trap->log_handler);
    } else {
        calls->set_error_fn(trap->error_fn);
        calls->set_warning_fn(trap->warning_fn);
    }
    gymcore_trap_here = (gymcore_trap *)trap->outer;
    if (trap->thread) {
        PyEval_RestoreThread(trap->thread);
        PyGILState_Release(trap->gil);
    }
}

/* Handle signals; returns whether a handler raised an exception, which stays set in the thread. */
static int gymcore_handle_signals(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int raised = PyErr_CheckSignals();
    PyGILState_Release(state);
    return raised;
}

/* Call a function `count` times; returns the outcome. Signals are handled between calls about every 20 ms. An exception of
 * a handler is a failure, and so is one that another thread has stored in `*stop`. After a failure the data must be reset. */
static int gymcore_mujoco_call(
    gymcore_trap *trap, gymcore_mujoco_function *function, const void *model, void *data, int count,
    PyObject *volatile *stop)
{
    int64_t now, next_check = 0;
    trap->outcome = GYMCORE_FINE;
    if (GYMCORE_MARK(trap->place) == 0) {
        trap->armed = 1;
        for (int k = 1; k <= count; k++) {
            function(model, data);
            if (k % 8 || (now = gymcore_clock()) < next_check)
                continue;
            if (next_check && (*stop || gymcore_handle_signals()))
                gymcore_on_error("interrupted");
            next_check = now + 20000000;
        }
    }
    trap->armed = 0;
    return trap->outcome;
}

/* Step a simulation `count` times. */
static int gymcore_mujoco_step(
    const gymcore_mujoco *calls, gymcore_trap *trap, const void *model, void *data, int count, PyObject *volatile *stop)
{
    int outcome = gymcore_mujoco_call(trap, calls->step, model, data, count, stop);
    if (outcome != GYMCORE_FAILED && gymcore_mujoco_call(trap, calls->rne_post_constraint, model, data, 1, stop))
        return trap->outcome;
    return outcome;
}

#endif
