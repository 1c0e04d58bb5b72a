/* A map from texts to whole numbers. */
#ifndef MAP_H
#define MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slot {
    /* NULL where nothing is. */
    char *key;
    uint64_t hash;
    int64_t value;
};

struct map {
    struct slot *slots;
    /* A power of two, or 0 before the first entry. */
    size_t room;
    size_t count;
};

/* Sets the value of a key; false when there is no memory, and then nothing has changed. */
bool map_put(struct map *map, const char *key, int64_t value);

/* Finds the value of a key; false when it is not there, and then `value` is left as it is. */
bool map_get(const struct map *map, const char *key, int64_t *value);

/* Takes out a key; false when it was not there. */
bool map_remove(struct map *map, const char *key);

/* Steps through all entries in no particular order: begin with `at` of 0, until NULL. The map must not change meanwhile. */
const struct slot *map_next(const struct map *map, size_t *at);

/* Frees all entries; the map is empty afterwards and can be used again. */
void map_free(struct map *map);

#endif
