/* Reads CSV a piece at a time. */
#ifndef CSV_H
#define CSV_H

#include <stddef.h>

/* What a reader answers. */
enum csv_status {
    CSV_OK = 0,
    CSV_NO_MEMORY,
    /* A quote inside a field that does not begin with one, or something between a closing quote and the separator. */
    CSV_STRAY_QUOTE,
    /* The text ended within quotes. */
    CSV_OPEN_QUOTE,
};

/* Called for each record. The fields live until the call returns. */
typedef void (*csv_on_record)(void *context, const char *const *fields, size_t count);

struct csv_reader;

/* A reader of fields that are parted by `separator`; NULL when there is no memory. */
struct csv_reader *csv_open(char separator, csv_on_record on_record, void *context);

/* Reads the next piece of the text. After a status other than CSV_OK the reader can only be closed. */
enum csv_status csv_feed(struct csv_reader *reader, const char *piece, size_t length);

/* Ends the text, which gives the last record if no line end stood behind it, and frees the reader. */
enum csv_status csv_close(struct csv_reader *reader);

/* Words for a status. */
const char *csv_words(enum csv_status status);

#endif
