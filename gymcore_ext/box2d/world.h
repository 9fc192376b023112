/* Box2D 2.3 as the package `box2d` ships it: the layout of its structures, the functions that are called, and what is
 * done with a world between steps.
 *
 * The functions are C++ members of the package's extension module, called through their addresses with `this` as the
 * first argument, as the C++ ABI of Linux and macOS passes it. Layouts are those of Box2D's public headers; pybox2d has
 * polygons of 16 corners. gymcore/envs/box2d/library.py compares all of them with what the package says before anything is stepped.
 */
#ifndef GYMCORE_BOX2D_WORLD_H
#define GYMCORE_BOX2D_WORLD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { float x, y; } box2d_vec;
typedef struct { box2d_vec lower, upper; } box2d_box;

typedef struct box2d_body box2d_body;
typedef struct box2d_fixture box2d_fixture;
typedef struct box2d_contact box2d_contact;
typedef struct box2d_joint box2d_joint;
typedef struct box2d_world box2d_world;

struct box2d_body {
    int32_t type;
    /* What moves, up to `torque`: no pointers. */
    uint16_t flags;
    int32_t island_index;
    box2d_vec position;
    float sine, cosine;
    box2d_vec local_center, center0, center;
    float angle0, angle, alpha0;
    box2d_vec velocity;
    float angular_velocity;
    box2d_vec force;
    float torque;
    box2d_world *world;
    box2d_body *previous, *next;
    box2d_fixture *fixtures;
    int32_t fixture_count;
    void *joints, *contacts;
    float mass, inverse_mass, inertia, inverse_inertia;
    float linear_damping, angular_damping, gravity_scale;
    float sleep_time;
    void *user_data;
};

/* Flags of bodies; of contacts; of worlds; and kinds of shapes and joints. */
enum { BOX2D_AWAKE = 2, BOX2D_ACTIVE = 32, BOX2D_BODY_FLAGS = 127 };
enum { BOX2D_TOUCHING = 2, BOX2D_HAS_TOI = 32, BOX2D_CONTACT_FLAGS = 63 };
enum { BOX2D_LOCKED = 2, BOX2D_WORLD_FLAGS = 7 };
enum { BOX2D_POLYGON = 2, BOX2D_REVOLUTE = 1 };

typedef struct {
    box2d_box box;
    box2d_fixture *fixture;
    int32_t child, id;
} box2d_proxy;

struct box2d_fixture {
    float density;
    box2d_fixture *next;
    box2d_body *body;
    void *shape;
    float friction, restitution;
    box2d_proxy *proxies;
    int32_t proxy_count;
    uint16_t filter[3];
    uint8_t is_sensor;
};

typedef struct {
    void *other, *link, *previous, *next;
} box2d_edge; /* of the graph of bodies */

typedef struct {
    box2d_vec local_point;
    float normal_impulse, tangent_impulse;
    uint32_t id;
} box2d_manifold_point;

struct box2d_contact {
    void **vtable;
    uint32_t flags;
    box2d_contact *previous, *next;
    box2d_edge node_a, node_b;
    box2d_fixture *fixture_a, *fixture_b;
    int32_t child_a, child_b;
    /* What its solver remembers, up to the end. */
    box2d_manifold_point points[2];
    box2d_vec local_normal, local_point;
    int32_t type, point_count;
    int32_t toi_count;
    float toi, friction, restitution, tangent_speed;
};

struct box2d_joint { /* revolute */
    void **vtable;
    int32_t type;
    box2d_joint *previous, *next;
    box2d_edge edge_a, edge_b;
    box2d_body *body_a, *body_b;
    int32_t index;
    uint8_t island_flag, collide_connected;
    void *user_data;
    box2d_vec anchor_a, anchor_b;
    /* What its solver remembers and its motor does, up to the end. */
    float impulse[3], motor_impulse;
    uint8_t enable_motor;
    float max_motor_torque, motor_speed;
    uint8_t enable_limit;
    float reference_angle, lower_angle, upper_angle;
    int32_t index_a, index_b;
    box2d_vec arm_a, arm_b, local_center_a, local_center_b;
    float inverse_mass_a, inverse_mass_b, inverse_inertia_a, inverse_inertia_b;
    float matrix[9], motor_mass;
    int32_t limit_state;
};

typedef struct {
    box2d_box box;
    void *user_data; /* of a leaf: its box2d_proxy */
    int32_t parent;  /* or the next free node */
    int32_t child1, child2, height;
} box2d_node;

typedef struct {
    int32_t root;
    box2d_node *nodes;
    int32_t node_count, node_capacity, free_list;
    uint32_t path;
    int32_t insertion_count;
} box2d_tree;

typedef struct {
    box2d_tree tree;
    int32_t proxy_count;
    int32_t *move_buffer;
    int32_t move_capacity, move_count;
    void *pair_buffer;
    int32_t pair_capacity, pair_count, query_proxy;
} box2d_broad_phase;

typedef struct {
    box2d_broad_phase broad_phase;
    box2d_contact *contacts;
    int32_t contact_count;
    void *filter, *listener, *allocator;
} box2d_contact_manager;

struct box2d_world {
    struct {
        void *chunks;
        int32_t chunk_count, chunk_space;
        void *free_lists[14];
    } block_allocator;
    struct {
        char data[100 * 1024];
        int32_t index, allocation, max_allocation;
        struct {
            char *data;
            int32_t size;
            uint8_t used_malloc;
        } entries[32];
        int32_t entry_count;
    } stack_allocator;
    int32_t flags;
    box2d_contact_manager manager;
    box2d_body *bodies;
    box2d_joint *joints;
    int32_t body_count, joint_count;
    box2d_vec gravity;
    uint8_t allow_sleep;
    void *destruction_listener, *debug_draw;
    float inverse_dt0;
    uint8_t settings[4];
    float profile[8];
};

/* Definitions: what is changed in copies of the ones that Python makes. */
typedef struct {
    const void *shape;
    void *user_data;
    float friction, restitution, density;
    uint8_t is_sensor;
    uint16_t filter[3];
} box2d_fixture_def;

typedef struct {
    int32_t type;
    box2d_vec position;
    float angle;
    box2d_vec velocity;
    float angular_velocity, linear_damping, angular_damping;
    uint8_t allow_sleep, awake, fixed_rotation, bullet, active;
    void *user_data;
    float gravity_scale;
} box2d_body_def;

typedef struct {
    int32_t type;
    void *user_data;
    box2d_body *body_a, *body_b;
    uint8_t collide_connected;
    float rest[11];
} box2d_joint_def;

typedef struct {
    void **vtable;
    int32_t type;
    float radius;
    box2d_vec vertex1, vertex2, vertex0, vertex3;
    uint8_t has_vertex0, has_vertex3;
} box2d_edge_shape;

typedef struct {
    void **vtable;
    int32_t type;
    float radius;
    box2d_vec centroid, vertices[16], normals[16];
    int32_t count;
} box2d_polygon_shape;

typedef struct { /* in the order of FUNCTIONS in worlds.pyx */
    void (*construct)(box2d_world *world, const box2d_vec *gravity);
    void (*destruct)(box2d_world *world);
    void (*step)(box2d_world *world, float seconds, int32_t velocity_iterations, int32_t position_iterations);
    box2d_body *(*create_body)(box2d_world *world, const void *definition);
    void (*destroy_body)(box2d_world *world, box2d_body *body);
    box2d_joint *(*create_joint)(box2d_world *world, const void *definition);
    box2d_fixture *(*create_fixture)(box2d_body *body, const void *definition);
    void (*set_motor_speed)(box2d_joint *joint, float speed);
    void (*set_motor_torque)(box2d_joint *joint, float torque);
    void (*set_polygon)(box2d_polygon_shape *shape, const box2d_vec *corners, int32_t count);
    void (*add_pair)(box2d_contact_manager *manager, box2d_proxy *a, box2d_proxy *b);
    int32_t (*allocate_node)(box2d_tree *tree);
    void *listener_type; /* C++'s description of b2ContactListener */
} box2d_calls;

/* --- contacts ----------------------------------------------------------------------------------------------------- */

#define BOX2D_MAX_FEET 2

/* What a contact that begins (touches is 1) or ends (0) is reported to. */
typedef void box2d_report(void *subject, const box2d_contact *contact, int32_t touches);

enum { BOX2D_LISTENER_TABLE = 8 };

/* A b2ContactListener. */
typedef struct {
    void *const *vtable; /* the table below, from its first function on */
    void *table[BOX2D_LISTENER_TABLE];
    box2d_report *report;
    void *subject;
    /* For box2d_report_feet. */
    box2d_body *hull, *feet[BOX2D_MAX_FEET];
    int32_t *touches; /* of the hull, and of the feet */
} box2d_listener;

/* Records which feet touch the ground, and whether the hull has touched it. As in Gymnasium the last event of a foot
 * decides, even if it still touches another piece of ground. */
static void box2d_report_feet(void *subject, const box2d_contact *contact, int32_t touches)
{
    box2d_listener *self = (box2d_listener *)subject;
    const box2d_body *a = contact->fixture_a->body, *b = contact->fixture_b->body;
    if (touches && (a == self->hull || b == self->hull))
        self->touches[0] = 1;
    for (int k = 0; k < BOX2D_MAX_FEET; k++)
        if (a == self->feet[k] || b == self->feet[k])
            self->touches[1 + k] = touches;
}

static void box2d_begin_contact(box2d_listener *self, box2d_contact *contact)
{
    self->report(self->subject, contact, 1);
}

static void box2d_end_contact(box2d_listener *self, box2d_contact *contact)
{
    self->report(self->subject, contact, 0);
}

static void box2d_ignore(box2d_listener *self, box2d_contact *contact, const void *details)
{
    (void)self, (void)contact, (void)details;
}

static void box2d_keep(box2d_listener *self)
{
    (void)self; /* its memory is a part of the lane's */
}

/* The table of virtual functions. Before the first one are the offset of the object and its type, which the Python package
 * asks for when a program looks at `world.contactManager`. */
static inline void box2d_set_listener_table(box2d_listener *self, void *type)
{
    void *const table[BOX2D_LISTENER_TABLE] = {
        NULL, type, (void *)box2d_keep, (void *)box2d_keep, (void *)box2d_begin_contact, (void *)box2d_end_contact,
        (void *)box2d_ignore, (void *)box2d_ignore,
    };
    memcpy(self->table, table, sizeof(table));
    self->vtable = self->table + 2;
}

/* --- bodies: what Box2D's headers have inline --------------------------------------------------------------------- */

static inline void box2d_wake(box2d_body *body)
{
    if (!(body->flags & BOX2D_AWAKE)) {
        body->flags |= BOX2D_AWAKE;
        body->sleep_time = 0.0f;
    }
}

static inline void box2d_apply_force(box2d_body *body, float x, float y)
{
    box2d_wake(body);
    body->force.x += x;
    body->force.y += y;
}

static inline void box2d_apply_torque(box2d_body *body, float torque)
{
    box2d_wake(body);
    body->torque += torque;
}

static inline void box2d_apply_impulse(box2d_body *body, float x, float y, float at_x, float at_y)
{
    box2d_wake(body);
    body->velocity.x += body->inverse_mass * x;
    body->velocity.y += body->inverse_mass * y;
    body->angular_velocity += body->inverse_inertia * ((at_x - body->center.x) * y - (at_y - body->center.y) * x);
}

static inline box2d_vec box2d_world_point(const box2d_body *body, float x, float y)
{
    box2d_vec point = {(body->cosine * x - body->sine * y) + body->position.x,
                       (body->sine * x + body->cosine * y) + body->position.y};
    return point;
}

static inline float box2d_joint_angle(const box2d_joint *joint)
{
    return joint->body_b->angle - joint->body_a->angle - joint->reference_angle;
}

static inline float box2d_joint_speed(const box2d_joint *joint)
{
    return joint->body_b->angular_velocity - joint->body_a->angular_velocity;
}

/* --- worlds ------------------------------------------------------------------------------------------------------- */

#define BOX2D_MAX_MOVING 5
#define BOX2D_MAX_JOINTS 4

typedef struct {
    box2d_listener listener;
    box2d_world *world;
    box2d_body *moving[BOX2D_MAX_MOVING];
    box2d_joint *joints[BOX2D_MAX_JOINTS];
    int32_t moving_count, joint_count, body_count, proxy_count;
    const void *filter; /* Box2D's own contact filter */
    int64_t builds;     /* how often there were new bodies */
    int32_t changed;    /* a program has changed the world so that it was not stepped, or not reset */
    /* Box2D is in the middle of changing the world: true for good in a child that was forked then. */
    volatile int32_t busy;
} box2d_lane;

/* Whether the bodies and joints that a lane points to are still there. Those that a program makes in place of destroyed ones
 * may have their addresses, so a joint must also be of the kind that it was. Lists begin with the newest: the lane's own come
 * before the ground. */
static inline int box2d_has_all(const box2d_lane *lane)
{
    int found = 0;
    for (const box2d_body *body = lane->world->bodies; body && found < lane->moving_count; body = body->next)
        for (int k = 0; k < lane->moving_count; k++)
            found += body == lane->moving[k];
    for (const box2d_joint *joint = lane->world->joints; joint; joint = joint->next)
        for (int k = 0; k < lane->joint_count; k++)
            found += joint == lane->joints[k] && joint->type == BOX2D_REVOLUTE;
    return found == lane->moving_count + lane->joint_count && lane->world->body_count >= lane->body_count;
}

/* Whether Box2D calls no code of a program's, which could not run without the GIL, and is not in the middle of a step, which
 * a listener that raises leaves for good. */
static inline int box2d_is_free(const box2d_lane *lane)
{
    return lane->world->manager.filter == lane->filter && !lane->world->destruction_listener &&
           !(lane->world->flags & BOX2D_LOCKED);
}

/* Whether a world can be stepped: it was built, and is as it was built. */
static inline int box2d_is_steppable(const box2d_lane *lane)
{
    return lane->builds && !lane->busy && lane->world->manager.listener == &lane->listener && box2d_is_free(lane) && box2d_has_all(lane);
}

/* Whether a world can be emptied; forget a contact listener of a program's, as Gymnasium's resets do. */
static inline int box2d_is_resettable(box2d_lane *lane)
{
    if (!box2d_is_free(lane))
        return 0;
    if (lane->world->manager.listener != &lane->listener)
        lane->world->manager.listener = NULL;
    return 1;
}

static inline void box2d_step(const box2d_calls *calls, box2d_lane *lane)
{
    calls->step(lane->world, (float)(1.0 / 50), 180, 60); /* seconds, and Gymnasium's iterations of the solver */
}

/* Begin to listen, when all bodies are there. */
static inline void box2d_listen(const box2d_calls *calls, box2d_lane *lane, box2d_report *report, void *subject)
{
    box2d_set_listener_table(&lane->listener, calls->listener_type);
    lane->listener.report = report;
    lane->listener.subject = subject;
    lane->world->manager.listener = &lane->listener;
    lane->body_count = lane->world->body_count;
    lane->proxy_count = lane->world->manager.broad_phase.proxy_count;
    lane->builds++;
}

static inline void box2d_listen_to_feet(
    const box2d_calls *calls, box2d_lane *lane, box2d_body *foot1, box2d_body *foot2, int32_t *touches)
{
    lane->listener.hull = lane->moving[0];
    lane->listener.feet[0] = foot1;
    lane->listener.feet[1] = foot2;
    lane->listener.touches = touches;
    memset(touches, 0, sizeof(int32_t) * (1 + BOX2D_MAX_FEET));
    box2d_listen(calls, lane, box2d_report_feet, &lane->listener);
}

static inline void box2d_construct(const box2d_calls *calls, box2d_world *world, float gravity)
{
    const box2d_vec vector = {0.0f, gravity};
    calls->construct(world, &vector);
}

static inline void box2d_empty(const box2d_calls *calls, box2d_world *world, float gravity)
{
    calls->destruct(world);
    box2d_construct(calls, world, gravity);
}

/* --- states ------------------------------------------------------------------------------------------------------- */

/* Memory that a world is written to, or read from: the same walk in both directions. What was read is checked before it is
 * used: Box2D's assertions, which need the GIL, must hold for it too. */
typedef struct {
    char *at, *end;
    int reading;
} box2d_archive;

static int box2d_copy(box2d_archive *archive, void *place, size_t size)
{
    if ((size_t)(archive->end - archive->at) < size)
        return 0;
    if (archive->reading)
        memcpy(place, archive->at, size);
    else
        memcpy(archive->at, place, size);
    archive->at += size;
    return 1;
}

#define BOX2D_COPY(archive, field) box2d_copy(archive, &(field), sizeof(field))
/* From one field of a structure to another one, both included. */
#define BOX2D_COPY_SPAN(archive, type, object, first, last) \
    box2d_copy(archive, &(object)->first, offsetof(type, last) + sizeof((object)->last) - offsetof(type, first))

/* Beyond it, squares of squares are infinite. */
#define BOX2D_LIMIT 1e9f

static inline int box2d_is_within(float value, float low, float high) /* false for nan */
{
    return low <= value && value <= high;
}

static int box2d_are_finite(const float *values, int count)
{
    for (int k = 0; k < count; k++)
        if (!box2d_is_within(values[k], -BOX2D_LIMIT, BOX2D_LIMIT))
            return 0;
    return 1;
}

/* The floats of a structure from one field to another one, both included. */
#define BOX2D_ARE_FINITE(type, object, first, last) \
    box2d_are_finite((const float *)&(object)->first, \
                     (int)((offsetof(type, last) + sizeof((object)->last) - offsetof(type, first)) / sizeof(float)))

static int box2d_is_node(const box2d_tree *tree, int32_t index)
{
    return 0 <= index && index < tree->node_capacity;
}

/* Whether a node that is no leaf has its two children, and is around them. */
static int box2d_is_parent(const box2d_tree *tree, int32_t index)
{
    const box2d_node *node = &tree->nodes[index];
    if (!box2d_is_node(tree, node->child1) || !box2d_is_node(tree, node->child2) || node->child1 == node->child2)
        return 0;
    const box2d_node *one = &tree->nodes[node->child1], *two = &tree->nodes[node->child2];
    return one->parent == index && two->parent == index && one->height >= 0 && two->height >= 0 &&
           node->height == 1 + (one->height > two->height ? one->height : two->height);
}

/* Whether each node is either in the tree or in the list of free ones, once, and each leaf is a fixture's. Heights grow from
 * child to parent, so parents that list their children and one node without a parent make a tree. */
static int box2d_is_tree(const box2d_tree *tree, int32_t leaves)
{
    int32_t used = 0, seen_leaves = 0, free_count = 0;
    if (!box2d_is_node(tree, tree->root) || tree->node_count != 2 * leaves - 1)
        return 0;
    for (int32_t i = 0; i < tree->node_capacity; i++) {
        const box2d_node *node = &tree->nodes[i];
        if (node->height == -1)
            continue;
        used++;
        if (node->height < 0 || !BOX2D_ARE_FINITE(box2d_node, node, box, box))
            return 0;
        if (node->height == 0) {
            seen_leaves++;
            if (node->child1 != -1 || node->child2 != -1 || !node->user_data)
                return 0;
        } else if (!box2d_is_parent(tree, i))
            return 0;
        if (i == tree->root ? node->parent != -1
                            : !box2d_is_node(tree, node->parent) || (tree->nodes[node->parent].child1 != i &&
                                                                     tree->nodes[node->parent].child2 != i))
            return 0;
    }
    if (used != tree->node_count || seen_leaves != leaves)
        return 0;
    for (int32_t i = tree->free_list; i != -1; i = tree->nodes[i].parent, free_count++)
        if (!box2d_is_node(tree, i) || tree->nodes[i].height != -1 || free_count == tree->node_capacity - used)
            return 0;
    return free_count == tree->node_capacity - used;
}

/* The tree of the broad phase, node by node: which numbers proxies have decides the order of contacts, also of those of
 * bodies that are made later. */
static int box2d_copy_tree(const box2d_calls *calls, box2d_archive *archive, box2d_world *world)
{
    box2d_broad_phase *phase = &world->manager.broad_phase;
    box2d_tree *tree = &phase->tree;
    int32_t capacity = tree->node_capacity;
    if (!BOX2D_COPY(archive, capacity) || capacity > (archive->end - archive->at) / (ptrdiff_t)sizeof(box2d_box))
        return 0;
    while (tree->node_capacity < capacity)
        calls->allocate_node(tree);
    int fits = capacity == tree->node_capacity && BOX2D_COPY(archive, tree->root) &&
               BOX2D_COPY(archive, tree->free_list) && BOX2D_COPY(archive, tree->node_count);
    for (int32_t i = 0; fits && i < capacity; i++) {
        fits = BOX2D_COPY(archive, tree->nodes[i].box) &&
               BOX2D_COPY_SPAN(archive, box2d_node, &tree->nodes[i], parent, height);
        if (archive->reading)
            tree->nodes[i].user_data = NULL;
    }
    for (box2d_body *body = world->bodies; fits && body; body = body->next)
        for (box2d_fixture *fixture = body->fixtures; fits && fixture; fixture = fixture->next) {
            box2d_proxy *proxy = fixture->proxies;
            fits = BOX2D_COPY(archive, proxy->id) && box2d_is_node(tree, proxy->id) &&
                   (!archive->reading || !tree->nodes[proxy->id].user_data);
            if (fits)
                tree->nodes[proxy->id].user_data = proxy;
        }
    if (archive->reading)
        phase->move_count = 0;
    return fits && box2d_is_tree(tree, phase->proxy_count);
}

/* Bytes that mean nothing become zeros, so that equal worlds are written as equal bytes. */
static void box2d_clear_unused(box2d_contact *contact)
{
    if (0 <= contact->point_count && contact->point_count < 2)
        memset(contact->points + contact->point_count, 0, sizeof(contact->points[0]) * (2 - contact->point_count));
    if (contact->point_count == 0)
        memset(&contact->local_normal, 0, offsetof(box2d_contact, point_count) - offsetof(box2d_contact, local_normal));
    if (!(contact->flags & BOX2D_HAS_TOI))
        contact->toi = 0.0f;
}

static int box2d_is_contact(const box2d_contact *contact)
{
    const int is_sensor = contact->fixture_a->is_sensor || contact->fixture_b->is_sensor;
    if (contact->flags & ~(uint32_t)BOX2D_CONTACT_FLAGS || contact->point_count < 0 || contact->point_count > 2 ||
        contact->type < 0 || contact->type > 2 || contact->toi_count < 0 || !box2d_is_within(contact->toi, 0.0f, 1.0f) ||
        !BOX2D_ARE_FINITE(box2d_contact, contact, friction, tangent_speed) ||
        !BOX2D_ARE_FINITE(box2d_contact, contact, local_normal, local_point))
        return 0;
    if (is_sensor ? contact->point_count > 0 : !(contact->flags & BOX2D_TOUCHING) != !contact->point_count)
        return 0;
    for (int k = 0; k < contact->point_count; k++)
        if (!BOX2D_ARE_FINITE(box2d_manifold_point, &contact->points[k], local_point, tangent_impulse) ||
            contact->points[k].normal_impulse < 0.0f)
            return 0;
    return 1;
}

/* Contacts, the oldest first: a new one goes to the front of all lists. */
static int box2d_copy_contacts(const box2d_calls *calls, box2d_archive *archive, box2d_world *world)
{
    box2d_contact_manager *manager = &world->manager;
    const box2d_tree *tree = &manager->broad_phase.tree;
    box2d_contact *contact = manager->contacts;
    int32_t count = manager->contact_count, proxies[2] = {0, 0};
    int fits = BOX2D_COPY(archive, count);
    while (!archive->reading && contact && contact->next)
        contact = contact->next;
    for (int32_t i = 0; fits && i < count; i++) {
        if (!archive->reading) {
            proxies[0] = contact->fixture_a->proxies->id;
            proxies[1] = contact->fixture_b->proxies->id;
            box2d_clear_unused(contact);
        }
        fits = BOX2D_COPY(archive, proxies);
        if (fits && archive->reading) {
            for (int k = 0; k < 2; k++)
                if (!box2d_is_node(tree, proxies[k]) || !tree->nodes[proxies[k]].user_data)
                    return 0;
            calls->add_pair(manager, tree->nodes[proxies[0]].user_data, tree->nodes[proxies[1]].user_data);
            contact = manager->contacts;
            if (manager->contact_count != i + 1 || contact->fixture_a->proxies->id != proxies[0])
                return 0;
        }
        fits = fits && BOX2D_COPY(archive, contact->flags) &&
               BOX2D_COPY_SPAN(archive, box2d_contact, contact, points, tangent_speed) && box2d_is_contact(contact);
        contact = contact->previous;
    }
    return fits;
}

/* How a body moves. */
static int box2d_copy_body(box2d_archive *archive, box2d_body *body)
{
    const int active = body->flags & BOX2D_ACTIVE;
    return BOX2D_COPY(archive, body->flags) && BOX2D_COPY_SPAN(archive, box2d_body, body, position, cosine) &&
           BOX2D_COPY_SPAN(archive, box2d_body, body, center0, torque) && BOX2D_COPY(archive, body->sleep_time) &&
           !(body->flags & ~BOX2D_BODY_FLAGS) && (body->flags & BOX2D_ACTIVE) == active &&
           BOX2D_ARE_FINITE(box2d_body, body, position, position) && box2d_is_within(body->sine, -1.0f, 1.0f) &&
           box2d_is_within(body->cosine, -1.0f, 1.0f) && BOX2D_ARE_FINITE(box2d_body, body, center0, torque) &&
           0.0f <= body->alpha0 && body->alpha0 < 1.0f && box2d_is_within(body->sleep_time, 0.0f, BOX2D_LIMIT);
}

/* What the solver remembers of a joint, and what its motor does. */
static int box2d_copy_joint(box2d_archive *archive, box2d_joint *joint)
{
    return BOX2D_COPY_SPAN(archive, box2d_joint, joint, impulse, motor_impulse) &&
           BOX2D_COPY(archive, joint->enable_motor) &&
           BOX2D_COPY_SPAN(archive, box2d_joint, joint, max_motor_torque, motor_speed) &&
           BOX2D_COPY(archive, joint->enable_limit) && BOX2D_COPY(archive, joint->lower_angle) &&
           BOX2D_COPY(archive, joint->upper_angle) && BOX2D_COPY(archive, joint->limit_state) &&
           BOX2D_ARE_FINITE(box2d_joint, joint, impulse, motor_impulse) && joint->enable_motor <= 1 &&
           box2d_is_within(joint->max_motor_torque, 0.0f, BOX2D_LIMIT) &&
           BOX2D_ARE_FINITE(box2d_joint, joint, motor_speed, motor_speed) && joint->enable_limit <= 1 &&
           BOX2D_ARE_FINITE(box2d_joint, joint, lower_angle, upper_angle) && joint->lower_angle <= joint->upper_angle &&
           0 <= joint->limit_state && joint->limit_state <= 3;
}

/* Write a world to the archive, or read it into one that was just built in the same way: all that decides how it goes on.
 * Returns 0 if it does not fit, has bodies of somebody else, or has values that no world can go on with; a world that was
 * read can only be destructed then. */
static int box2d_copy_world(const box2d_calls *calls, box2d_archive *archive, box2d_lane *lane)
{
    box2d_world *world = lane->world;
    if (world->body_count != lane->body_count || world->joint_count != lane->joint_count ||
        world->manager.broad_phase.proxy_count != lane->proxy_count)
        return 0;
    int fits = box2d_copy_tree(calls, archive, world) && box2d_copy_contacts(calls, archive, world) &&
               BOX2D_COPY(archive, world->gravity) && BOX2D_COPY(archive, world->flags) &&
               BOX2D_COPY(archive, world->inverse_dt0) && BOX2D_ARE_FINITE(box2d_world, world, gravity, gravity) &&
               !(world->flags & (~BOX2D_WORLD_FLAGS | BOX2D_LOCKED)) &&
               box2d_is_within(world->inverse_dt0, 0.0f, BOX2D_LIMIT);
    /* After the contacts, which wake bodies. */
    for (int k = 0; fits && k < lane->moving_count; k++)
        fits = box2d_copy_body(archive, lane->moving[k]);
    for (int k = 0; fits && k < lane->joint_count; k++)
        fits = box2d_copy_joint(archive, lane->joints[k]);
    return fits;
}

#endif
