//! The headers of a request, as the transcript keeps them.

use std::collections::BTreeMap;

use hyper::HeaderMap;

/// Headers by their names in lower case; several of one name are joined by `, ` (RFC 9110, 5.3).
pub(super) fn headers_by_name(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut all = BTreeMap::<String, String>::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        all.entry(name.as_str().to_owned())
            .and_modify(|all| {
                all.push_str(", ");
                all.push_str(&value);
            })
            .or_insert_with(|| value.clone().into_owned());
    }
    all
}
