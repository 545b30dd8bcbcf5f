use proptest::prelude::*;

use super::*;

fn columns(line: &str) -> Result<Vec<String>, &'static str> {
    let mut columns = Vec::new();
    split(line, &mut columns).map(|()| columns)
}

#[test]
fn columns_are_as_rfc_4180_has_them() {
    for (line, expected) in [
        ("a,b", vec!["a", "b"]),
        (" a , b ", vec!["a", "b"]),
        ("a", vec!["a"]),
        ("a,", vec!["a", ""]),
        (r#""a,b",c"#, vec!["a,b", "c"]),
        (r#""say ""hi""" , c"#, vec![r#"say "hi""#, "c"]),
        (r#""","#, vec!["", ""]),
    ] {
        assert_eq!(columns(line).unwrap(), expected, "{line}");
    }
    for wrong in [r#""a"#, r#""a"b,c"#, r#"a"b,c"#, r#"a,"b"#] {
        assert!(columns(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn what_is_written_in_quotes_is_read_back(values in prop::collection::vec("[^\n\r]{0,12}", 1..5)) {
        let quoted: Vec<_> =
            values.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\""))).collect();
        prop_assert_eq!(columns(&quoted.join(",")).unwrap(), values);
    }
}
