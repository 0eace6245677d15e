/* write.manifest.compression-codec, as Avro codec and level. */
#ifndef FIRN_TABLE_MANIFEST_CODEC_H
#define FIRN_TABLE_MANIFEST_CODEC_H

#include "format/avro/writer.h"

/* Sets codec and level of `config`. `name` is gzip (also when empty), zstd, snappy or uncompressed, in any case; USAGE
 * otherwise. `level` FIRN_CODEC_LEVEL_DEFAULT stands for 6 with gzip and 1 with zstd. */
FIRN_CHECKED firn_status firn_manifest_codec(struct firn_op *op, struct firn_text name, int32_t level,
                                             struct firn_avro_writer_config *config);

#endif
