/* This process by a name that no other has, and whether a process so named still runs. */
#ifndef FIRN_BASE_PROCESS_H
#define FIRN_BASE_PROCESS_H

#include "firn/op.h"

/* Members of firn_env_real. */
struct firn_text firn_process_name_real(void *context, struct firn_arena *arena);
enum firn_process_state firn_process_state_real(void *context, struct firn_text name);

#endif
