#include "buffer.h"

#include <stdlib.h>

int buffer_push(struct buffer *buffer, char byte)
{
    if (buffer->length == buffer->room) {
        size_t room = buffer->room ? buffer->room * 2 : 64;
        char *bytes = realloc(buffer->bytes, room);
        if (!bytes)
            return 0;
        buffer->bytes = bytes;
        buffer->room = room;
    }
    buffer->bytes[buffer->length++] = byte;
    return 1;
}

void buffer_free(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}
