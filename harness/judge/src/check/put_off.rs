//! Answers that refuse a message for the moment: too many came before it, too many are under way, or its tool will do it
//! later. What they have in common are words, in the languages of the makers and their users.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::log::is_refused;

/// Whether an answer refuses a message because too many came before it, as MCP lets servers do (server/tools, Security
/// Considerations: rate limit tool invocations).
pub(crate) fn is_limited(payload: &Map<String, Value>) -> bool {
    static LIMIT: LazyLock<Regex> = LazyLock::new(|| {
        let words = "(?i)too many (tool )?(calls|requests|messages|commands)|rate.?limit|throttl\
            |too (quickly|often|frequent)|slow down|频繁|过快|太快|(请求|调用)过多|限流|слишком (много запр|много выз|часто)\
            |zu (viele (anfragen|aufrufe)|häufig)|trop (de requêtes|d.appels)|demasiadas (solicitudes|peticiones|llamadas)\
            |muitas (solicitações|chamadas)|troppe (richieste|chiamate)|za (dużo (wywołań|żądań)|często)|túl (sok (hívás|kérés)|gyakran|gyors)";
        Regex::new(words).expect("a constant pattern")
    });
    refuses_with(payload, &LIMIT)
}

/// Whether an answer puts a message off: too many came before it, or its tool says in a result that it cannot be carried
/// out just now (MCP, server/tools, Error Handling).
pub(crate) fn is_put_off(payload: &Map<String, Value>) -> bool {
    let is_result = payload.get("result").is_some();
    is_limited(payload) || is_result && refuses_with(payload, &NOT_NOW)
}

/// Whether an answer refuses a message in such words.
fn refuses_with(payload: &Map<String, Value>, words: &Regex) -> bool {
    if !is_refused(payload) {
        return false;
    }
    let said = super::answer::error_of(payload).and_then(|error| error.get("message")?.as_str());
    let content = payload.get("result").and_then(|result| result.get("content")?.as_array());
    let mut texts = content.into_iter().flatten().filter_map(|item| item.get("text")?.as_str());
    said.is_some_and(|said| words.is_match(said)) || texts.any(|text| words.is_match(text))
}

/// How devices say that they have no room, in the languages of their makers and their users.
const BUSY: &str = "(?i)\\bbusy\\b|try again|memory|queue|overload|\\bfull\\b|no room|资源不足|队列|忙|稍后|稍候|重试|内存|ビジー|後で|바쁘|바쁩|나중에|занят|позже|beschäftigt|später\
    |occupé|réessa|ocupad|zajęt|spróbuj";

/// How tools say that they will do a thing later, in the same languages.
const LATER: &str = "(?i)\\bbusy\\b|try (it )?(again|later)|(please|must) wait|not ready|still starting|忙|稍后|稍候|重试|尚未就绪|正在启动\
    |ビジー|後で|바쁘|바쁩|나중에|занят|позже|beschäftigt|später|noch nicht bereit|occupé|réessa|plus tard|ocupad|más tarde|mais tarde\
    |riprova|più tardi|zajęt|spróbuj|później|foglalt|később|próbál|várjon";

static NOT_NOW: LazyLock<Regex> = LazyLock::new(|| Regex::new(LATER).expect("a constant pattern"));

static NO_ROOM: LazyLock<Regex> = LazyLock::new(|| Regex::new(BUSY).expect("a constant pattern"));

/// Whether an answer says that the device has no room for another message beside those in flight: under a code of its own
/// (JSON-RPC 2.0, section 5.1), or in words.
pub(crate) fn has_no_room(payload: &Map<String, Value>) -> bool {
    super::answer::is_servers_own(payload) || is_limited(payload) || says_no_room(payload)
}

/// Whether it says so in words, which may be those of a tool that will do it later.
pub(crate) fn says_no_room(payload: &Map<String, Value>) -> bool {
    refuses_with(payload, &NO_ROOM) || refuses_with(payload, &NOT_NOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::error(r#"{"error":{"code":-32000,"message":"Too many calls, wait a second"}}"#, true)]
    #[case::failure(
        r#"{"result":{"content":[{"type":"text","text":"Rate limit exceeded"}],"isError":true}}"#,
        true
    )]
    #[case::elsewhere(
        r#"{"result":{"content":[{"type":"text","text":"Za dużo wywołań."}],"isError":true}}"#,
        true
    )]
    #[case::of_characters(r#"{"error":{"code":-32000,"message":"zu viele Zeichen"}}"#, false)]
    #[case::success(
        r#"{"result":{"content":[{"type":"text","text":"Rate limit: 30 a second"}],"isError":false}}"#,
        false
    )]
    #[case::of_arguments(r#"{"error":{"code":-32602,"message":"too many arguments"}}"#, false)]
    fn a_refusal_for_its_rate_says_so(#[case] answer: &str, #[case] is_one: bool) {
        assert_eq!(is_limited(&serde_json::from_str(answer).unwrap()), is_one);
    }

    #[rstest]
    #[case::busy("The amplifier is busy, try again later.", true)]
    #[case::elsewhere("设备忙，请稍后重试", true)]
    #[case::another("There is no such theme.", false)]
    fn a_tool_that_will_do_it_later_says_so(#[case] said: &str, #[case] is_later: bool) {
        let content = serde_json::json!([{"type": "text", "text": said}]);
        let result = serde_json::json!({"result": {"content": content, "isError": true}});
        assert_eq!(is_put_off(result.as_object().unwrap()), is_later);
        let error = serde_json::json!({"error": {"code": -32603, "message": said}});
        assert!(!is_put_off(error.as_object().unwrap()));
    }

    #[rstest]
    #[case::of_their_own("-32003", "m", true)]
    #[case::english("-32603", "Busy, try again", true)]
    #[case::chinese("-32603", "设备忙，请稍后重试", true)]
    #[case::hungarian("-32603", "A készülék foglalt, próbálja később.", true)]
    #[case::another("-32603", "Internal error", false)]
    fn a_device_without_room_says_so(
        #[case] code: &str,
        #[case] said: &str,
        #[case] has_none: bool,
    ) {
        let answer = format!(r#"{{"error":{{"code":{code},"message":"{said}"}}}}"#);
        assert_eq!(has_no_room(&serde_json::from_str(&answer).unwrap()), has_none);
    }
}
