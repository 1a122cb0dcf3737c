//! Payloads in, values or complaint out.

use serde_json::json;
use steadfast_proto::common::{Payload, SearchAttributes};
use steadfast_store::SearchType;

use super::{schema, value_text};
use crate::{
    limits::{SEARCH_KEYS_MAX, SEARCH_TOTAL_BYTES_MAX, SEARCH_VALUE_BYTES_MAX},
    visibility::{known_values, search_values, values::payload, with_types},
};

fn attributes<'a>(fields: impl IntoIterator<Item = (&'a str, Payload)>) -> SearchAttributes {
    let fields = fields.into_iter().map(|(name, payload)| (name.to_owned(), payload));
    SearchAttributes { indexed_fields: fields.collect() }
}

fn raw(data: &str) -> Payload {
    Payload { data: data.as_bytes().to_vec(), ..payload(&json!(0), SearchType::Int) }
}

fn text(values: &[(String, steadfast_store::Value)]) -> String {
    let shown = values.iter().map(|(name, value)| format!("{name}={}", value_text(value)));
    shown.collect::<Vec<_>>().join(" ")
}

fn check(name: &str, data: &str) -> String {
    match search_values(&attributes([(name, raw(data))]), &schema()) {
        Ok(values) => text(&values),
        Err(error) => error.message,
    }
}

#[test]
fn payloads_are_read_by_the_type_of_their_attribute() {
    let table = [
        ("MyBool", "true", "MyBool=true"),
        ("MyInt", "12", "MyInt=12"),
        ("MyInt", "[12]", "MyInt=12"),
        ("MyDouble", "3", "MyDouble=3.0"),
        ("MyDouble", "-0.5", "MyDouble=-0.5"),
        ("MyTime", r#""1970-01-01T00:00:01.5Z""#, "MyTime=@1.5"),
        ("MyTime", r#"["1970-01-01T01:00:00+01:00"]"#, "MyTime=@0"),
        ("MyKeyword", r#""a b""#, r#"MyKeyword="a b""#),
        ("MyText", r#"["a b"]"#, r#"MyText="a b""#),
        ("MyList", r#"["a","b","a"]"#, r#"MyList="a" MyList="b""#),
        ("MyList", r#""a""#, r#"MyList="a""#),
        ("BuildIds", r#"["x"]"#, r#"BuildIds="x""#),
        ("MyInt", "null", ""),
        ("MyInt", " null ", ""),
        ("MyInt", "[]", ""),
        ("MyInt", "[ ]", ""),
        ("MyInt", "", ""),
    ];
    for (name, data, expected) in table {
        assert_eq!(check(name, data), expected, "{name} {data}");
    }
}

#[test]
fn wrong_payloads_are_refused() {
    let table = [
        (
            "Nope",
            "1",
            "no mapping defined for search attribute Nope: add it to the namespace, then use it",
        ),
        ("RunId", "1", "RunId attribute can't be set in SearchAttributes"),
        (
            "MyInt",
            r#""1""#,
            r#"invalid value for search attribute MyInt of type Int: expected a whole number, found "1""#,
        ),
        (
            "MyInt",
            "1.5",
            "invalid value for search attribute MyInt of type Int: expected a whole number, found 1.5",
        ),
        (
            "MyInt",
            "[1,2]",
            "invalid value for search attribute MyInt of type Int: expected one value, found a list of 2",
        ),
        (
            "MyList",
            "[1]",
            "invalid value for search attribute MyList of type KeywordList: expected a text, found 1",
        ),
        (
            "MyTime",
            r#""today""#,
            r#"invalid value for search attribute MyTime of type Datetime: expected an RFC 3339 time, found "today""#,
        ),
        (
            "MyKeyword",
            "[null]",
            "invalid value for search attribute MyKeyword of type Keyword: expected a text, found null",
        ),
        (
            "MyBool",
            "tru",
            "invalid value for search attribute MyBool of type Bool: EOF while parsing a value at line 1 column 3",
        ),
    ];
    for (name, data, expected) in table {
        assert_eq!(check(name, data), expected, "{name} {data}");
    }
}

#[test]
fn only_json_is_read_but_nothing_is_nothing_in_any_encoding() {
    let mut binary = raw("1");
    binary.metadata.insert("encoding".to_owned(), b"binary/plain".to_vec());
    let error = search_values(&attributes([("MyInt", binary.clone())]), &schema());
    assert_eq!(
        error.unwrap_err().message,
        "invalid value for search attribute MyInt of type Int: \
         expected the encoding json/plain, found binary/plain"
    );
    binary.data.clear();
    assert_eq!(search_values(&attributes([("MyInt", binary)]), &schema()), Ok(Vec::new()));
}

#[test]
fn there_may_not_be_too_many_or_too_large_ones() {
    let long = |bytes: usize| json!("x".repeat(bytes - 2)).to_string();
    let fits = check("MyKeyword", &long(SEARCH_VALUE_BYTES_MAX));
    assert!(fits.starts_with("MyKeyword="), "{fits}");
    assert_eq!(
        check("MyKeyword", &long(SEARCH_VALUE_BYTES_MAX + 1)),
        "search attribute MyKeyword value size 2049 exceeds size limit 2048"
    );

    let mut schema = schema();
    let names: Vec<_> = (0..=SEARCH_KEYS_MAX).map(|number| format!("k{number:03}")).collect();
    schema.custom.extend(names.iter().map(|name| (name.clone(), SearchType::Keyword)));
    let many = |count: usize, bytes: usize| {
        let fields = names.iter().take(count).map(|name| (name.as_str(), raw(&long(bytes))));
        search_values(&attributes(fields), &schema).map(|values| values.len())
    };
    let each = SEARCH_TOTAL_BYTES_MAX / 20 - 4;
    assert_eq!(many(100, 3), Ok(100));
    assert_eq!(
        many(101, 3).unwrap_err().message,
        "number of search attributes 101 exceeds limit 100"
    );
    assert_eq!(many(20, each), Ok(20));
    assert_eq!(
        many(21, each).unwrap_err().message,
        "total size of search attributes 43008 exceeds size limit 40960"
    );
}

#[test]
fn values_come_sorted_by_name() {
    let fields = [("MyKeyword", raw(r#""k""#)), ("MyInt", raw("1")), ("MyBool", raw("true"))];
    let found = search_values(&attributes(fields), &schema()).unwrap();
    assert_eq!(text(&found), r#"MyBool=true MyInt=1 MyKeyword="k""#);
}

#[test]
fn what_the_schema_forgot_is_left_out_of_the_index_but_not_of_the_answer() {
    let all = attributes([("Gone", raw("1")), ("MyInt", raw("1")), ("MyBool", raw("\"x\""))]);
    assert_eq!(text(&known_values(&all, &schema())), "MyInt=1");
    let answer = with_types(all, &schema());
    let kind = |name: &str| answer.indexed_fields[name].metadata["type"].to_vec();
    assert_eq!(kind("MyBool"), b"Int", "as it was sent");
    assert_eq!(kind("Gone"), b"Int", "as it was sent");
    let mut untyped = raw("true");
    untyped.metadata.remove("type");
    let answer = with_types(attributes([("MyBool", untyped)]), &schema());
    assert_eq!(&answer.indexed_fields["MyBool"].metadata["type"], b"Bool", "by the schema");
}
