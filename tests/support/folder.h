/* A temporary folder of a test, removed with everything in it. */
#ifndef FIRN_TESTS_FOLDER_H
#define FIRN_TESTS_FOLDER_H

#include "firn/arena.h"

/* An absolute path, in the arena. Ends the test program when there is none to be had. */
struct firn_text folder_make(struct firn_arena *arena);
void folder_remove(struct firn_text path);
/* Whether its file system copies between files within the kernel. */
bool folder_copies_in_kernel(struct firn_arena *arena, struct firn_text path);

#endif
