//! The page, as text and in a real browser.

use serde_json::Value;
use tollgate_replay::{
    Effects, Log, LogOptions, Names, Pictures, ReplayOptions, Source, compare, replay, report,
};

use crate::browser::{Browser, Screen};
use crate::rig::{Folder, line, open, policy, sample};

const LIMITS: &str = r#"
[[limit]]
name = "client"
rate = "60/minute"

[[limit]]
name = "presentations"
rate = "20/minute"
burst = 10
when = { path = "/presentations/*" }

[[limit]]
name = "blog"
rate = "200/hour"
algorithm = "fixed-window"
when = { path = "/blog/*" }

[[limit]]
name = "images"
rate = "1/s"
algorithm = "leaky-bucket"
queue = 20
when = { path = "/images/*" }
"#;

const OTHERS: &str = r#"
[[limit]]
name = "client"
rate = "30/minute"
"#;

/// A page of a log on these limits.
fn page(limits: &str, sources: Vec<Source>, name: &str) -> String {
    let policy = policy(limits);
    let mut pictures = Pictures::new(&policy);
    let log = open(&policy, sources).unwrap();
    let options = ReplayOptions::default();
    let replayed = replay(log, policy, name, options, |_| (), |one| pictures.count(one)).unwrap();
    report::html(&replayed, &pictures, None, &Names::Shown)
}

/// The page of the real log, compared with other limits.
fn compared_page(names: &Names) -> String {
    let (first, other) = (policy(LIMITS), policy(OTHERS));
    let mut pictures = Pictures::new(&first);
    let log = Log::open(vec![sample()], LogOptions::default()).unwrap();
    let (first, other) = ((first, "limits.toml"), (other, "others.toml"));
    let options = ReplayOptions::default();
    let compared = compare(log, first, other, options, |_| (), |one| pictures.count(one));
    let (first, compared) = compared.unwrap();
    report::html(&first, &pictures, Some(&compared), names)
}

/// What an attacker would write into a log.
const ATTACK: &str = "<script>document.title='taken'</script><img src=x onerror=alert(1)>\"'&amp;";

fn attacked(folder: &Folder) -> Vec<Source> {
    let mut lines = String::new();
    for second in 0..9 {
        let clock = format!("10:00:0{second}");
        let path = format!("/{}", ATTACK.replace('"', "\\\""));
        lines += &line("<script>alert(2)</script>", &clock, &path.replace(' ', "%20"));
        lines += &line("192.0.2.1", &clock, &format!("{path}/deep/").replace(' ', "+"));
    }
    lines += &format!("unreadable {ATTACK}\n");
    lines += &"very-long-".repeat(5_000);
    vec![folder.file(&format!("{}.log", ATTACK.replace('/', "|")), lines)]
}

fn attacked_page(folder: &Folder) -> String {
    let limits = "[[limit]]\nname = \"few\"\nrate = \"2/hour\"\nwhen = { method = \"GET\" }\n";
    page(limits, attacked(folder), ATTACK)
}

#[test]
fn nothing_of_a_log_is_markup() {
    let folder = Folder::new();
    let page = attacked_page(&folder);
    let small = page.to_ascii_lowercase();
    for markup in ["<script", "<img", "<iframe", "<link", " src=", "href="] {
        let places: Vec<_> = small.match_indices(markup).collect();
        assert!(
            places.iter().all(|(at, _)| markup == " src=" && small[..*at].ends_with("&lt;img")),
            "{markup}"
        );
    }
    // It is there all the same, for people to read: the client, the route, the file and the line.
    assert!(page.contains("&lt;script&gt;alert(2)&lt;/script&gt;"));
    assert!(page.matches("&lt;img src=x onerror=alert(1)&gt;").count() >= 3);
}

#[test]
fn a_page_does_not_grow_with_its_log() {
    let folder = Folder::new();
    let mut limits = String::new();
    for nth in 0..300 {
        limits += &format!("[[limit]]\nname = \"limit-{nth}\"\nrate = \"2/hour\"\n");
        limits += &format!("when = {{ path = \"/{nth}/*\" }}\n\n");
    }
    let mut lines = String::new();
    for nth in 0..3_000_u32 {
        let clock = format!("{:02}:{:02}:{:02}", nth / 3_600, nth / 60 % 60, nth % 60);
        let client = format!("client-{}-{}", nth % 997, "'".repeat(400));
        let path = format!("/{}/{}", nth % 310, "<".repeat(400));
        lines += &line(&client, &clock, &path);
        lines += &line(&client, &clock, &format!("/{}-{nth}", "<".repeat(400)));
        lines += "unreadable\n";
    }
    let mut sources = vec![folder.file("all.log", &lines)];
    let few = &lines[..lines.len() / 1_000];
    sources.extend((0..40).map(|nth| folder.file(&format!("{nth}.log"), few)));
    let page = page(&limits, sources, "limits.toml");
    assert!(page.len() < 500_000, "{}", page.len());
}

/// The page of a log of a year.
fn year_page(folder: &Folder) -> String {
    let mut lines = String::new();
    for (nth, month) in ["Jan", "Mar", "Apr", "Jul", "Aug", "Dec"].iter().enumerate() {
        for day in 1..=28 {
            let client = format!("192.0.2.{}", day * 7 % 5 + nth);
            for second in 0..day % 4 + 1 {
                let at = format!("{day:02}/{month}/2025:10:00:{second:02} +0000");
                lines += &format!("{client} - - [{at}] \"GET / HTTP/1.1\" 200 5\n");
            }
        }
    }
    let limits = "[[limit]]\nname = \"few\"\nrate = \"2/hour\"\n";
    page(limits, vec![folder.file("year.log", lines)], "limits.toml")
}

#[test]
fn a_log_of_nothing_has_a_page() {
    let folder = Folder::new();
    let page = page(OTHERS, vec![folder.file("none.log", "")], "limits.toml");
    assert!(page.contains("There is no request to decide."), "{page}");
    assert!(!page.contains("cannot be replayed"), "{page}");
    assert!(page.ends_with("</html>\n"));
}

/// The page of the real log where limits only watch.
fn shadow_page() -> String {
    let policy = policy(LIMITS);
    let mut pictures = Pictures::new(&policy);
    let log = open(&policy, vec![sample()]).unwrap();
    let options = ReplayOptions { effects: Effects::Shadow, ..ReplayOptions::default() };
    let replayed = replay(log, policy, "limits.toml", options, |_| (), |one| pictures.count(one));
    report::html(&replayed.unwrap(), &pictures, None, &Names::Shown)
}

#[test]
fn limits_that_only_watch_are_pictured_as_what_they_would_refuse() {
    let page = shadow_page();
    let sentence = "These limits would refuse 2 of 9,999 requests (&lt;&nbsp;0.1&nbsp;%), and 448 more if they \
                    did more than watch: they hit 30 of 1,753 clients, and ";
    assert!(page.contains(sentence), "{page}");
    assert!(page.contains("allowed, refused in shadow 448 (4.4&nbsp;%)"));
    assert!(page.contains("<path class=\"shadow\""));
}

#[test]
fn masked_clients_are_nowhere_on_the_page() {
    let page = compared_page(&Names::masked());
    assert!(page.contains("client-") && !page.contains("48.212.2.11"));
}

/// Measures a page: whether it scrolls sideways, texts in pictures that overlap or stick out, the least
/// contrast of a text with what is behind it, and that of colours.
const MEASURE: &str = r#"
const shown = element => element.getClientRects().length > 0;
const out = [], over = [];
let texts = 0;
for (const svg of document.querySelectorAll('svg.chart')) {
  const frame = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll('text')].filter(shown)
    .map(text => [text.textContent, text.getBoundingClientRect()]);
  texts += boxes.length;
  boxes.forEach(([name, a], nth) => {
    if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1
        || a.bottom > frame.bottom + 1) out.push(`${name} in ${svg.querySelector('title').textContent}`);
    for (const [other, b] of boxes.slice(nth + 1))
      if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
        over.push(`${name} on ${other} in ${svg.querySelector('title').textContent}`);
  });
}
const lone = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
const parse = color => {
  lone.clearRect(0, 0, 1, 1); lone.fillStyle = color; lone.fillRect(0, 0, 1, 1);
  return [...lone.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => {
  const [x, y, z] = [r, g, b].map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
  return .2126 * x + .7152 * y + .0722 * z;
};
const ratio = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + .05) / (y + .05);
};
const behind = element => {
  for (let at = element; at; at = at.parentElement) {
    const color = parse(getComputedStyle(at).backgroundColor);
    if (color[3] === 255) return color;
  }
  return [255, 255, 255, 255];
};
let least = 99, faint = '';
for (const element of document.querySelectorAll('body *')) {
  const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  if (!own || !shown(element) || element.closest('title, desc')) continue;
  const style = getComputedStyle(element);
  const value = ratio(parse(element.closest('svg') ? style.fill : style.color), behind(element));
  if (value < least) [least, faint] = [value, element.textContent];
}
const root = getComputedStyle(document.documentElement);
const colors = Object.fromEntries(['panel', 'passed', 'shadow', 'delayed', 'refused']
  .map(name => [name, parse(root.getPropertyValue('--' + name).trim())]));
const apart = (a, b) => ratio(colors[a], colors[b]);
return {
  sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  width: document.documentElement.clientWidth,
  texts, out, over, least, faint,
  onPanel: Math.min(...['passed', 'shadow', 'delayed', 'refused'].map(name => apart('panel', name))),
  apart: Math.min(apart('passed', 'delayed'), apart('delayed', 'refused'), apart('passed', 'refused')),
  background: getComputedStyle(document.body).backgroundColor,
  loaded: performance.getEntriesByType('resource').map(entry => entry.name),
  active: document.querySelectorAll('script, img, iframe, link, object, embed, form').length,
  title: document.title,
  untold: [...document.querySelectorAll('svg.chart')].filter(svg =>
    !svg.querySelector('title').textContent || !svg.querySelector('desc').textContent).length,
};
"#;

#[test]
fn a_real_browser_shows_the_page_whole_at_any_width_in_both_schemes() {
    let folder = Folder::new();
    let browser = Browser::start();
    let pages = [
        ("real", compared_page(&Names::Shown), 40),
        ("shadow", shadow_page(), 40),
        ("attacked", attacked_page(&folder), 10),
        ("year", year_page(&folder), 20),
        ("none", page(OTHERS, vec![folder.file("none.log", "")], "limits.toml"), 0),
    ];
    for (name, page, texts) in pages {
        let file = folder.path(&format!("{name}.html"));
        std::fs::write(&file, page).unwrap();
        let address = format!("file://{}", file.display());
        let mut backgrounds = Vec::new();
        for (width, scheme, media) in [
            (390, "light", "screen"),
            (390, "dark", "screen"),
            (768, "light", "screen"),
            (1280, "light", "screen"),
            (1280, "dark", "screen"),
            (720, "light", "print"),
        ] {
            let at = format!("{name}, {width} px, {scheme}, {media}");
            browser.show(&address, Screen { width, scheme, media });
            let told = browser.ask(MEASURE);
            let number = |field: &str| told[field].as_f64().unwrap();
            let none = Value::Array(Vec::new());
            assert!(number("sideways") <= 0.0, "{at}: {told}");
            assert!((number("width") - f64::from(width)).abs() < 20.0, "{at}: {told}");
            assert_eq!((&told["out"], &told["over"]), (&none, &none), "{at}");
            assert!(number("texts") >= f64::from(texts), "{at}: {told}");
            assert!(number("least") >= 4.5, "{at}: {told}");
            assert!(number("onPanel") >= 3.0 && number("apart") >= 1.5, "{at}: {told}");
            assert_eq!((&told["loaded"], &told["active"]), (&none, &0.into()), "{at}");
            assert_eq!(told["untold"], 0, "{at}");
            assert!(told["title"].as_str().unwrap().starts_with("Replay of "), "{at}: {told}");
            backgrounds.push(told["background"].clone());
        }
        assert_ne!(backgrounds[0], backgrounds[1], "dark is not light");
        // Of what the browser asked for, the part that the page made it ask for: itself.
        let requests: Vec<Value> = browser
            .logged("performance")
            .iter()
            .map(|message| serde_json::from_str::<Value>(message).unwrap()["message"].clone())
            .filter(|message| message["method"] == "Network.requestWillBeSent")
            .map(|message| message["params"].clone())
            .filter(|request| request["documentURL"] == *address)
            .map(|request| request["request"]["url"].clone())
            .collect();
        assert_eq!(requests, vec![Value::from(address.as_str()); 6]);
        assert_eq!(browser.logged("browser"), [""; 0], "{name}");
    }
}
