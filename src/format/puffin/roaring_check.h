/* Checks of serialised 32-bit Roaring bitmaps. The library trusts what it reads: order, counts and lengths inside
 * containers are checked here first. Roaring format specification. */
#ifndef FIRN_FORMAT_PUFFIN_ROARING_CHECK_H
#define FIRN_FORMAT_PUFFIN_ROARING_CHECK_H

#include "base/cursor.h"

/* Takes the bytes of one bitmap in the portable format; anything irregular fails the cursor. */
struct firn_bytes firn_take_roaring32(struct firn_cursor *in);

#endif
