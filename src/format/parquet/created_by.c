/* Applications and versions in created_by. parquet.thrift, FileMetaData. */
#include "format/parquet/created_by.h"

#define VERSION " version "

static struct firn_text application_of(struct firn_text created_by)
{
    size_t len = sizeof VERSION - 1;
    for (size_t i = 0; i + len <= created_by.len; i++)
        if (memcmp(created_by.data + i, VERSION, len) == 0)
            return firn_text_until(created_by, i);
    return created_by;
}

/* A number of up to nine digits at the front, which is cut off. */
static uint32_t take_number(struct firn_text *text)
{
    uint32_t number = 0;
    size_t i = 0;
    for (; i < text->len && i < 9 && text->data[i] >= '0' && text->data[i] <= '9'; i++)
        number = number * 10 + (uint32_t)(text->data[i] - '0');
    *text = firn_text_from(*text, i);
    return number;
}

static bool take(struct firn_text *text, char c)
{
    bool is_there = text->len > 0 && text->data[0] == c;
    if (is_there)
        *text = firn_text_from(*text, 1);
    return is_there;
}

/* "1.10.1-SNAPSHOT", "v1.3.0-dev2567", "471": what is missing is 0. */
static struct firn_writer_version version_of(struct firn_text created_by)
{
    struct firn_writer_version version = { 0 };
    size_t at = application_of(created_by).len + sizeof VERSION - 1;
    if (at >= created_by.len)
        return version;
    struct firn_text text = firn_text_from(created_by, at);
    take(&text, 'v');
    version.major = take_number(&text);
    version.minor = take(&text, '.') ? take_number(&text) : 0;
    version.patch = take(&text, '.') ? take_number(&text) : 0;
    return version;
}

static bool is_before(struct firn_writer_version a, struct firn_writer_version b)
{
    if (a.major != b.major)
        return a.major < b.major;
    return a.minor != b.minor ? a.minor < b.minor : a.patch < b.patch;
}

bool firn_written_by(struct firn_text created_by, const char *application)
{
    return firn_text_is(application_of(created_by), application);
}

bool firn_written_before(struct firn_text created_by, const char *application, struct firn_writer_version version)
{
    return firn_written_by(created_by, application) && is_before(version_of(created_by), version);
}

bool firn_written_since(struct firn_text created_by, const char *application, struct firn_writer_version version)
{
    return firn_written_by(created_by, application) && !is_before(version_of(created_by), version);
}
