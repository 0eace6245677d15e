/* What stands behind a store: a table of functions over locations that were relocated already.
 *
 * The local and the memory driver live here; a test's driver wraps another store. Locations given to a driver are
 * never empty, hold no NUL byte, and are followed by one. All functions are thread-safe. */
#ifndef FIRN_STORE_DRIVER_H
#define FIRN_STORE_DRIVER_H

#include "store/store.h"

#include <sys/types.h>

struct firn_store_driver {
    firn_status (*stat)(struct firn_op *op, void *state, struct firn_text location, struct firn_store_stat *out);
    firn_status (*open)(struct firn_op *op, void *state, struct firn_text location, struct firn_object **out);
    /* See firn_store_expect; a failure that it states is dropped. NULL: nothing would help. */
    bool (*expect)(struct firn_op *op, void *state, struct firn_text location);
    firn_status (*write)(struct firn_op *op, void *state, struct firn_text location, bool exclusive,
                         struct firn_store_writer **out);
    firn_status (*list)(struct firn_op *op, void *state, struct firn_text prefix, bool recursive,
                        firn_store_visit *visit, void *context);
    /* FIRN_OK also when there was nothing. */
    firn_status (*remove)(struct firn_op *op, void *state, struct firn_text location);
    void (*close)(void *state);
};

/* What was asked of a store. */
struct firn_store_counts {
    atomic_int_fast64_t requests[FIRN_REQUEST_COUNT];
    atomic_int_fast64_t bytes_read, bytes_written;
    atomic_int_fast64_t bytes_copied; /* of those written, within the kernel */
};

/* First member of a driver's own object. */
struct firn_object {
    firn_status (*read)(struct firn_op *op, struct firn_object *object, uint64_t offset, size_t len, uint8_t *out);
    void (*close)(struct firn_object *object);
    uint64_t size;
    struct firn_text location;
    struct firn_store_counts *counts; /* set by the store that opened it, */
    struct firn_source source;        /* as is this */
};

/* The object that firn_object_source gave a source for; NULL for a source that is something else. */
struct firn_object *firn_source_object(struct firn_source *source);

/* First member of a driver's own writer. */
struct firn_store_writer {
    firn_status (*finish)(struct firn_op *op, struct firn_store_writer *writer); /* `close` is still to come */
    void (*close)(struct firn_store_writer *writer);
    struct firn_sink sink;
    struct firn_store_counts *counts; /* set by the store that opened it */
};

/* A store over a driver. Takes `state` over: closed with the store, and also when this fails. */
FIRN_CHECKED firn_status firn_store_open_driver(struct firn_op *op, const struct firn_store_config *config,
                                                const struct firn_store_driver *driver, void *state,
                                                struct firn_store **out);

/* Files of this machine; any `state` but NULL leaves out what makes them survive a loss of power. local.c,
 * local_write.c */
extern const struct firn_store_driver firn_local_driver;
/* The file behind an object, if it is one of the local driver's; else below 0. */
int firn_local_descriptor(const struct firn_object *object);
FIRN_CHECKED firn_status firn_local_write(struct firn_op *op, void *state, struct firn_text location, bool exclusive,
                                          struct firn_store_writer **out);

/* The path of a local location: "file:/x", "file:///x", "file://localhost/x", "/x" and relative ones. File URIs are not
 * decoded, as their writers did not encode them. UNSUPPORTED names another scheme or host. Borrows, and is followed by
 * a NUL where `location` is. */
FIRN_CHECKED firn_status firn_location_local_path(struct firn_op *op, struct firn_text location,
                                                  struct firn_text *path);

#endif
