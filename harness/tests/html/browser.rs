//! How a real browser shows a page: what it asks for, runs, follows and reaches.

use super::*;

/// A browser, and the address of a page of a run.
fn shown(place: &Place, run: &Record) -> Option<(Browser, String)> {
    let file = place.write("report.html", page(run, place.path("").as_path()));
    let browser = Browser::start(&place.path("browser"))?;
    Some((browser, format!("file://{}", file.display())))
}

#[test]
fn a_browser_asks_for_nothing_and_runs_nothing_of_a_device() {
    let place = Place::new();
    let Some((mut browser, url)) = shown(&place, &hostile(&place)) else {
        return;
    };
    // Such a request would be seen.
    let asking = place.write("asking.html", "<img src=\"http://127.0.0.1:1/x.png\">");
    browser.open(&format!("file://{}", asking.display()));
    assert!(browser.requests().iter().any(|url| url.starts_with("http:")));

    browser.open(&format!("{url}#native/ws/errors/unknown-method"));
    browser.until("document.querySelectorAll('.rows li').length", &json!(4));
    browser.eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
    browser.until("document.querySelectorAll('.rows pre').length > 1", &json!(true));
    let requests = browser.requests();
    assert!(
        requests.iter().all(|asked| asked.starts_with(&url) || asked == "data:,"),
        "{requests:?}"
    );
    assert_eq!(browser.eval("document.title.startsWith('Not conforming')"), true);
    assert_eq!(browser.eval("document.querySelectorAll('img').length"), 0);
    let shown = browser.eval("document.querySelector('.rows .recv .what').textContent");
    assert!(shown.as_str().unwrap().contains("</script></pre>"), "{shown}");
}

#[test]
fn a_browser_follows_links_and_keys() {
    let place = Place::new();
    let Some((mut browser, url)) = shown(&place, &a_run(&place)) else {
        return;
    };
    browser.screen(1280, 900, "light");
    browser.open(&format!("{url}#native/ws/errors/unknown-method@12"));
    // The row of the finding is open, and no digit of it is lost.
    browser.until("document.querySelector('.rows .found')?.dataset.seq", &json!("12"));
    let row =
        "document.querySelector('.rows .found pre')?.textContent.includes('9007199254740993')";
    browser.until(row, &json!(true));
    assert_eq!(browser.eval("document.querySelectorAll('.timeline svg rect').length"), 6);
    let surrogate =
        "[...document.querySelectorAll('.rows .recv')].pop().textContent.includes('\\\\ud800')";
    assert_eq!(browser.eval(surrogate), true);

    browser.open(&url);
    assert_eq!(browser.eval("document.querySelectorAll('.rows').length"), 0, "folded");
    browser.press("/", "/");
    assert_eq!(browser.eval("document.activeElement.id"), "search");
    browser.call("Input.insertText", json!({"text": "errors/unknown-method integer"}));
    browser.until("document.getElementById('shown').textContent", &json!("1 of 7 cases"));
    browser.press("ArrowDown", "");
    assert_eq!(
        browser.eval("document.activeElement.querySelector('b').textContent"),
        "errors/unknown-method"
    );
    browser.press("Enter", "\r");
    browser.until("document.querySelectorAll('.rows li').length", &json!(6));
    browser.press("/", "/");
    browser.press("Escape", "");
    browser.until("document.getElementById('shown').textContent", &json!("7 cases"));
    // By verdict.
    browser.eval("document.querySelector('.statuses [data-status=inconc]').click()");
    browser.until("document.getElementById('shown').textContent", &json!("1 of 7 cases"));
    // From a requirement to its cases.
    browser.eval(
        "document.querySelector('#requirements [data-find=\"broken:errors.code-integer\"]').click()",
    );
    browser.until("document.getElementById('shown').textContent", &json!("1 of 7 cases"));

    let permissions = json!({"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]});
    browser.call("Browser.grantPermissions", permissions);
    browser.eval("document.querySelector('.copy').click()");
    browser.until("document.querySelector('.copy').textContent", &json!("Copied"));
}

/// What has to be scrolled and cannot be reached by the keyboard, or says not what it is.
const UNREACHED: &str = r#"(() => {
  const scrolls = [...document.querySelectorAll('pre, .wide')]
    .filter((one) => one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth);
  const bad = scrolls.filter((one) => one.tabIndex !== 0 || !one.getAttribute('aria-label'));
  return scrolls.length === 0 ? ['nothing scrolls'] : bad.map((one) => one.outerHTML.slice(0, 80));
})()"#;

#[test]
fn a_browser_shows_json_in_lines_and_reaches_what_scrolls() {
    let place = Place::new();
    let mut events = whole_run();
    let long = json!({"jsonrpc": "2.0", "id": 7, "result": {"tools": vec![json!({"name": "self.lamp.get_state",
        "description": "Tells whether the lamp is on."}); 12]}});
    let finding = Finding { received: format!("id 7: {long}"), ..no_code() };
    let failed =
        CaseReport { findings: vec![finding], ..case("errors/unknown-method", Verdict::Fail) };
    events[4] = Event::CaseFinished(failed);
    let entries = [sent(11, "{}"), received(12, &long.to_string())];
    write(&place, "transcripts/errors.unknown-method.jsonl", &entries);
    let Some((mut browser, url)) = shown(&place, &record(&events)) else {
        return;
    };
    for width in [1280, 360] {
        browser.screen(width, 800, "light");
        browser.open(&format!("{url}#native/ws/errors/unknown-method@12"));
        browser.until("document.querySelectorAll('.rows .found pre').length", &json!(1));
        browser.eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
        browser.until(UNREACHED, &json!([]));
        for pre in [".case .finding .sides > :last-child pre", ".rows .found pre"] {
            let lines = format!("document.querySelector('{pre}').textContent.split('\\n').length");
            assert_eq!(browser.eval(&lines), 56, "{pre}");
            let keys = format!("document.querySelectorAll('{pre} .k').length > 24");
            assert_eq!(browser.eval(&keys), true, "{pre}");
        }
    }
    // From the case to the requirement, in a document that was folded.
    browser.open(&url);
    browser.eval("document.querySelectorAll('.document').forEach((one) => { one.open = false; })");
    browser.eval("document.querySelector('.cause h4 a').click()");
    browser.until("document.querySelector('tr:target')?.checkVisibility()", &json!(true));
}

/// Texts with less contrast than WCAG 2 level AA asks for, as `contrast text`.
const FAINT: &str = r#"(() => {
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.slice(0, 3).map((part) => {
      const value = part / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const rgb = parse(getComputedStyle(at).backgroundColor);
      if (rgb.length === 3 || rgb[3] > 0) return rgb;
    }
    return [255, 255, 255];
  };
  const faint = new Set();
  let looked = 0;
  for (const element of document.body.querySelectorAll('*')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || ['SCRIPT', 'NOSCRIPT'].includes(element.tagName) || !element.checkVisibility()) continue;
    looked++;
    const style = getComputedStyle(element);
    const paint = element.namespaceURI.endsWith('svg') ? style.fill : style.color;
    const [one, other] = [light(parse(paint)), light(behind(element))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    const least = parseFloat(style.fontSize) >= 24 ? 3 : 4.5;
    if (contrast < least) faint.add(`${contrast.toFixed(2)} ${element.className} ${element.textContent.slice(0, 30)}`);
  }
  return looked < 100 ? [`only ${looked} texts`] : [...faint];
})()"#;

#[test]
fn a_browser_shows_it_in_light_and_dark_on_a_phone_and_on_paper() {
    let place = Place::new();
    let Some((mut browser, url)) = shown(&place, &a_run(&place)) else {
        return;
    };
    for (width, scheme) in [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")] {
        browser.screen(width, 800, scheme);
        browser.open(&format!("{url}#native/ws/errors/unknown-method@12"));
        browser.until("document.querySelectorAll('.rows li').length", &json!(6));
        browser.eval("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
        assert_eq!(browser.eval(FAINT), json!([]), "{width} {scheme}");
        let wide = browser.eval(&format!("document.documentElement.scrollWidth <= {width}"));
        assert_eq!(wide, true, "something sticks out, {width} {scheme}");
    }
    let pages: Vec<Value> = ["light", "dark"]
        .map(|scheme| {
            browser.screen(1280, 800, scheme);
            browser.open(&url);
            browser.eval("getComputedStyle(document.body).backgroundColor")
        })
        .into();
    assert_ne!(pages[0], pages[1]);

    // What is broken is open on paper, and closed again.
    browser.eval("addEventListener('beforeprint', () => { window.printed = document.querySelectorAll('.case[open]').length; })");
    let printed = browser.call("Page.printToPDF", json!({"printBackground": true}));
    assert!(printed["data"].as_str().unwrap().starts_with("JVBERi0"), "base64 of %PDF-");
    assert_eq!(browser.eval("window.printed"), 4);
    browser.until("document.querySelectorAll('.case[open]').length", &json!(0));
}

#[test]
fn a_browser_opens_a_hundred_thousand_exchanges() {
    const CASES: u64 = 5;
    const EXCHANGES: u64 = 20_000;
    let place = Place::new();
    let mut events = vec![Event::RunStarted(started())];
    for number in 0..CASES {
        let id = format!("properties/many-{number}");
        let from = number * EXCHANGES;
        let entries: Vec<Entry> = (from..from + EXCHANGES).flat_map(|n| exchange(n * 2)).collect();
        write(&place, &format!("transcripts/properties.many-{number}.jsonl"), &entries);
        let finding = Finding { seq: Some(from * 2 + EXCHANGES), ..no_code() };
        let findings = Vec::from_iter((number == 1).then_some(finding));
        let verdict = if findings.is_empty() { Verdict::Pass } else { Verdict::Fail };
        events.push(Event::CaseFinished(CaseReport { findings, ..case(&id, verdict) }));
    }
    events.extend(each_status());
    events.push(Event::RunFinished(mixed()));
    let began = Instant::now();
    let page = page(&record(&events), place.path("").as_path());
    let wrote = began.elapsed();
    assert!(page.len() < 10 << 20, "{} bytes", page.len());
    let url = format!("file://{}", place.write("report.html", &page).display());
    let Some(mut browser) = Browser::start(&place.path("browser")) else {
        return;
    };
    browser.open(&url);
    // How long it takes is told, and no test: machines differ.
    let took = browser.eval(
        "new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))",
    );
    let loaded = browser.eval("performance.getEntriesByType('navigation')[0].loadEventEnd");
    println!(
        "100,000 exchanges: {} KiB, written in {wrote:?}; loaded after {loaded} ms, drawn before {took} ms",
        page.len() >> 10
    );
    assert_eq!(browser.eval("document.querySelectorAll('.rows li').length"), 0);
    // The row of a finding far inside is found, and only those around it are drawn.
    let seq = EXCHANGES * 3;
    browser.eval(&format!("location.hash = '#native/ws/properties/many-1@{seq}'"));
    browser.until("document.querySelector('.rows .found')?.dataset.seq", &json!(seq.to_string()));
    let rows = browser.eval("document.querySelectorAll('.rows li').length");
    assert!(rows.as_u64().is_some_and(|rows| rows <= 1_000), "{rows}");
}
