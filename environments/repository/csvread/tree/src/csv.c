#include "csv.h"

#include <stdlib.h>

#include "buffer.h"

enum state {
    /* At the beginning of a field. */
    FIELD_START,
    /* In a field without quotes. */
    PLAIN,
    /* In a field in quotes. */
    QUOTED,
    /* Behind a quote within quotes: the end of the field, or half of a doubled quote. */
    QUOTE_SEEN,
};

struct csv_reader {
    char separator;
    csv_on_record on_record;
    void *context;
    enum state state;
    /* Fields of the record so far, each ended by a zero byte. */
    struct buffer text;
    size_t *starts;
    size_t count;
    size_t room;
};

struct csv_reader *csv_open(char separator, csv_on_record on_record, void *context)
{
    struct csv_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->separator = separator;
    reader->on_record = on_record;
    reader->context = context;
    return reader;
}

static int start_field(struct csv_reader *reader)
{
    if (reader->count == reader->room) {
        size_t room = reader->room ? reader->room * 2 : 16;
        size_t *starts = realloc(reader->starts, room * sizeof *starts);
        if (!starts)
            return 0;
        reader->starts = starts;
        reader->room = room;
    }
    reader->starts[reader->count++] = reader->text.length;
    return 1;
}

static enum csv_status end_record(struct csv_reader *reader)
{
    const char **fields = malloc((reader->count + 1) * sizeof *fields);
    if (!fields)
        return CSV_NO_MEMORY;
    for (size_t i = 0; i < reader->count; i++)
        fields[i] = reader->text.bytes + reader->starts[i];
    fields[reader->count] = NULL;
    reader->on_record(reader->context, fields, reader->count);
    free(fields);
    reader->count = 0;
    reader->text.length = 0;
    return CSV_OK;
}

/* Ends a field at a separator or a line end. */
static enum csv_status end_field(struct csv_reader *reader, char byte)
{
    if (!buffer_push(&reader->text, '\0'))
        return CSV_NO_MEMORY;
    reader->state = FIELD_START;
    return byte == '\n' ? end_record(reader) : CSV_OK;
}

static enum csv_status feed(struct csv_reader *reader, char byte)
{
    int ends = byte == reader->separator || byte == '\n';

    switch (reader->state) {
    case FIELD_START:
        if (byte == '\r')
            return CSV_OK;
        if (byte == '\n' && reader->count == 0)
            return CSV_OK;
        if (!start_field(reader))
            return CSV_NO_MEMORY;
        if (ends)
            return end_field(reader, byte);
        reader->state = byte == '"' ? QUOTED : PLAIN;
        if (byte == '"')
            return CSV_OK;
        break;
    case PLAIN:
        if (ends)
            return end_field(reader, byte);
        if (byte == '\r')
            return CSV_OK;
        if (byte == '"')
            return CSV_STRAY_QUOTE;
        break;
    case QUOTED:
        if (byte == '"') {
            reader->state = QUOTE_SEEN;
            return CSV_OK;
        }
        if (byte == '\r')
            return CSV_OK;
        break;
    case QUOTE_SEEN:
        if (ends)
            return end_field(reader, byte);
        if (byte == '\r')
            return CSV_OK;
        if (byte != '"')
            return CSV_STRAY_QUOTE;
        break;
    }
    return buffer_push(&reader->text, byte) ? CSV_OK : CSV_NO_MEMORY;
}

enum csv_status csv_feed(struct csv_reader *reader, const char *piece, size_t length)
{
    enum csv_status status = CSV_OK;
    for (size_t i = 0; i < length && status == CSV_OK; i++)
        status = feed(reader, piece[i]);
    return status;
}

enum csv_status csv_close(struct csv_reader *reader)
{
    enum csv_status status = CSV_OK;
    if (reader->state == QUOTED)
        status = CSV_OPEN_QUOTE;
    else if (reader->state != FIELD_START)
        status = end_field(reader, '\n');
    buffer_free(&reader->text);
    free(reader->starts);
    free(reader);
    return status;
}

const char *csv_words(enum csv_status status)
{
    switch (status) {
    case CSV_OK: return "fine";
    case CSV_NO_MEMORY: return "no memory";
    case CSV_STRAY_QUOTE: return "a quote where none can be";
    case CSV_OPEN_QUOTE: return "a quote is never closed";
    }
    return "unknown";
}
