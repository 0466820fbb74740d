//! An opening handshake of which not all came: what did, and whether that much breaks the rules already.

/// Longest part of a line that is told.
const MAX_TOLD: usize = 80;

/// Says what came of an HTTP request. No header's value is told: one of them is a secret.
pub(crate) fn what_came(head: &[u8]) -> String {
    if head.is_empty() {
        return "nothing came".to_owned();
    }
    let text = String::from_utf8_lossy(head);
    let (line, rest) = match text.split_once('\n') {
        Some((line, rest)) => (line.trim_end_matches('\r'), Some(rest)),
        None => (&*text, None),
    };
    let told: String = line.chars().take(MAX_TOLD).flat_map(char::escape_debug).collect();
    match rest {
        None => format!("`{told}` came, and no end of that line"),
        Some(rest) => {
            let headers = rest.matches('\n').count();
            format!("`{told}` and {headers} headers came, and no empty line behind them")
        }
    }
}

/// What in the lines that are complete breaks the rules of an opening handshake, whatever else may have been on its way
/// (RFC 6455, section 4.1).
pub(crate) fn breach(head: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let (complete, _) = text.rsplit_once('\n')?;
    let mut lines = complete.split('\n').map(|line| line.trim_end_matches('\r'));
    let request = lines.next()?;
    let mut parts = request.split(' ');
    let (method, version) = (parts.next()?, parts.next_back());
    if method != "GET" {
        return Some(format!("the method {} instead of GET", method.escape_debug()));
    }
    if matches!(version, Some("HTTP/0.9" | "HTTP/1.0")) {
        return Some(format!("version {} instead of HTTP/1.1", version.unwrap_or_default()));
    }
    // A line that begins with a blank continues the one before.
    let mut headers = lines.filter(|line| !line.starts_with([' ', '\t']));
    headers.find_map(|line| match line.split_once(':') {
        None => Some("a header without a colon".to_owned()),
        Some((name, value)) => {
            let is_version = name.eq_ignore_ascii_case("sec-websocket-version");
            let is_wrong = is_version && value.trim() != "13";
            is_wrong.then(|| "a Sec-WebSocket-Version other than 13".to_owned())
        }
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing("", "nothing came")]
    #[case::half_a_line("GET /x", "`GET /x` came, and no end")]
    #[case::line("GET / HTTP/1.1\r\n", "`GET / HTTP/1.1` and 0 headers came")]
    #[case::headers("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sec", "and 1 headers came")]
    #[case::no_text("\u{1}\u{2}", "`\\u{1}\\u{2}` came")]
    fn what_came_is_told_without_secrets(#[case] head: &str, #[case] told: &str) {
        let said = what_came(head.as_bytes());
        assert!(said.contains(told), "{said}");
        assert!(!said.contains("sec"), "{said}");
    }

    #[rstest]
    #[case::nothing("", None)]
    #[case::half_a_line("POST / HT", None)]
    #[case::method("POST / HTTP/1.1\r\n", Some("method POST"))]
    #[case::version("GET / HTTP/1.0\r\nHost: x\r\n", Some("HTTP/1.0"))]
    #[case::no_colon("GET / HTTP/1.1\r\nHost x\r\n", Some("colon"))]
    #[case::not_yet("GET / HTTP/1.1\r\nHost x", None)]
    #[case::continued("GET / HTTP/1.1\r\nX: a\r\n b\r\n", None)]
    #[case::draft("GET / HTTP/1.1\r\nSec-WebSocket-Version: 8\r\n", Some("other than 13"))]
    #[case::good("GET / HTTP/1.1\r\nHost: x\r\nsec-websocket-version: 13\r\n", None)]
    fn only_what_is_complete_breaks_the_rules(#[case] head: &str, #[case] told: Option<&str>) {
        let said = breach(head.as_bytes());
        assert_eq!(said.is_some(), told.is_some(), "{said:?}");
        assert!(said.unwrap_or_default().contains(told.unwrap_or_default()));
    }
}
