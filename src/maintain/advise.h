/* Inside advise: what is known of the history, and how a topic states its verdict. */
#ifndef FIRN_MAINTAIN_ADVISE_H
#define FIRN_MAINTAIN_ADVISE_H

#include "firn/advise.h"
#include "firn/measure.h"
#include "format/codec/codec.h"
#include "maintain/remedy.h"
#include "maintain/survey.h"

/* Fewer commits of a writer tell nothing of its habits; fewer updates nothing of how often there are some. */
enum { FIRN_ADVISE_COMMITS_MIN = 10, FIRN_ADVISE_UPDATES_MIN = 5 };

/* The commits by which the writer that adds most files adds data; medians, FIRN_SURVEY_UNKNOWN where none is known. */
struct firn_advise_batches {
    struct firn_text writer; /* empty: nobody adds files */
    int64_t commits;
    int64_t span_ms;
    int64_t files, bytes;
    int64_t partitions;  /* changed by a commit */
    int64_t interval_ms; /* between two */
};

/* What the columns of some of the newest data files are compressed with. */
struct firn_codec_sample {
    int files;
    int64_t codec_bytes[FIRN_CODEC_COUNT]; /* compressed with each */
    int64_t compressed_bytes, uncompressed_bytes;
};

struct firn_advising {
    struct firn_op *op;
    const struct firn_table *table;
    const struct firn_survey *survey;
    int64_t file_bytes; /* wanted */
    int64_t latency_ms;
    const struct firn_codec_sample *codecs; /* NULL: not looked */
    struct firn_advise_batches batches;
    FIRN_ARRAY(struct firn_advice) items;
};

/* Of a survey and a sample (NULL: none) that were taken: no storage, no clock. */
FIRN_CHECKED firn_status firn_advise_by_survey(struct firn_op *op, const struct firn_table *table,
                                               const struct firn_survey *survey, const struct firn_codec_sample *codecs,
                                               const struct firn_advise_options *options,
                                               struct firn_advise_report *out);

/* Reads the footers of some of the newest data files, as far as they can be read. CANCELLED only. */
FIRN_CHECKED firn_status firn_advise_sample_codecs(struct firn_op *op, const struct firn_table *table,
                                                   struct firn_codec_sample *out);
void firn_advise_batches_of(struct firn_op *op, const struct firn_survey *survey, struct firn_advise_batches *out);
bool firn_advise_is_writer(const struct firn_advising *run, const char *engine);

/* A verdict on a topic, which may be left without settings. */
struct firn_advice *firn_advise_add(struct firn_advising *run, const char *topic, enum firn_advice_verdict verdict,
                                    struct firn_text what, struct firn_text why);
/* Where there is too little to tell from. */
void firn_advise_unknown(struct firn_advising *run, const char *topic, struct firn_text why);
void firn_advise_set(struct firn_advice *advice, const char *where, struct firn_text text);
/* Table properties as settings: "ALTER TABLE ... SET TBLPROPERTIES (...)" and "firn set-properties ...". */
void firn_advise_set_properties(struct firn_advising *run, struct firn_advice *advice,
                                const struct firn_property *properties, size_t count);

/* The spec of new files; NULL: none, or it has no fields. */
const struct firn_partition_spec *firn_advise_spec(const struct firn_advising *run);

/* Numbers as people read them. */
struct firn_text firn_advise_bytes(const struct firn_advising *run, double bytes);
struct firn_text firn_advise_count(const struct firn_advising *run, int64_t count);
/* "1 file", "12,345 files" of the noun "file". */
struct firn_text firn_advise_some(const struct firn_advising *run, int64_t count, const char *noun);
struct firn_text firn_advise_duration(const struct firn_advising *run, int64_t ms);

/* The topics. */
void firn_advise_shuffle(struct firn_advising *run);
void firn_advise_interval(struct firn_advising *run);
void firn_advise_distribution(struct firn_advising *run);
void firn_advise_file_size(struct firn_advising *run);
void firn_advise_codec(struct firn_advising *run);
FIRN_CHECKED firn_status firn_advise_metrics(struct firn_advising *run);
void firn_advise_partitioning(struct firn_advising *run);
void firn_advise_updates(struct firn_advising *run);

#endif
