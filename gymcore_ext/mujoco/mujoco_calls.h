/* MuJoCo's C functions, called by address, so that the build does not need MuJoCo.
 *
 * MuJoCo reports errors to a handler of the thread. Without a handler it prints them, appends them to a file in the
 * working directory and ends the process. Here the call returns an error instead: the handler jumps out of the call, over
 * MuJoCo's own C frames, which need no unwinding (MuJoCo's Python package does the same). Warnings are recorded instead of
 * printed. Threads that MuJoCo itself starts (mju_threadpool) have no handler, so `check_simulation` in simulations.pyx
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
/* These do not save the signal mask, which would need a system call on some systems. */
#define GYMCORE_MARK(place) _setjmp(place)
#define longjmp _longjmp
#endif

/* The head of MuJoCo 4's mjLogMessage. */
typedef struct {
    int level, topic;
    char subject[1];
} gymcore_log_message;
enum { GYMCORE_LOG_WARNING = 2, GYMCORE_LOG_ERROR = 3 };

typedef void gymcore_mujoco_function(const void *model, void *data);
typedef void gymcore_log_handler(const gymcore_log_message *message);
typedef void gymcore_text_handler(const char *text);

/* Addresses of MUJOCO_FUNCTIONS (simulations.pyx), in that order; NULL for those that the installed MuJoCo lacks. */
typedef struct {
    gymcore_mujoco_function *step, *forward, *reset_data, *rne_post_constraint;
    gymcore_mujoco_function *step1, *step2, *accelerate, *constrain, *sense, *actuate, *check_acceleration; /* of `step` */
    void (*runge_kutta)(const void *model, void *data, int order);
    int (*state_size)(const void *model, int signature);
    void (*get_state)(const void *model, const void *data, double *state, int signature);
    void (*set_state)(const void *model, void *data, const double *state, int signature);
    gymcore_log_handler *(*set_log_handler)(gymcore_log_handler *handler);
    gymcore_text_handler *(*get_error_fn)(void);
    gymcore_text_handler *(*get_warning_fn)(void);
    void (*set_error_fn)(gymcore_text_handler *handler);
    void (*set_warning_fn)(gymcore_text_handler *handler);
    gymcore_mujoco_function **control; /* mjcb_control, which may be a callback in Python */
} gymcore_mujoco_functions;
static gymcore_mujoco_functions gymcore_mujoco;

/* Distance of the number of contacts from the energies of an mjData, in bytes; `contact_place` in library.py finds it,
 * because it differs between versions. */
static int gymcore_contact_place;

static int gymcore_contact_count(const double *energy)
{
    int count;
    memcpy(&count, (const char *)energy + gymcore_contact_place, sizeof(count));
    return count;
}

/* Complete a step of the Runge-Kutta integrator after mj_step1, with the bits of mj_step; mj_step2 itself would integrate
 * with Euler's method. */
static void gymcore_step2_runge_kutta(const void *model, void *data)
{
    if (gymcore_mujoco.control && *gymcore_mujoco.control)
        (*gymcore_mujoco.control)(model, data);
    gymcore_mujoco.actuate(model, data);
    gymcore_mujoco.accelerate(model, data);
    gymcore_mujoco.constrain(model, data);
    gymcore_mujoco.sense(model, data);
    gymcore_mujoco.check_acceleration(model, data);
    gymcore_mujoco.runge_kutta(model, data, 4);
}

/* Outcomes of a call. A warning about a bad state (nan or huge) means divergence: MuJoCo has then reset the simulation to
 * its initial state. */
enum { GYMCORE_FINE, GYMCORE_WARNED, GYMCORE_DIVERGED, GYMCORE_FAILED };

/* The highest severity of some calls, and its message. */
typedef struct {
    int severity;
    char text[256];
} gymcore_fault;

typedef struct {
    jmp_buf place;
    int severity;
    gymcore_fault *fault;
} gymcore_trap;

static GYMCORE_THREAD gymcore_trap *gymcore_trap_here;

static void gymcore_record(gymcore_fault *fault, int severity, const char *text)
{
    if (severity <= fault->severity)
        return;
    fault->severity = severity;
    strncpy(fault->text, text, sizeof(fault->text) - 1);
}

static void gymcore_handle(int severity, const char *text)
{
    gymcore_trap *trap = gymcore_trap_here;
    if (severity > trap->severity)
        trap->severity = severity;
    gymcore_record(trap->fault, severity, text);
    if (severity == GYMCORE_FAILED)
        longjmp(trap->place, 1);
}

static void gymcore_on_warning(const char *text)
{
    gymcore_handle(strstr(text, "huge value in Q") ? GYMCORE_DIVERGED : GYMCORE_WARNED, text);
}

static void gymcore_on_error(const char *text)
{
    gymcore_handle(GYMCORE_FAILED, text);
}

static void gymcore_on_message(const gymcore_log_message *message)
{
    if (message->level >= GYMCORE_LOG_ERROR)
        gymcore_on_error(message->subject);
    else if (message->level == GYMCORE_LOG_WARNING)
        gymcore_on_warning(message->subject);
}

/* Handle signals; return whether a handler raised an exception, which remains set in the thread. */
static int gymcore_handle_signals(void)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int raised = PyErr_CheckSignals();
    PyGILState_Release(state);
    return raised;
}

static void gymcore_call_trapped(
    gymcore_trap *trap, gymcore_mujoco_function *function, int count, gymcore_mujoco_function *then, const void *model,
    void *data, const volatile int *stop)
{
    int64_t now, next_check = 0;
    if (GYMCORE_MARK(trap->place))
        return;
    for (int k = 1; k <= count; k++) {
        function(model, data);
        if (k % 8 || (now = gymcore_clock()) < next_check)
            continue;
        if (next_check && (*stop || gymcore_handle_signals()))
            gymcore_on_error("interrupted");
        next_check = now + 20000000;
    }
    if (then)
        then(model, data);
}

/* Call `function` `count` times, then `then` once if it is not NULL. Return the severity, and record it in `fault`. Signals
 * are handled between calls, about every 20 ms. The call fails if a handler raises, or if another thread sets `*stop`.
 * After a failure the data must be reset. */
static int gymcore_mujoco_call(
    gymcore_mujoco_function *function, int count, gymcore_mujoco_function *then, const void *model, void *data,
    gymcore_fault *fault, const volatile int *stop)
{
    gymcore_trap trap, *outer = gymcore_trap_here; /* `outer`: of a call whose callback makes this call */
    gymcore_log_handler *log_handler = NULL;
    gymcore_text_handler *error_fn = NULL, *warning_fn = NULL;
    trap.severity = GYMCORE_FINE;
    trap.fault = fault;
    gymcore_trap_here = &trap;
    if (gymcore_mujoco.set_log_handler) {
        log_handler = gymcore_mujoco.set_log_handler(gymcore_on_message);
    } else {
        error_fn = gymcore_mujoco.get_error_fn();
        warning_fn = gymcore_mujoco.get_warning_fn();
        gymcore_mujoco.set_error_fn(gymcore_on_error);
        gymcore_mujoco.set_warning_fn(gymcore_on_warning);
    }
    gymcore_call_trapped(&trap, function, count, then, model, data, stop);
    if (gymcore_mujoco.set_log_handler) {
        gymcore_mujoco.set_log_handler(log_handler);
    } else {
        gymcore_mujoco.set_error_fn(error_fn);
        gymcore_mujoco.set_warning_fn(warning_fn);
    }
    gymcore_trap_here = outer;
    return trap.severity;
}

#endif
