/* Puffin files: blobs and a JSON footer. Does no I/O. Iceberg's Puffin specification. */
#ifndef FIRN_FORMAT_PUFFIN_H
#define FIRN_FORMAT_PUFFIN_H

#include "base/sink.h"
#include "format/codec/codec.h"
#include "format/json/json.h"

#define FIRN_PUFFIN_TAIL_BYTES 12 /* payload size, flags, magic */
/* Larger footers and blobs are refused. */
#define FIRN_PUFFIN_FOOTER_BYTES_MAX (UINT64_C(1) << 28)
#define FIRN_PUFFIN_BLOB_BYTES_MAX   (UINT64_C(1) << 31)

struct firn_puffin_property {
    struct firn_text key;
    struct firn_text value;
};

/* The blob's type is open: "deletion-vector-v1", "apache-datasketches-theta-v1", others. */
struct firn_puffin_blob {
    struct firn_text type;
    int32_t *fields;
    uint32_t field_count;
    int64_t snapshot_id;     /* -1: not known when it was written */
    int64_t sequence_number; /* likewise */
    int64_t offset, length;  /* as stored */
    struct firn_text codec;  /* "lz4", "zstd"; empty: stored as it is */
    struct firn_puffin_property *properties;
    uint32_t property_count;
};

struct firn_puffin_footer {
    struct firn_puffin_blob *blobs;
    uint32_t blob_count;
    struct firn_puffin_property *properties;
    uint32_t property_count;
    bool compressed; /* the footer was */
};

/* Reads a file's last 12 bytes: how long the whole footer is, its first magic included. `file_bytes` is the size of the
 * file. CORRUPT for a wrong magic, unknown flags or a footer that does not fit. */
FIRN_CHECKED firn_status firn_puffin_tail_parse(struct firn_op *op, struct firn_bytes tail, uint64_t file_bytes,
                                                uint32_t *footer_bytes);
/* Parses the footer, `footer_bytes` as firn_puffin_tail_parse gave. Every blob was checked to lie between the first
 * magic and the footer. Lives in op->arena and does not borrow from `bytes`. */
FIRN_CHECKED firn_status firn_puffin_footer_parse(struct firn_op *op, struct firn_bytes bytes, uint64_t file_bytes,
                                                  struct firn_puffin_footer *out);
/* Both, and the leading magic, for a whole file in memory. */
FIRN_CHECKED firn_status firn_puffin_parse(struct firn_op *op, struct firn_bytes file, struct firn_puffin_footer *out);

/* A blob's content, decompressed, appended to `out`. `stored` are its bytes in the file. CORRUPT for a codec that
 * the format does not have, and for a compressed blob that does not state its content's size. */
FIRN_CHECKED firn_status firn_puffin_blob_decode(struct firn_op *op, const struct firn_puffin_blob *blob,
                                                 struct firn_bytes stored, struct firn_buffer *out);
/* The property, or a text with data == NULL. */
struct firn_text firn_puffin_property_find(const struct firn_puffin_property *properties, uint32_t count,
                                           const char *key);

struct firn_puffin_writer;
/* Writes the leading magic to `sink`. The writer lives in op->arena. */
FIRN_CHECKED firn_status firn_puffin_writer_open(struct firn_op *op, struct firn_sink *sink,
                                                 struct firn_puffin_writer **out);
/* Writes a blob: `content` compressed as blob->codec says. Offset and length are set by this call, in `blob` too. Texts
 * of `blob` are borrowed until finish. */
FIRN_CHECKED firn_status firn_puffin_writer_add(struct firn_op *op, struct firn_puffin_writer *writer,
                                                struct firn_puffin_blob *blob, struct firn_bytes content);
/* Writes the footer with the file's properties. `compress` asks for an LZ4 frame. */
FIRN_CHECKED firn_status firn_puffin_writer_finish(struct firn_op *op, struct firn_puffin_writer *writer,
                                                   const struct firn_puffin_property *properties, uint32_t count,
                                                   bool compress);

#endif
