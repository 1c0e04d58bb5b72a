#include "map.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

/* Where a key is, or where it would go. The table has an empty slot always. */
static size_t find(const struct map *map, const char *key, uint64_t hash)
{
    size_t at = hash & (map->room - 1);
    while (map->slots[at].key) {
        if (map->slots[at].hash == hash && strcmp(map->slots[at].key, key) == 0)
            break;
        at = (at + 1) & (map->room - 1);
    }
    return at;
}

static bool grow(struct map *map)
{
    size_t room = map->room ? map->room * 2 : 8;
    struct slot *slots = calloc(room, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < map->room; i++) {
        if (!map->slots[i].key)
            continue;
        size_t at = map->slots[i].hash & (room - 1);
        while (slots[at].key)
            at = (at + 1) & (room - 1);
        slots[at] = map->slots[i];
    }
    free(map->slots);
    map->slots = slots;
    map->room = room;
    return true;
}

bool map_put(struct map *map, const char *key, int64_t value)
{
    uint64_t hash = hash_text(key);

    if (map->count * 4 >= map->room * 3 && !grow(map))
        return false;
    struct slot *slot = &map->slots[find(map, key, hash)];
    if (!slot->key) {
        size_t bytes = strlen(key) + 1;
        char *copy = malloc(bytes);
        if (!copy)
            return false;
        memcpy(copy, key, bytes);
        slot->key = copy;
        slot->hash = hash;
        map->count++;
    }
    slot->value = value;
    return true;
}

bool map_get(const struct map *map, const char *key, int64_t *value)
{
    if (map->room == 0)
        return false;
    const struct slot *slot = &map->slots[find(map, key, hash_text(key))];
    if (!slot->key)
        return false;
    *value = slot->value;
    return true;
}

bool map_remove(struct map *map, const char *key)
{
    if (map->room == 0)
        return false;
    struct slot *slot = &map->slots[find(map, key, hash_text(key))];
    if (!slot->key)
        return false;
    free(slot->key);
    slot->key = NULL;
    return true;
}

const struct slot *map_next(const struct map *map, size_t *at)
{
    while (*at < map->room) {
        const struct slot *slot = &map->slots[(*at)++];
        if (slot->key)
            return slot;
    }
    return NULL;
}

void map_free(struct map *map)
{
    for (size_t i = 0; i < map->room; i++)
        free(map->slots[i].key);
    free(map->slots);
    *map = (struct map){0};
}
