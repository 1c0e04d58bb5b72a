#include "csv.h"
#include "tap.h"

/* Records as one text: fields in brackets, records ended by a bar. */
static char seen[4096];

static void note(void *context, const char *const *fields, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        strcat(seen, "[");
        strcat(seen, fields[i]);
        strcat(seen, "]");
    }
    strcat(seen, "|");
}

/* Reads a text in pieces of `step` bytes. */
static enum csv_status read_in(const char *text, size_t step, char separator)
{
    struct csv_reader *reader = csv_open(separator, note, NULL);
    size_t length = strlen(text);
    enum csv_status status = CSV_OK;

    seen[0] = '\0';
    for (size_t at = 0; at < length && status == CSV_OK; at += step)
        status = csv_feed(reader, text + at, length - at < step ? length - at : step);
    enum csv_status closed = csv_close(reader);
    return status == CSV_OK ? closed : status;
}

static void reads(const char *text, const char *expected)
{
    for (size_t step = 1; step < 9; step++) {
        REQUIRE(read_in(text, step, ',') == CSV_OK);
        REQUIRE(strcmp(seen, expected) == 0);
    }
}

static void plain_fields(void) { reads("a,b,c\n1,2,3\n", "[a][b][c]|[1][2][3]|"); }

static void empty_fields_within_a_record(void) { reads("a,,c\n,b,c\n", "[a][][c]|[][b][c]|"); }

static void the_last_line_needs_no_end(void) { reads("a,b\nc,d", "[a][b]|[c][d]|"); }

static void line_ends_of_both_kinds(void) { reads("a,b\r\nc,d\r\n", "[a][b]|[c][d]|"); }

static void quotes_hold_separators(void) { reads("\"a,b\",c\n", "[a,b][c]|"); }

static void quotes_hold_line_ends(void) { reads("\"a\nb\",c\n", "[a\nb][c]|"); }

static void empty_lines_are_no_records(void) { reads("a\n\n\r\nb\n", "[a]|[b]|"); }

static void another_separator(void)
{
    REQUIRE(read_in("a;b,c\n", 2, ';') == CSV_OK);
    REQUIRE(strcmp(seen, "[a][b,c]|") == 0);
}

static void stray_quotes_are_refused(void)
{
    REQUIRE(read_in("a\"b,c\n", 3, ',') == CSV_STRAY_QUOTE);
    REQUIRE(read_in("\"a\"b,c\n", 3, ',') == CSV_STRAY_QUOTE);
}

static void quotes_have_to_be_closed(void) { REQUIRE(read_in("\"a,b\n", 3, ',') == CSV_OPEN_QUOTE); }

static const struct tap_test tests[] = {
    TAP_TEST(plain_fields),
    TAP_TEST(empty_fields_within_a_record),
    TAP_TEST(the_last_line_needs_no_end),
    TAP_TEST(line_ends_of_both_kinds),
    TAP_TEST(quotes_hold_separators),
    TAP_TEST(quotes_hold_line_ends),
    TAP_TEST(empty_lines_are_no_records),
    TAP_TEST(another_separator),
    TAP_TEST(stray_quotes_are_refused),
    TAP_TEST(quotes_have_to_be_closed),
};

int main(int count, char **arguments)
{
    return tap_run(count > 1 ? arguments[1] : NULL, tests, sizeof tests / sizeof tests[0]);
}
