#include "map.h"
#include "tap.h"

static void what_was_put_is_found(void)
{
    struct map map = {0};
    int64_t value = 0;

    REQUIRE(map_put(&map, "one", 1) && map_put(&map, "two", 2));
    REQUIRE(map_get(&map, "one", &value) && value == 1);
    REQUIRE(map_get(&map, "two", &value) && value == 2);
    map_free(&map);
}

static void what_was_not_put_is_not_found(void)
{
    struct map map = {0};
    int64_t value = 7;

    REQUIRE(!map_get(&map, "one", &value) && value == 7);
    REQUIRE(map_put(&map, "one", 1));
    REQUIRE(!map_get(&map, "two", &value) && value == 7);
    map_free(&map);
}

static void a_later_value_replaces_an_earlier_one(void)
{
    struct map map = {0};
    int64_t value = 0;

    REQUIRE(map_put(&map, "key", 1) && map_put(&map, "key", 2));
    REQUIRE(map_get(&map, "key", &value) && value == 2);
    REQUIRE(map.count == 1);
    map_free(&map);
}

static void keys_are_copied(void)
{
    struct map map = {0};
    char key[] = "key";
    int64_t value = 0;

    REQUIRE(map_put(&map, key, 3));
    key[0] = 'x';
    REQUIRE(map_get(&map, "key", &value) && value == 3);
    map_free(&map);
}

static void the_table_grows(void)
{
    struct map map = {0};
    char key[32];
    int64_t value = 0;

    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        REQUIRE(map_put(&map, key, i));
    }
    REQUIRE(map.count == 10000);
    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof key, "key %d", i);
        REQUIRE(map_get(&map, key, &value) && value == i);
    }
    map_free(&map);
}

static void what_was_removed_is_not_found(void)
{
    struct map map = {0};
    int64_t value = 0;

    REQUIRE(!map_remove(&map, "key"));
    REQUIRE(map_put(&map, "key", 1));
    REQUIRE(map_remove(&map, "key"));
    REQUIRE(!map_get(&map, "key", &value));
    REQUIRE(!map_remove(&map, "key"));
    map_free(&map);
}

static void every_entry_is_stepped_through(void)
{
    struct map map = {0};
    size_t at = 0;
    int64_t sum = 0;

    REQUIRE(map_next(&map, &at) == NULL);
    REQUIRE(map_put(&map, "a", 1) && map_put(&map, "b", 20) && map_put(&map, "c", 300));
    for (const struct slot *slot; (slot = map_next(&map, &at));)
        sum += slot->value;
    REQUIRE(sum == 321);
    map_free(&map);
}

static void a_freed_map_can_be_used_again(void)
{
    struct map map = {0};
    int64_t value = 0;

    REQUIRE(map_put(&map, "a", 1));
    map_free(&map);
    REQUIRE(map.count == 0 && !map_get(&map, "a", &value));
    REQUIRE(map_put(&map, "a", 2) && map_get(&map, "a", &value) && value == 2);
    map_free(&map);
}

static const struct tap_test tests[] = {
    TAP_TEST(what_was_put_is_found),
    TAP_TEST(what_was_not_put_is_not_found),
    TAP_TEST(a_later_value_replaces_an_earlier_one),
    TAP_TEST(keys_are_copied),
    TAP_TEST(the_table_grows),
    TAP_TEST(what_was_removed_is_not_found),
    TAP_TEST(every_entry_is_stepped_through),
    TAP_TEST(a_freed_map_can_be_used_again),
};

int main(int count, char **arguments)
{
    return tap_run(count > 1 ? arguments[1] : NULL, tests, sizeof tests / sizeof tests[0]);
}
