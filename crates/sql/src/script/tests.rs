//! Scripts that are hard to split.

use proptest::prelude::*;

use super::*;

fn texts(sql: &str, dialect: Dialect) -> Vec<&str> {
    split(sql, dialect).iter().map(|statement| statement.text).collect()
}

fn names(sql: &str, dialect: Dialect) -> Vec<String> {
    split(sql, dialect).iter().map(|statement| statement.name(dialect)).collect()
}

#[test]
fn semicolons_in_strings_names_and_comments_end_nothing() {
    let sql = "select ';' ; -- a; b\n select \";\" /* ; */, 2;;";
    for dialect in Dialect::ALL {
        assert_eq!(texts(sql, dialect), ["select ';'", "select \";\" /* ; */, 2"]);
    }
}

#[test]
fn comments_nest_in_postgres_alone() {
    let sql = "select 1 /* a /* b */ ; */ ; select 2";
    assert_eq!(texts(sql, Dialect::Postgres), ["select 1", "select 2"]);
    assert_eq!(texts(sql, Dialect::Sqlite), ["select 1", "*/", "select 2"]);
}

#[test]
fn dollar_quotes_and_escapes_hide_what_is_in_them() {
    let sql = "select $$;$$, $a$ $$;$b$ $a$, E'\\';', U&';', b';' , $1; select a$b$c, '\\'; select 3";
    let expected = ["select $$;$$, $a$ $$;$b$ $a$, E'\\';', U&';', b';' , $1", "select a$b$c, '\\'", "select 3"];
    assert_eq!(texts(sql, Dialect::Postgres), expected);
}

#[test]
fn sqlite_quotes_names_in_four_ways() {
    assert_eq!(texts("select [a;b], `c;d`, \"e;f\", x'00'; select :a, ?1, $b", Dialect::Sqlite).len(), 2);
}

#[test]
fn bodies_of_triggers_and_functions_stay_whole() {
    let trigger = "create temp trigger t after insert on a begin update b set c = case when 1 then 2 end; select 1; end; select 2";
    assert_eq!(names(trigger, Dialect::Sqlite), ["CREATE TRIGGER", "SELECT"]);
    let function = "create or replace function f() returns int begin atomic select case when true then 1 end; select 2; end; \
                    select 3";
    assert_eq!(names(function, Dialect::Postgres), ["CREATE FUNCTION", "SELECT"]);
    assert_eq!(names("begin; select 1; end; select 2", Dialect::Postgres), ["BEGIN", "SELECT", "END", "SELECT"]);
    assert_eq!(names("create rule r as on insert to a do (select 1; select 2); select 3", Dialect::Postgres).len(), 2);
}

#[test]
fn statements_are_named_by_what_they_do() {
    let sql = "with a as (delete from b returning *) insert into c select * from a; (select 1) union select 2; \
               create unique index i on a (b); create temporary table t (a int); drop materialized view v; \
               set local timezone to 'UTC'; start transaction; explain (costs off) select 1; create or replace view w as select 1; \
               ; 'nonsense'; alter table t add b int";
    let expected = [
        "INSERT",
        "SELECT",
        "CREATE INDEX",
        "CREATE TABLE",
        "DROP MATERIALIZED VIEW",
        "SET LOCAL",
        "START TRANSACTION",
        "EXPLAIN",
        "CREATE VIEW",
        "",
        "ALTER TABLE",
    ];
    assert_eq!(names(sql, Dialect::Postgres), expected);
}

#[test]
fn places_count_characters() {
    let sql = "select 'äöü'; /* ß */ select 2";
    let second = &split(sql, Dialect::Postgres)[1];
    assert_eq!((second.start_chars, &sql[second.start..second.start + 8]), (22, "select 2"));
}

/// Looking at all that came before at each word would take minutes.
#[test]
fn many_words_that_could_begin_a_body_take_no_time() {
    for beginning in ["WITH ", "CREATE ", "CREATE OR ", "SELECT "] {
        let sql = format!("{beginning}{}", "begin ".repeat(200_000));
        for dialect in Dialect::ALL {
            assert_eq!(split(&sql, dialect).len(), 1);
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_covered_without_overlap(sql in "[a-zA-Z0-9 ;'\"$\\\\/*\\-\n(){}\\[\\]`:?@.,&äß]{0,80}") {
        for dialect in Dialect::ALL {
            let mut end = 0;
            for statement in split(&sql, dialect) {
                prop_assert!(statement.start >= end);
                prop_assert_eq!(sql[..statement.start].chars().count(), statement.start_chars);
                prop_assert_eq!(&sql[statement.start..statement.start + statement.text.len()], statement.text);
                let mut last = 0;
                for token in &statement.tokens {
                    prop_assert!(token.start >= last && token.end > token.start);
                    prop_assert!(!token.text(statement.text).is_empty());
                    last = token.end;
                }
                end = statement.start + statement.text.len();
            }
        }
    }
}
