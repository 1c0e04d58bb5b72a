/* Bytes that grow. */
#ifndef BUFFER_H
#define BUFFER_H

#include <stddef.h>

struct buffer {
    char *bytes;
    size_t length;
    size_t room;
};

/* Appends a byte; 0 when there is no memory. */
int buffer_push(struct buffer *buffer, char byte);

void buffer_free(struct buffer *buffer);

#endif
